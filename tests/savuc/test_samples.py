import numpy as np
from related_views import QUICK, true_cross, whitened_pair

from unaligned.savuc.refine import join_rows
from unaligned.savuc.samples import draw_rows, nearest_rows


def test_nearest_rows_are_those_of_largest_cosine_along_canonical_directions():
    one, other, order = whitened_pair(90, 6)
    cross = true_cross(one, other, order)
    rows = join_rows(one[:20], other[:30])
    found = nearest_rows(cross, rows, other, QUICK, np.random.RandomState(0))
    left, weights, right = np.linalg.svd(cross)
    A, B = one[:20] @ (left * weights), other @ (right.T * weights)
    cosines = (A @ B.T) / np.linalg.norm(A, axis=1)[:, None] / np.linalg.norm(B, axis=1)
    assert len(np.unique(found)) == len(found) == 30
    assert {*cosines.argmax(axis=1)} <= {*found}


def test_few_rows_are_all_drawn():
    one, other, order = whitened_pair(90, 6)
    rows = join_rows(one, other)
    rng = np.random.RandomState(0)
    drawn = draw_rows(true_cross(one, other, order), rows, QUICK, rng)
    np.testing.assert_array_equal(drawn.one, one)
    np.testing.assert_array_equal(drawn.other, other)
