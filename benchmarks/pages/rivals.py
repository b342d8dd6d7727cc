"""Page docs/rivals.md.

The results are those of ``unaligned bench rivals`` and ``unaligned bench halves``, run
with the option ``--output benchmarks/results/rivals``.
"""

from benchmarks.pages.markdown import DOCS
from benchmarks.records import FOLDER
from unaligned.benchmark.cells import Results
from unaligned.benchmark.overview import not_run, overview_table
from unaligned.benchmark.page import (
    failures,
    markdown_environments,
    markdown_failures,
    markdown_table,
    summary,
)
from unaligned.benchmark.rivals import halves_tables, ranks_table

RESULTS = FOLDER / "rivals" / "cells.jsonl"
PAGE = DOCS / "rivals.md"
INTRO = """\
This page is made by `python -m benchmarks.pages rivals` from
`benchmarks/results/rivals/cells.jsonl`, one line for every fit, which `unaligned
bench rivals` and `unaligned bench halves` wrote. Every method has its default
setting, and labels are used for the scores only. Where a name says so, data are a
sample of their rows, because the time of SCOT grows with the cube of the rows. Most
data had one shuffle. Caltech101-recon was not run, and PBMC-RNA-ATAC-unpaired and
scNMT-unpaired have no common rows to score.

`SCOT` and `Rosetta` come from the alignment of single cells and of embedding spaces.
They place one view in the space of the other, and have no test of their matches:
their trust is empty. SCOT reaches its published FOSCTTM of 0.19 on scGEM with its
published setting (here 0.196, k = 35 and ε = 5e-3). Tuned by its own criterion, the
smallest Gromov-Wasserstein distance, it has 0.685, where 0.5 is chance (5-NN label
transfer 0.11).

`Rosetta` is a reconstruction from a short description. In disjoint halves of
PBMC-2407 it has a FOSCTTM of 0.110 on unseen pairs, learned from 40 % of the objects
in each view (published: 0.089). On CITEseq-1000 it stays near chance (0.40 here,
0.225 published). Six variants of its scaling and of the distances between centres did
not change that, and we do not know the reason.

`SMILE` and `CPMN` are deep methods that need no pair, and reconstructions from their
papers. Their published figures are for data that we do not have, so they could not be
checked. They give clusters common names by the shares of clusters, or by prototypes,
only: compare their joint ACC with its floor. `PVC`, `MvCLN` and `SURE` must learn from
pairs.

With no pair known, `SAVuC` refuses scGEM, CITEseq-1000 and PBMC-2407 in all of ten
shuffles, with a trust below 0.01. Their cells have common types, but single cells can
hardly be distinguished: with half of the pairs known, Rosetta finds 2 to 7 % of the
other partners. For types alone (verdict `classes`) SAVuC needs known pairs.

The topics of PBMC-2407 were stored column by column, and are read so here. Read row
by row, the view is unrelated to the other one.

In disjoint halves no row has a partner, and `SAVuC` refuses all pairs of views
([why](promises.md#views-without-an-object-in-common)). Rosetta always returns an
answer, and finds more than 80 % of the unseen pairs in one of 29 pairs of views of
Reuters-1200, CIFAR-10, Handwritten and PBMC-2407 (98 %; Handwritten, views 3 and 5).
Good rotations exist: one that is learned from true pairs finds 94 to 100 % of the
unseen pairs on all ten pairs of Reuters-1200 and all three of CIFAR-10, where Rosetta
finds 0 to 10 % (`python -m benchmarks.rotations`). On PBMC-2407 it has a FOSCTTM of
0.095.
"""


def page():
    """Text of the page."""
    results = Results(RESULTS)
    text = ["# Rivals", INTRO.strip(), summary(results)]
    tables = [overview_table(results), ranks_table(results), *halves_tables(results)]
    for table in tables:
        text += [f"## {table.title}", markdown_table(table), *table.notes]
    if missing := list(not_run(results)):
        text += ["## What was not run", "\n".join(missing)]
    if failures(results):
        text += ["## What did not come to an end", markdown_failures(results)]
    text += ["## Machine and versions", markdown_environments(results)]
    return "\n\n".join(text) + "\n"
