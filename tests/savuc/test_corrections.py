from dataclasses import replace

import numpy as np
import pytest
from related_views import QUICK, search_view, shuffled_pair, true_cross

from unaligned.kernels.devices import Cores
from unaligned.savuc import search as module
from unaligned.savuc.anchors import single_rows
from unaligned.savuc.assign import match_rows
from unaligned.savuc.corrections import correct_by_distances
from unaligned.savuc.refine import join_rows, score
from unaligned.savuc.search import PairSearch
from unaligned.savuc.trust import agreement


def rng(seed=0):
    return np.random.RandomState(seed)


@pytest.fixture(scope="module")
def pair():
    """Two views of 120 rows, and the row of the first beside each of the second."""
    X, Y, order = shuffled_pair(120)
    return search_view(X), search_view(Y), order


def partly_right(one, other, order, share):
    """The cross-correlation where a share of the rows have their partners."""
    n = len(order)
    moved = np.where(np.arange(n) < share * n, order, rng().permutation(order))
    return one.whitened[moved].T @ other.whitened / n


def test_rows_stand_for_themselves(pair):
    view, *_ = pair
    rows = np.array([3, 5, 8])
    found = single_rows(view.whitened, view.sketch, rows)
    np.testing.assert_array_equal(found.means, view.whitened[rows])
    np.testing.assert_allclose(found.masses, np.full(3, 1 / 3))
    expected = view.sketch.distances[rows][:, rows]
    np.testing.assert_allclose(found.distances, expected / expected.mean())
    np.testing.assert_array_equal(found.signatures, view.sketch.signatures[rows])


def test_distances_correct_matches_that_are_wrong(pair):
    one, other, order = pair
    rows = join_rows(one.whitened, other.whitened)
    everything = np.arange(120)
    anchors = (
        single_rows(one.whitened, one.sketch, everything),
        single_rows(other.whitened, other.sketch, everything),
    )
    truth = true_cross(one.whitened, other.whitened, order)
    cross = partly_right(one, other, order, 0.3)
    kept = correct_by_distances(cross, rows, anchors, QUICK)
    assert agreement(kept, truth) > max(0.9, agreement(cross, truth) + 0.1)
    # The distances of other rows do not.
    moved = rng().permutation(120)
    strangers = replace(anchors[1], distances=anchors[1].distances[moved][:, moved])
    astray = correct_by_distances(cross, rows, (anchors[0], strangers), QUICK)
    assert agreement(astray, truth) < agreement(kept, truth) - 0.1


def test_known_pairs_take_their_part(pair):
    one, other, order = pair
    known = order[:40], np.arange(40)
    search = PairSearch(one, other, QUICK, Cores(), known)
    free_one, free_other = search.anchors
    assert len(free_one.masses) == len(free_other.masses) == 80
    kept = correct_by_distances(
        search.all_rows.fixed, search.all_rows, search.anchors, QUICK
    )
    partner = match_rows(kept, one.whitened, other.whitened, QUICK, known).partner
    assert np.mean(order[partner] == np.arange(120)) > 0.95


def test_few_rows_are_corrected_and_many_are_not(pair, monkeypatch):
    one, other, order = pair
    asked = []

    def spy(cross, *_):
        asked.append(cross)
        return true_cross(one.whitened, other.whitened, order)

    monkeypatch.setattr(module, "correct_by_distances", spy)
    for most, corrected in ((120, True), (119, False)):
        asked.clear()
        monkeypatch.setattr(module, "MOST_SINGLE", most)
        search = PairSearch(one, other, QUICK, Cores())
        cross, value = search.refine(partly_right(one, other, order, 0.5), rng())
        assert bool(asked) is corrected
        assert value == pytest.approx(score(cross, QUICK), rel=1e-5)
    # What does not raise the score is not taken.
    monkeypatch.setattr(module, "MOST_SINGLE", 120)
    truth = true_cross(one.whitened, other.whitened, order)
    monkeypatch.setattr(
        module, "correct_by_distances", lambda cross, *_: 0.01 * cross[::-1]
    )
    cross, _ = PairSearch(one, other, QUICK, Cores()).refine(truth, rng())
    assert agreement(cross, truth) > 0.95
