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


def test_the_methods_page_is_what_the_code_and_the_results_say():
    from benchmarks.methods import PAGE, page

    assert PAGE.read_text() == page(), "run python -m benchmarks.methods"


def test_the_study_page_is_what_the_results_say():
    from benchmarks.savuc_page import PAGE, page

    assert PAGE.read_text() == page(), "run python -m benchmarks.savuc_page"


def test_the_page_of_the_trials_is_what_the_results_say():
    from benchmarks.first_hour_page import PAGE, page

    assert PAGE.read_text() == page(), "run python -m benchmarks.first_hour_page"


def test_the_page_of_fresh_tables_is_what_the_results_say():
    from benchmarks.fresh_page import PAGE, page

    assert PAGE.read_text() == page(), "run python -m benchmarks.fresh_page"


@pytest.mark.parametrize(
    ("name", "command"),
    [("cells_page", ""), ("audit", " --page"), ("spaces", " --seeds 0")],
)
def test_figures_on_the_page_are_those_of_the_results(name, command):
    made = import_module(f"benchmarks.{name}")
    told = f"run python -m benchmarks.{name}{command}"
    assert made.PAGE.read_text() == made.page(), told


def test_the_page_of_scaling_is_what_the_results_say():
    pytest.importorskip("dask", reason="needs the extra 'dask'")
    from benchmarks.scaling_page import PAGE, page

    assert PAGE.read_text() == page(), "run python -m benchmarks.scaling_page"


@pytest.mark.parametrize("name", ["savuc_clusters.md", "choosing.md"])
def test_pages_on_clusters_are_what_the_results_say(name):
    from benchmarks.clusters_page import PAGES, page

    shown = (ROOT / "docs" / name).read_text()
    made = page(name, PAGES[name]())
    assert shown == made, "run python -m benchmarks.clusters_page"


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
