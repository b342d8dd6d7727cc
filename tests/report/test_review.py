import numpy as np
import pytest
from made_findings import make_findings

from unaligned import Alignment
from unaligned.report import render
from unaligned.report.review import Doubtful, doubtful_matches, runners_up


def two_views(n=80, seed=0):
    rng = np.random.RandomState(seed)
    factors = rng.normal(size=(n, 3))
    return [factors @ rng.normal(size=(3, d)) + 0.05 for d in (5, 4)]


def test_the_least_sure_come_first_and_known_pairs_not_at_all():
    rows = [np.arange(4), np.array([3, 2, -1, 0])]
    sure = [np.ones(4), np.array([0.4, 1.0, 0.0, 0.2])]
    found = doubtful_matches(Alignment(0, rows, sure, np.ones(2)), None)
    assert found == [Doubtful(1, 3, 0, 0.2, None), Doubtful(1, 0, 3, 0.4, None)]
    only = doubtful_matches(Alignment(0, rows, sure, np.ones(2)), None, at_most=1)
    assert only == found[:1]


def test_a_refused_view_has_nothing_to_review():
    rows, sure = [np.arange(3), np.arange(3)], [np.ones(3), np.full(3, 0.5)]
    assert doubtful_matches(Alignment(0, rows, sure, np.array([1, 0.2])), None) == []


def test_the_runner_up_of_a_wrong_match_is_the_right_row():
    one, other = two_views()
    partner = np.arange(len(one))
    partner[[4, 9]] = [9, 4]  # a swap among right matches
    found = runners_up(one, other, partner, np.array([4, 9]))
    np.testing.assert_array_equal(found, [4, 9])


def test_the_runner_up_is_another_row_of_the_view():
    one, other = two_views()
    found = runners_up(one, other, np.arange(len(one)), np.arange(10))
    assert (found != np.arange(10)).all()


def test_the_page_lists_them_with_their_runners_up():
    pytest.importorskip("jinja2")
    findings = make_findings(doubtful=[Doubtful(1, 0, 2, 0.25, 3)])
    html = render(findings)
    assert "Review first" in html
    assert "25\u00a0%" in html
    assert "Review first" not in render(make_findings())
