import numpy as np
import pytest
from scipy import sparse

from unaligned.partitions import labeller as labellers
from unaligned.partitions.features import view_features
from unaligned.partitions.labeller import fit_labeller
from unaligned.partitions.scores import neighbor_shares


def classes_in_space(n=120, k=3, d=6, spread=0.5, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % k
    return 2 * rng.normal(size=(k, d))[y] + spread * rng.normal(size=(n, d)), y


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_new_rows_get_the_labels_that_were_given(kind):
    X, y = classes_in_space(n=300)
    names = np.array([5, -1, 40])[y]
    labeller = fit_labeller(kind(X[:100]), names[:100])
    assert np.mean(labeller.predict(kind(X[100:])) == names[100:]) > 0.98
    assert labeller.predict(kind(X[:0])).shape == (0,)


def test_features_stand_for_the_rows_they_are_of():
    X, y = classes_in_space(spread=2)
    one, other = fit_labeller(X, y), fit_labeller(view_features(X), y)
    np.testing.assert_array_equal(one.log_probabilities(X), other.log_probabilities(X))


def test_log_probabilities_are_of_probabilities_and_blocks_do_not_show(monkeypatch):
    X, y = classes_in_space(spread=2)
    labeller = fit_labeller(X[:60], y[:60])
    whole = labeller.log_probabilities(X)
    np.testing.assert_allclose(np.exp(whole).sum(axis=1), 1)
    monkeypatch.setattr(labellers, "N_BLOCK", 7)
    np.testing.assert_allclose(labeller.log_probabilities(X), whole, atol=1e-6)


def test_probabilities_are_the_weighted_mean_of_three_predictions():
    X, y = classes_in_space(spread=2)
    labeller = fit_labeller(X[:60], y[:60])
    expected = np.full((60, 3), 0.02 / 3)
    for weight, scale in zip((0.25, 0.25), labeller.features, strict=True):
        rows = scale.projection.project(X[60:])
        near = np.argsort(-(rows @ scale.points.T), axis=1, kind="stable")[:, :7]
        expected += 0.98 * weight * neighbor_shares(near, y[:60], 3)
    linear = labeller.discriminant.log_probabilities(rows)
    expected += 0.98 * 0.5 * np.exp(linear)
    np.testing.assert_allclose(
        np.exp(labeller.log_probabilities(X[60:])), expected, atol=1e-6
    )


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(labellers, "N_KNOWN", 50)
    monkeypatch.setattr(labellers, "KNOWN_PER_CLASS", 10)
    X, y = classes_in_space(n=400)
    labeller = fit_labeller(X, y)
    assert len(labeller.positions) == 50
    assert np.mean(labeller.predict(X) == y) > 0.98


def test_one_class_and_views_without_structure():
    X, y = classes_in_space()
    assert {*fit_labeller(X, np.full_like(y, 3)).predict(X)} == {3}
    for view in (np.ones_like(X), np.zeros_like(X), sparse.csr_array(X.shape)):
        assert {*fit_labeller(view, y).predict(view)} <= {0, 1, 2}
