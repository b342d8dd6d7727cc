"""Methods side by side: who can run, and evidence for what they matched."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

from unaligned.benchmark.cells import Cell
from unaligned.benchmark.columns import show
from unaligned.benchmark.comparison import (
    Compared,
    choose_methods,
    comparison_table,
    evidence_for,
    measure_views,
    random_record,
)
from unaligned.datasets import load_digits_views, unalign
from unaligned.savuc.config import NORMAL
from unaligned.savuc.geometry import read_geometry, whiten
from unaligned.savuc.trust import held_out_evidence


@pytest.fixture(scope="module")
def data():
    digits = load_digits_views()
    Xs = [digits.Xs[0][:250], digits.Xs[3][:250]]
    return unalign(Xs, digits.y[:250], random_state=0)


def compared(Xs, aligned=None):
    return Compared(list(Xs), aligned, 10, 0)


def truth(data):
    return np.argsort(data.order[1])[data.order[0]]


def test_who_cannot_run_is_told_why(data):
    one, other = data.Xs
    able, reasons = choose_methods(compared([one, other]))
    assert able[0] == "SAVuC"
    expected = dict.fromkeys(["MvCLN", "PVC", "SURE"], "needs known pairs")
    if find_spec("torch") is None:
        expected |= dict.fromkeys(["CPMN", "SMILE"], "needs torch")
    assert reasons == expected
    able, reasons = choose_methods(compared([one, other[:200]]))
    assert able == ["SAVuC", "CMVNMF", "Rosetta", "SCOT"]
    assert reasons["PAVuC"] == "needs equally many rows"
    _, reasons = choose_methods(compared([sparse.csr_array(one), other]))
    assert reasons["FMVACC"] == "takes no sparse view"


def test_evidence_is_that_of_the_matches(data):
    partner = truth(data)
    found = evidence_for(partner, compared(data.Xs))
    rng = np.random.RandomState(0)
    views = [whiten(read_geometry(X, 50, rng).points, NORMAL.ridge) for X in data.Xs]
    expected = held_out_evidence(*views, partner, NORMAL, np.random.RandomState(0))
    assert found["evidence"] == pytest.approx(expected.mean, abs=1e-4)
    assert found["matched"] == 100
    assert found["evidence"] > 0.1 > random_record(compared(data.Xs))["evidence"]


def test_given_pairs_are_no_evidence(data):
    partner = truth(data)
    pairs = {(0, 1): np.column_stack([np.arange(250), partner])}
    found = evidence_for(partner, compared(data.Xs, pairs))
    assert found["evidence"] is None
    assert found["matched"] == 100


def test_matches_are_read_from_the_first_view(data):
    """PAVuC's template may be either view; its own matches are tested in any case."""
    record = measure_views(Cell("views", "PAVuC", {"max_iter": 3}), compared(data.Xs))
    assert record["verdict"] == "untested"
    assert record["trust"] is None
    assert record["evidence"] < 0.1  # of wrong matches it is none, or negative
    paired = measure_views(Cell("views", "LMVSC", {}), compared(data.Xs))
    same_place = evidence_for(np.arange(250), compared(data.Xs))
    assert paired["evidence"] == same_place["evidence"]
    assert paired["remark"] == "takes row r of both views for one object"


def test_the_table_begins_with_the_largest_evidence_and_tells_failures():
    done = {"status": "done", "verdict": "untested", "error": 0.01}
    records = [
        {"method": "a", **done, "evidence": 0.02},
        {"method": "b", "status": "time-out", "reason": "not done after 3 s"},
        {"method": "c", **done, "evidence": 0.3},
    ]
    table = comparison_table(records, ("x", "y"))
    assert [row[0] for row in table.rows] == ["c", "a", "b"]
    assert table.rows[2][-1] == "time-out: not done after 3 s"
    assert show(table.columns[4], table.rows[0][4]) == "0.300 ± 0.010"
