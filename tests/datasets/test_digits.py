from itertools import permutations

import numpy as np
from sklearn.cross_decomposition import CCA

from unaligned.datasets import load_digits_views
from unaligned.metrics import single_view_scores


def test_four_finite_views_of_the_same_digits():
    digits = load_digits_views()
    assert len(digits.Xs) == len(digits.view_names) == 4
    assert all(X.shape[0] == len(digits.y) == 1797 for X in digits.Xs)
    assert all(np.isfinite(X).all() for X in digits.Xs)
    assert all(name in digits.DESCR for name in digits.view_names)


def test_every_view_knows_something_of_the_digits():
    digits = load_digits_views()
    scores = single_view_scores(digits.Xs, [digits.y] * 4, 10, n_init=2)
    assert min(s["acc"] for s in scores) > 0.5


def test_views_are_really_different():
    # No view is a linear function of another: regression leaves a good part of it.
    Xs = [X - X.mean(axis=0) for X in load_digits_views().Xs]
    for X, Z in permutations(Xs, 2):
        left = Z - X @ np.linalg.lstsq(X, Z, rcond=None)[0]
        assert np.sum(left**2) > 0.05 * np.sum(Z**2)


def test_views_share_structure():
    digits = load_digits_views()
    a, b = CCA(2).fit_transform(digits.Xs[1], digits.Xs[2])
    assert np.corrcoef(a[:, 0], b[:, 0])[0, 1] > 0.7
