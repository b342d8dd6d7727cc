"""Places of rows of two views, and halves without a common object."""

import numpy as np
import pytest

from tests.conftest import make_blobs
from unaligned.alignment import Alignment
from unaligned.benchmark.cells import Cell
from unaligned.benchmark.measure import measure
from unaligned.benchmark.places import (
    joint_of,
    learned_places,
    places_of,
    split_halves,
    verdict_of,
)
from unaligned.datasets import unalign


class Turned:
    """A model that knows how the second view comes from the first."""

    template_ = 0

    def __init__(self, turn, alignment=None, labels=None):
        self.turn, self.alignment_, self.view_labels_ = turn, alignment, labels

    def transform(self, X, view):
        return X @ self.turn if view == 1 else X


class Refusing(Turned):
    def transform(self, X, view):
        raise ValueError


def turned(n=50, d=4):
    rng = np.random.RandomState(0)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = rng.normal(size=(n, d))
    return X, X @ turn.T, turn


def test_halves_share_no_object_and_unseen_pairs_are_pairs():
    objects = np.arange(50.0)[:, None]
    halves, unseen = split_halves([objects, objects + 0.5], shuffle=3)
    one, other = halves.Xs
    assert len(one) == len(other) == 20
    assert not {*one.ravel()} & {*(other.ravel() - 0.5)}
    np.testing.assert_array_equal(unseen[0] + 0.5, unseen[1])
    assert not {*unseen[0].ravel()} & {*one.ravel(), *(other.ravel() - 0.5)}
    again, _ = split_halves([objects, objects], shuffle=4)
    assert not np.array_equal(one, again.Xs[0])


def test_places_are_scored_at_unit_length():
    X, Y, turn = turned()
    scores = places_of(Turned(turn), [X, 3 * Y])
    assert scores["foscttm"] == 0
    assert scores["top1"] == 100
    assert scores["placed"] == 50
    assert places_of(Refusing(turn), [X, Y]) == {}
    assert places_of(object(), [X, Y]) == {}


def test_fitted_rows_are_brought_back_into_order():
    X, Y, turn = turned()
    shuffled = unalign([X, Y], random_state=0)
    assert learned_places(Turned(turn), shuffled)["foscttm"] == 0
    model = Turned(turn)
    model.places_ = [shuffled.Xs[0], shuffled.Xs[1] @ turn]
    assert learned_places(model, shuffled)["top1"] == 100


def test_given_pairs_do_not_count_as_found():
    Xs, y = make_blobs(n=40, widths=(3, 3))
    data = unalign(Xs, y, ratio=0.5, random_state=0)
    right = np.argsort(data.order[1])[data.order[0]]
    rows = [np.arange(40), np.r_[right[:20], np.full(20, -1)]]
    trust = np.array([1.0, np.nan])
    alignment = Alignment(0, rows, [np.ones(40)] * 2, trust)
    found = joint_of(Turned(None, alignment, data.ys), data)
    assert found["same_object"] is None
    assert found["joint_acc"] == 100
    assert found["joint_floor"] < 100
    assert verdict_of(Turned(None, alignment)) == {"verdict": "untested", "trust": None}
    rows[1][20:30] = right[20:30]
    assert joint_of(Turned(None, alignment, data.ys), data)["same_object"] == 100


@pytest.mark.parametrize("kind", ["halves", "rivals"])
def test_cells_of_rivals_are_measured(kind):
    cell = Cell("digits", "Rosetta", views=(0, 1), rows=150, measure=kind)
    found = measure(cell)
    assert found["verdict"] == "untested"
    assert found["trust"] is None
    assert found["placed"] == (30 if kind == "halves" else 150)
    assert 0 <= found["foscttm"] <= 1
    assert ("joint_acc" in found) == (kind == "rivals")
