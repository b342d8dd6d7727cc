"""Benchmark of fresh tables: its cases, and the page of its results."""

import numpy as np
import pytest

from benchmarks.pages import fresh as fresh_page


def record(kind="split", trusted=False, exact=0.0, truth=(0.0, 0.0, 0.0), **more):
    found = {"case": [kind, ["table"], 100, 0], "rows": [9, 9], "columns": [3, 2]}
    found |= {"trusted": trusted, "excess": 0.1, "CPU s": 1.0, "score": 2.0}
    found |= {"exact": exact, "few factors": False}
    names = "started", "exact", "trust"
    told = dict(zip(names, truth, strict=True)) | {"excess": 0.0, "score": 3.0}
    return found | ({} if trusted else {"truth": told}) | more


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("aligned", record(trusted=True, exact=0.05)),
        ("FALSE TRUST", record(trusted=True, exact=0.04)),
        ("FALSE TRUST", record("cross", trusted=True)),
        ("refused", record("columns")),
        ("nothing to find", record(truth=(0.04, 0.01, 1.0))),
        ("search failed", record(truth=(0.9, 0.8, 0.5))),
        ("test refused", record(truth=(0.9, 0.8, 0.49))),
        ("test refused", record(truth=(0.9, 0.45, 0.49))),
        ("refinement left", record(truth=(0.9, 0.44, 0.49))),
        ("refinement left", record(truth=(0.9, 0.01, 0.9))),
    ],
)
def test_a_case_has_one_outcome(wanted, found):
    assert fresh_page.outcome(found) == wanted


def test_tables_count_every_case_once():
    records = [record(trusted=True, exact=0.5), record(truth=(0.9, 0.8, 1.0))]
    last = fresh_page.by_table(records, "split").splitlines()[-1]
    assert last.split("|")[4:10] == [" 1 ", " 0 ", " 1 ", " 0 ", " 0 ", " 0 "]
    nulls = [record("cross"), record("cross", trusted=True, excess=0.3)]
    assert "| 2 | 1 | 1 | 0.300 |" in fresh_page.of_nulls(nulls)
    assert fresh_page.false_trust([*records, *nulls]).count("FALSE TRUST") == 1
    assert fresh_page.false_trust(records) == "None."


def test_differences_are_means_over_tables_not_over_cases():
    records = [
        {"case": ["half", [name, what], 0], "k": 3, "joint": joint, "plain bridge": 50}
        for name, what, joint in (("a", "x", 60), ("a", "y", 80), ("b", "x", 40))
    ]
    told = fresh_page.over_tables(records, lambda r: r["joint"] - r["plain bridge"])
    assert told == [20.0, -10.0]
    assert fresh_page.spread(told).startswith("+5.0 ± 15.0 (-10.0 to +20.0)")


@pytest.fixture
def fresh():
    pytest.importorskip("pandas", reason="needs the extra 'io'")
    from benchmarks import fresh

    return fresh


def test_cases_are_the_same_every_time_and_distinct(fresh):
    cases = fresh.cases()
    assert cases == fresh.cases()
    assert len({str(case) for case in cases}) == len(cases)
    nulls = [case for case in cases if case[0] in fresh_page.NULLS]
    assert len(nulls) >= 250


@pytest.mark.parametrize("kind", ["split", "columns", "disjoint"])
def test_tables_are_dealt_out(fresh, monkeypatch, kind):
    from benchmarks.data.fresh_tables import Loaded

    X = np.arange(12)[:, None] + 100.0 * np.arange(4)
    monkeypatch.setattr(fresh, "load_table", lambda name: Loaded(X, None, {}))
    one, other, a, b = fresh.make([kind, ["made up"], 5, 1])
    assert one.shape == other.shape == (5, 2)
    np.testing.assert_array_equal(one % 100, np.column_stack([a, a]))
    common = {"split": 5, "columns": 0, "disjoint": 0}[kind]
    assert len(np.intersect1d(a, b)) == common
    if kind == "columns":
        assert not np.array_equal(other[:, 0] % 100, other[:, 1] % 100)
        assert set(other[:, 0] % 100) == set(a)
    else:
        np.testing.assert_array_equal(other % 100, np.column_stack([b, b]))


def test_gradients_tell_directions_apart():
    pytest.importorskip("pandas", reason="needs the extra 'io'")
    from benchmarks.data.fresh_tables import gradients

    across = np.tile(np.arange(28.0), (28, 1))
    found = gradients(np.stack([across, across.T]))
    assert found.shape == (2, 8 * 16)
    by_direction = found.reshape(2, 8, 16)
    assert (by_direction[0, 0] > 0).all()
    assert not by_direction[0, 1:].any()
    assert (by_direction[1, 4] > 0).all()
    assert not by_direction[1, :4].any()
