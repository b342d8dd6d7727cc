"""
Published cells, where refusing is the answer
=============================================

Simulated cells are tidier than real ones. Here are two published sets: the 177 cells of
scGEM, whose expression and methylation were measured together, so that the truth is
known; and blood cells (PBMC) whose expression and chromatin were measured in different
cells. Types are used for scoring only.

The files are not part of this library. Where ``$UNALIGNED_DATA`` does not lead to them,
this page shows the code, and our own figures at its end.
"""

import warnings

import numpy as np
from anndata import AnnData
from sklearn.exceptions import ConvergenceWarning

from unaligned.datasets import load, unalign
from unaligned.metrics import category_alignment_chance, category_alignment_rate
from unaligned.scverse import cluster

warnings.simplefilter("ignore", ConvergenceWarning)


def modalities(name, ratio=0.0, seed=0):
    """Cells by modality, every one in an order of its own; None without the file."""
    try:
        data = load(name)
    except FileNotFoundError:
        print(f"{name} is not here.")
        return None
    Xs, ys, known = data.Xs, data.ys, 0
    if data.y is not None:  # measured together: take the pairing away
        shuffled = unalign(Xs, data.y, ratio, random_state=seed)
        Xs, ys, known = shuffled.Xs, shuffled.ys, shuffled.n_aligned
    cells = {}
    for view, X, types in zip(data.view_names, Xs, ys, strict=True):
        cells[view] = AnnData(np.asarray(X, dtype=np.float32))
        cells[view].obs_names = [
            f"both-{c}" if c < known else f"{view}-{c}" for c in range(len(types))
        ]
        cells[view].obs["type"] = types.astype(str)
    return cells


# %%
# Carrying labels
# ---------------
# Types of one modality are carried along the matches to the cells of the other that
# nobody had paired. A cell without a partner gets no type, and counts as wrong. The
# floor is the commonest type, for every cell.


def carried(cells):
    """Share of types that are right, for every direction, and the floor."""
    names = [*cells]
    shares = {}
    for source, target in (names, names[::-1]):
        known, obs = cells[source].obs["type"], cells[target].obs
        new = ~obs.index.str.startswith("both")
        partners = obs[f"unaligned_partner_{source}"].astype(object)
        types = known.reindex(partners.where(partners.notna(), None)).to_numpy()
        right = np.mean((types == obs["type"].to_numpy())[new])
        floor = np.mean(obs["type"][new] == known.mode()[0])
        shares[f"{source} to {target}"] = right, floor
    return shares


cases = {
    "scGEM, no pair known": ("scGEM", 0.0),
    "scGEM, half of the pairs known": ("scGEM", 0.5),
    "PBMC, no pair known": ("PBMC-RNA-ATAC-unpaired", 0.0),
}
for title, (name, ratio) in cases.items():
    cells = modalities(name, ratio)
    if cells is None:
        continue
    n_types = len({kind for own in cells.values() for kind in own.obs["type"]})
    model = cluster(cells, n_types, effort="quick", inplace=True)
    print(f"{title}: {model.alignment_}")
    for direction, (right, floor) in carried(cells).items():
        print(f"  {direction}: {right:.0%} carried rightly, commonest type {floor:.0%}")

# %%
# The verdict ``none`` means: refused. Then nothing is carried but what was known, and
# the floor is better. A method that always matches is no way out. PAVuC gives each of
# scGEM's cells a partner, and those are of the same type about as often as cells drawn
# at random:

cells = modalities("scGEM")
if cells is not None:
    model = cluster(cells, 5, method="PAVuC")
    template = model.template_
    types = [own.obs["type"].to_numpy() for own in cells.values()]
    rows = model.alignment_.permutations[1 - template]
    right = category_alignment_rate(types[1 - template], types[template], rows)
    chance = category_alignment_chance(types[1 - template], types[template])
    print(f"PAVuC: {right:.0%} of the matches are of one type, by chance {chance:.0%}")

# %%
# Our own figures are made by ``python -m benchmarks.cells``.
#
# What helps with cells of your own: as many cells as there are, the same normalisation
# and number of components for all, and a bridge of cells that were measured both ways
# (:ref:`sphx_glr_gallery_plot_unpaired_cells.py`).
