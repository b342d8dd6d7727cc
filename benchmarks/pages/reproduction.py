"""Page docs/reproduction.md, and its pictures.

The results are those of ``unaligned bench``, run with the option
``--output benchmarks/results/reproduction``.
"""

from functools import cache

from benchmarks.pages.markdown import DOCS
from benchmarks.records import FOLDER
from unaligned.benchmark.cells import Results
from unaligned.benchmark.page import markdown_page, sections

RESULTS = FOLDER / "reproduction" / "cells.jsonl"
PAGE = DOCS / "reproduction.md"
IMAGES = DOCS / "images" / "reproduction"
SOURCE = (
    "This page is made by `python -m benchmarks.pages reproduction` from "
    "`benchmarks/results/reproduction/cells.jsonl`, one line for every fit, which "
    "`unaligned bench` wrote. Run `unaligned bench all` for your own, and "
    "`unaligned bench all --quick` for one that takes minutes and no download."
)


@cache
def results_and_sections():
    """Read the results, and make tables and pictures of them."""
    results = Results(RESULTS)
    return results, sections(results)


def pictures():
    """List the pictures of the page."""
    return [picture for part in results_and_sections()[1] for picture in part.pictures]


def page():
    """Text of the page."""
    return markdown_page(*results_and_sections(), "images/reproduction", SOURCE)


def draw():
    """Write the pictures of the page."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for old in IMAGES.glob("*.svg"):
        old.unlink()
    for picture in pictures():
        (IMAGES / f"{picture.name}.svg").write_text(picture.file, encoding="utf-8")
