"""The trials of the first hour: their files, and what is made of their results."""

import csv
import json

import numpy as np
import pytest

from benchmarks import first_hour
from benchmarks.pages import first_hour as first_hour_page


def record(kind="customers", what="", seed=0, **more):
    case = {"case": [kind, what, seed], "rows": [8, 5], "columns": [3, 2], "cpu": 7.0}
    case |= {"verdict": "objects", "trust": 0.9, "expected_right": 0.8}
    return case | {"matches": 5, "right": 4, "exact": 0.8} | more


@pytest.mark.parametrize("kind", ["customers", "gaps"])
def test_customers_have_common_factors_and_gaps_if_asked(kind):
    one, other, rows = first_hour.make((kind, "", 3))
    assert (one.shape, other.shape) == ((800, 12), (640, 9))
    assert len(np.unique(rows)) == 640
    missing = np.mean(np.isnan(one))
    assert missing == pytest.approx(0.03 if kind == "gaps" else 0, abs=0.01)
    if kind == "customers":  # linear regression of one table on the other
        beside, *_ = np.linalg.lstsq(one[rows], other, rcond=None)
        left = other - one[rows] @ beside
        assert np.var(left) < 0.1 * np.var(other)


def share_between(groups, X):
    """Share of the variance of columns that lies between groups, at most."""
    means = np.array([X[groups == which].mean(axis=0) for which in np.unique(groups)])
    sizes = np.array([np.mean(groups == which) for which in np.unique(groups)])
    return np.max(sizes @ (means - X.mean(axis=0)) ** 2 / X.var(axis=0))


def test_categories_depend_on_their_table_or_on_nothing():
    one, other, rows = first_hour.make(("three categories", "", 1))
    drawn = first_hour.categories_of("three categories", one, 1, 0)
    assert len(drawn) == 3
    assert all(share_between(groups, one) > 0.1 for groups in drawn)
    apart = [
        first_hour.categories_of("unrelated categories", X, 1, side)[0]
        for side, X in enumerate((one, other))
    ]
    assert share_between(apart[0], one) < 0.02
    # Not the same noise in both, neither by object nor by row.
    for beside in (apart[0][rows], apart[0][:640]):
        assert np.mean(beside == apart[1]) < 0.4
    with_gaps = first_hour.categories_of("category gaps", one, 1, 0)[0]
    assert np.mean(with_gaps == "") == pytest.approx(0.03, abs=0.02)
    assert first_hour.categories_of("customers", one, 1, 0) == []


def test_unrelated_numbers_are_one_more_column():
    one, other, _ = first_hour.make(("unrelated numbers", "", 1))
    assert (one.shape[1], other.shape[1]) == (13, 10)
    shares = np.corrcoef(one.T)[-1, :-1] ** 2
    assert shares.max() < 0.02


def test_splits_deal_out_all_columns_and_rows():
    one, other, rows = first_hour.make(("split", "wine", 1))
    whole = first_hour.TABLES["wine"]().data
    joined = np.hstack([one[rows], other])
    assert joined.shape == whole.shape
    np.testing.assert_allclose(
        np.sort(joined.sum(axis=1)), np.sort(whole.sum(axis=1)), rtol=1e-12
    )


def test_gaps_are_empty_cells_and_counts_are_whole(tmp_path):
    path = tmp_path / "a.csv"
    first_hour.write_table(path, np.array([[1.5, np.nan]]), "a")
    first_hour.write_table(tmp_path / "b.csv", np.array([[3, 0]]), "b")
    texts = [file.read_text() for file in (path, tmp_path / "b.csv")]
    lines = [list(csv.reader(text.splitlines())) for text in texts]
    assert lines[0] == [["name", "a0", "a1"], ["a-0", "1.5", ""]]
    assert lines[1][1] == ["b-0", "3", "0"]


@pytest.mark.parametrize("template", ["one", "other"])
def test_a_match_is_right_whichever_file_is_the_template(template):
    view = {"one": "other", "other": "one"}[template]
    rows = {"one": 7, "other": 1}
    match = {"template_view": template, "template_row": str(rows[template])}
    match |= {"view": view, "row": str(rows[view])}
    assert first_hour.is_right(match, np.array([3, 7]))
    assert not first_hour.is_right(match, np.array([3, 6]))


def test_tables_count_what_was_accepted_refused_and_wrong():
    refused = {"verdict": "none", "expected_right": None, "matches": 0, "right": 0}
    trials = [record(), record(seed=1, **refused, exact=0.0)]
    line = first_hour_page.trials_table(trials).splitlines()[-1]
    assert line == (
        "| Customers | 1 of 2 | 0 to 80 % | 1 of 2 (≥ 80 %) | 80 / 80 % | 7 |"
    )
    splits = [
        record("split", "wine"),
        record("split", "wine", 1, **refused),
        record("split", "wine", 2, right=0, exact=0.0),
    ]
    line = first_hour_page.splits_table(splits).splitlines()[-1]
    assert line == "| wine | 8 | 3 and 2 | 1 of 3 | 1 | 1 | 80 % | 80 % |"


def test_of_several_runs_of_a_trial_the_last_counts(tmp_path):
    path = tmp_path / "results.jsonl"
    lines = [record(cpu=9.0), record(cpu=5.0)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "| 80 / 80 % | 5 |" in first_hour_page.page(path)
