"""The documentation names every public thing, and its code runs."""

import re
import warnings
from importlib import import_module
from inspect import ismodule
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import pytest
from sklearn.exceptions import ConvergenceWarning

import unaligned
from benchmarks.pages.__main__ import PAGES
from unaligned import (
    baselines,
    benchmark,
    datasets,
    disclosure,
    metrics,
    plotting,
    preparation,
    report,
    scverse,
    selection,
    spaces,
)

ROOT = Path(__file__).parents[1]


MODULES = [
    unaligned,
    baselines,
    benchmark,
    datasets,
    disclosure,
    metrics,
    plotting,
    preparation,
    report,
    scverse,
    scverse.pl,
    selection,
    spaces,
]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_api_entry(module):
    listed = (ROOT / "docs" / "api.rst").read_text().split()
    names = {name for name in module.__all__ if not ismodule(getattr(module, name))}
    assert names - {"__version__"} <= set(listed)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        pytest.param("docs/quickstart.md", marks=pytest.mark.slow),
        pytest.param("docs/choosing.md", marks=pytest.mark.slow),
        "docs/files.md",
        "docs/long_runs.md",
        "docs/audit.md",
        "docs/spaces.md",
        pytest.param(
            "docs/cells.md",
            # Other people's imports warn as they please.
            marks=[pytest.mark.heavy, pytest.mark.filterwarnings("default")],
        ),
    ],
)
def test_code_on_the_page_runs(page, monkeypatch, tmp_path):
    if "cells" in page:
        pytest.importorskip("mudata", reason="needs the extra 'scverse'")
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S)
    assert blocks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        exec("\n".join(blocks), {})
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_what_the_code_and_the_results_say(name):
    made = import_module(f"benchmarks.pages.{name}")
    told = f"run python -m benchmarks.pages {name}"
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), told


def test_readme_shows_its_two_commands_on_lines_of_their_own():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert {"make demo", "make test"} <= set(lines)


def test_readme_figures_are_those_of_the_pages():
    readme = " ".join((ROOT / "README.md").read_text().split())
    promises = (ROOT / "docs" / "promises.md").read_text()
    for name in ("ProteinFold", "Wiki"):
        row = re.search(
            rf"^\| {name} \| (.*?) \| (.*?) \| .*? \| (.*?) \|", promises, re.M
        )
        matched, chance, template = row.groups()
        assert f"{matched} " in readme
        assert f"(chance {chance})" in readme
        assert template in readme


def test_the_method_page_names_functions_that_exist():
    from unaligned.pavuc import updates

    page = (ROOT / "docs" / "method.md").read_text()
    table = page[page.index("| equation") : page.index("## Where")]
    names = re.findall(r"`(\w+)`", table)
    assert len(names) >= 12
    assert all(hasattr(updates, name) for name in names)
