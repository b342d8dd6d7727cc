"""Studies with a measure that costs nothing and knows its answer."""

import pytest

from unaligned.benchmark.cells import Cell, Results
from unaligned.benchmark.methods import METHODS, Method, method_of
from unaligned.benchmark.plans import PLANS, Study
from unaligned.benchmark.runner import Limits
from unaligned.benchmark.study import Observer, run_study
from unaligned.benchmark.summary import Case

DIGITS = Case("digits", 100)


def answer(cell):
    """Answer at once: α = 0.1 has the best ACC, α = 10 the best label-free score."""
    if cell.method == "FMVACC":
        raise ValueError("never works")
    alpha = cell.setting.get("alpha", 0)
    return {"acc": 90.0 if alpha == 0.1 else 10.0, "label_free": alpha, "seconds": 1.0}


def slow(cell):
    raise MemoryError


def study(*methods, **more):
    return Study((DIGITS,), methods, shuffles=3, **more)


class Counter(Observer):
    def __init__(self):
        self.cells, self.skipped = [], []

    def ended(self, cell, record):
        (self.skipped if record["status"] == "skipped" else self.cells).append(cell)


def run(asked, results, measure=answer, name="table4", **options):
    counter = Counter()
    run_study([name], asked, results, measure=measure, observer=counter, **options)
    return counter


def test_the_grid_is_searched_and_what_is_chosen_is_run_on_all_shuffles():
    results = Results()
    done = run(study("LMVSC"), results).cells
    grid = METHODS["LMVSC"].grid["alpha"]
    assert len(done) == len(set(done)) == len(grid) + 2 + 2
    for alpha in grid:
        wanted = 3 if alpha in (0.1, 10.0) else 1  # by the oracle, and without labels
        assert sum(cell.setting["alpha"] == alpha for cell in done) == wanted
    record = results.get(done[0])
    assert record["environment"] in results.environments
    assert record["status"] == "done"


def test_what_is_there_is_not_run_again(tmp_path):
    results = Results(tmp_path / "cells.jsonl")
    first = run(study("LMVSC"), results).cells
    lines = results.path.read_text().splitlines()
    results.path.write_text("\n".join([*lines[:-2], lines[-1][:30]]))  # killed
    again = Results(results.path)
    assert len(again) == len(first) - 2
    assert set(run(study("LMVSC"), again).cells) <= set(first)
    assert len(again) == len(first)
    assert run(study("LMVSC"), Results(results.path)).cells == []
    assert set(run(study("LMVSC"), again, again=True).cells) == set(first)


def test_without_a_grid_search_defaults_are_run():
    done = run(study("LMVSC", "PAVuC", grid_shuffles=0), Results()).cells
    settings = {cell.method: cell.setting for cell in done}
    assert settings["LMVSC"] == {"alpha": 1.0}
    assert settings["PAVuC"] == DIGITS.entry.released
    assert len(done) == 6


def test_failures_are_kept_and_tried_again_only_when_asked():
    results = Results()
    count = len(METHODS["FMVACC"].grid["lam"])
    assert len(run(study("FMVACC"), results).cells) == count
    assert {record["status"] for _, record in results} == {"failed"}
    assert run(study("FMVACC"), results).cells == []
    assert len(run(study("FMVACC"), results, retry=True).cells) == count


def test_a_method_that_runs_out_of_memory_is_given_up():
    results = Results()
    counter = run(study("LMVSC"), results, slow)
    assert len(counter.cells) == 1
    assert len(counter.skipped) == len(METHODS["LMVSC"].grid["alpha"]) - 1


def test_a_longer_time_limit_runs_what_was_too_slow():
    results = Results()
    cell = DIGITS.cell("FPMVSCAG", {})
    late = {"status": "time-out", "limit": 10.0, "reason": "not done after 10 s"}
    results.add(cell.record() | late)
    assert run(study("FPMVSCAG"), results, limits=Limits(seconds=10)).cells == []
    done = run(study("FPMVSCAG"), results, limits=Limits(seconds=20)).cells
    assert len(done) == 3


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_is_made_of_cells_that_can_be_run(name):
    cells = list(PLANS[name](Study((DIGITS,), quick=True), Results()))
    assert cells
    for cell in cells:
        assert method_of(cell.method).name == cell.method
        assert Cell.of(cell.record()) == cell


def test_table5_takes_two_views_and_gives_pairs_to_who_needs_them():
    cells = list(PLANS["table5"](Study((DIGITS,), quick=True), Results()))
    assert {cell.views for cell in cells} == {(0, 1)}
    for cell in cells:
        assert cell.ratio == (0.01 if cell.method in ("PVC", "MvCLN") else 0)


def test_figure4_gives_two_views_to_who_takes_no_more(monkeypatch):
    monkeypatch.setattr(Method, "can_run", True)
    asked = study("SAVuC", "plain bridge", "MvCLN", ratios=(0.0, 0.5))
    cells = set(run(asked, Results(), name="figure4").cells)
    told = {(cell.method, cell.views, cell.ratio) for cell in cells}
    assert told == {
        *((name, views, ratio)
          for name in ("SAVuC", "plain bridge")
          for views in (None, (0, 1))
          for ratio in (0.0, 0.5)),
        ("MvCLN", (0, 1), 0.5),
    }  # fmt: skip
    assert len(cells) == 3 * len(told)


def test_scaling_stops_where_the_next_size_would_be_too_slow():
    asked = Study((), ("LMVSC",), sizes=(10, 20, 40), time_limit=10)
    results = Results()

    def sizes():
        return [cell.rows for cell in PLANS["scaling"](asked, results)]

    assert sizes() == [10]
    for rows, seconds, then in [(10, 1.0, [10, 20]), (20, 6.0, [10, 20])]:
        cell = Cell("synthetic", "LMVSC", {"alpha": 1.0}, rows=rows)
        results.add(cell.record() | {"status": "done", "seconds": seconds})
        assert sizes() == then
    results.add(cell.record() | {"status": "done", "seconds": 4.0})
    assert sizes() == [10, 20, 40]


def test_methods_go_by_both_names():
    assert method_of("pavuc-ats").name == "PAVuC"
    assert method_of("AEVCMVC").name == "AEVC"
    with pytest.raises(ValueError, match="There is no method 'x'"):
        method_of("x")


def test_quick_grids_are_the_ends_of_the_ranges():
    settings = list(METHODS["LMVSC"].settings(2, quick=True))
    assert settings == [{"alpha": 1e-3}, {"alpha": 10.0}]
    assert len(list(METHODS["PAVuC"].settings(2))) == 6 * 5 * 3
    assert list(METHODS["single view"].settings(2)) == [{"view": 0}, {"view": 1}]


def test_scaling_gives_pairs_to_who_needs_them():
    cells = list(PLANS["scaling"](Study((), ("LMVSC", "PVC"), quick=True), Results()))
    asked = {cell.method: (cell.views, cell.ratio) for cell in cells}
    assert asked["LMVSC"] == (None, 0)
    assert asked.get("PVC", ((0, 1), 0.01)) == ((0, 1), 0.01)  # where torch is


@pytest.mark.parametrize("name", ["halves", "rivals"])
def test_a_quick_run_leaves_out_what_takes_minutes(name):
    methods = ("SAVuC", "SCOT", "SCOT, self-tuned")
    quick, whole = (
        list(PLANS[name](study(*methods, quick=short), Results()))
        for short in (True, False)
    )
    assert {cell.method for cell in quick} == {"SAVuC", "SCOT"}
    assert {cell.method for cell in whole} == {*methods}
    assert len({cell.views for cell in quick}) == 1
