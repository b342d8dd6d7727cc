"""Write docs/reproduction.md from the results: ``python -m benchmarks.reproduction``.

The results are those of ``unaligned bench``, run with the option
``--output benchmarks/results/reproduction``.
"""

from pathlib import Path

from unaligned.benchmark.cells import Results
from unaligned.benchmark.page import markdown_page, sections

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "reproduction" / "cells.jsonl"
PAGE = HERE.parent / "docs" / "reproduction.md"
IMAGES = PAGE.parent / "images" / "reproduction"
SOURCE = (
    "This page is made by `python -m benchmarks.reproduction` from "
    "`benchmarks/results/reproduction/cells.jsonl`, one line for every fit, which "
    "`unaligned bench` wrote. Run `unaligned bench all` for your own, and "
    "`unaligned bench all --quick` for one that takes minutes and no download."
)


def page():
    """Text of the page, and its pictures."""
    results = Results(RESULTS)
    parts = sections(results)
    text = markdown_page(results, parts, "images/reproduction", SOURCE)
    return text, [picture for part in parts for picture in part.pictures]


def main():
    """Write the page, and the pictures beside it."""
    text, pictures = page()
    PAGE.write_text(text, encoding="utf-8")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for old in IMAGES.glob("*.svg"):
        old.unlink()
    for picture in pictures:
        (IMAGES / f"{picture.name}.svg").write_text(picture.file, encoding="utf-8")


if __name__ == "__main__":
    main()
