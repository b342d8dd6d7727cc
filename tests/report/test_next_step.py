"""What to try next, given what was tried."""

from dataclasses import replace

import numpy as np
import pytest
from made_findings import make_findings

from unaligned.preparation import ColumnNote, Prepared
from unaligned.report.next_step import next_step
from unaligned.report.page import render


def refused(effort, known=0.0, prepared=None):
    """Findings with one refused view."""
    base = make_findings()
    partners = np.where(np.arange(25) < 25 * known, np.arange(25), -1)
    view = replace(
        base.views[2],
        verdict="none",
        trust=0.1,
        known=known,
        partners=partners,
        prepared=prepared,
    )
    return replace(base, views=[base.views[0], view], effort=effort, apart=[])


def test_nothing_where_all_is_aligned():
    base = make_findings()
    assert next_step(replace(base, views=base.views[:2])) is None


@pytest.mark.parametrize(
    ("effort", "known", "command"),
    [
        ("quick", 0.0, "--effort normal"),
        ("normal", 0.0, "--effort thorough"),
        (None, 0.2, "--effort thorough"),
        ("thorough", 0.0, "--pairs pairs.csv"),
        ("thorough", 0.2, ""),
    ],
)
def test_what_was_tried_is_not_advised(effort, known, command):
    step = next_step(refused(effort, known))
    assert step.command == command
    if not command:
        assert "than the 5 that are known" in step.text


def prepared(*notes, **changes):
    """What `prepare` says of a table whose columns have these notes."""
    return Prepared(np.ones((25, 1)), ["a"], None, [*notes], **changes)


NUMBERS = [ColumnNote(f"number {i}", "used", "") for i in range(4)]
CITY = ColumnNote("city", "transformed", "categories, one column each")
BORN = ColumnNote("born", "dropped", "dates; …")


def test_counts_and_dates_that_were_left_out_come_up():
    raw = prepared(*NUMBERS, BORN, raw_counts=True)
    assert next_step(refused("thorough", 0.2, raw)).command == "--transform auto"
    step = next_step(refused("thorough", 0.0, replace(raw, raw_counts=False)))
    assert step.command == "--dates number"
    assert "born" in step.text


def test_categories_are_left_out_before_a_longer_search():
    step = next_step(refused("normal", prepared=prepared(*NUMBERS, CITY)))
    assert step.command == "--categorical drop"
    dropped = replace(CITY, action="dropped", why="categories")
    for columns in ([*NUMBERS, dropped], [*NUMBERS[:3], CITY], [*NUMBERS * 6, CITY]):
        step = next_step(refused("normal", prepared=prepared(*columns)))
        assert step.command == "--effort thorough"


def test_categories_are_left_out_where_matches_are_doubtful():
    base = make_findings()
    views = [base.views[0], replace(base.views[1], prepared=prepared(*NUMBERS, CITY))]
    doubtful = replace(base, views=views)
    assert next_step(doubtful).command == "--categorical drop"
    views[1] = replace(views[1], confidence=np.full(25, 0.9))
    assert next_step(replace(base, views=views)) is None


def test_too_few_columns_for_a_test_are_said_before_all_else():
    findings = refused("normal")
    narrow = [replace(view, n_features=3) for view in findings.views]
    step = next_step(replace(findings, views=narrow))
    assert (step.command, step.python) == ("", "")
    assert "it has 3, and matches in fewer than 4 cannot be tested" in step.text


def test_methods_without_a_test_lead_to_one_that_has():
    base = make_findings()
    view = replace(base.views[1], verdict="untested", trust=np.nan, known=0.0)
    step = next_step(replace(base, views=[base.views[0], view]))
    assert step.command == "--method SAVuC"
    known = replace(view, known=1.0)
    assert next_step(replace(base, views=[base.views[0], known])) is None


def test_the_page_says_it():
    page = render(refused("normal"))
    assert "Next step:" in page
    assert "<code>--effort thorough</code>" in page
    base = make_findings()
    assert "Next step:" not in render(replace(base, views=base.views[:2]))
