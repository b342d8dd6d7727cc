import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import mutual_info_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import StandardScaler, normalize

from unaligned.partitions.features import nearest_rows, view_features
from unaligned.partitions.scores import (
    draw_halves,
    fit_discriminant,
    information,
    joint_predictability,
    modularity,
    neighbor_shares,
    predictability,
)


class Ridged(EmpiricalCovariance):
    """Covariance plus 5 % of the mean variance on the diagonal."""

    def fit(self, X, y=None):
        super().fit(X)
        d = X.shape[1]
        self.covariance_ += 0.05 * np.trace(self.covariance_) / d * np.eye(d)
        return self


def classes_in_space(n=120, k=3, d=6, spread=0.5, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % k
    return 2 * rng.normal(size=(k, d))[y] + spread * rng.normal(size=(n, d)), y


def test_shares_of_neighbors_are_counted():
    labels = np.random.RandomState(1).randint(4, size=120)
    near = nearest_rows(normalize(classes_in_space(spread=3)[0]))
    expected = [[np.mean(labels[row] == c) for c in range(4)] for row in near]
    np.testing.assert_allclose(neighbor_shares(near, labels, 4), expected)


def test_information_is_mutual_information_over_log_k():
    rng = np.random.RandomState(0)
    one, other = rng.randint(5, size=(2, 200))
    expected = mutual_info_score(one, other) / np.log(7)
    assert information(one, other, 7) == pytest.approx(expected)


def test_modularity_is_newmans():
    rng = np.random.RandomState(0)
    near = nearest_rows(normalize(rng.normal(size=(30, 4))))
    labels = rng.randint(3, size=30)
    weights = np.zeros((30, 30))
    for row, others in enumerate(near):
        weights[row, others] += 0.5
        weights[others, row] += 0.5
    degrees, total = weights.sum(axis=0), weights.sum()
    expected = sum(
        weights[i, j] / total - degrees[i] * degrees[j] / total**2
        for i in range(30)
        for j in range(30)
        if labels[i] == labels[j]
    )
    np.testing.assert_allclose(modularity(near, labels, 3), expected, atol=1e-12)


@pytest.mark.parametrize("sizes", [(40, 40, 40), (90, 20, 10)])
def test_discriminant_is_the_linear_one(sizes):
    X, _ = classes_in_space(n=sum(sizes), spread=3)
    y = np.random.RandomState(2).permutation(np.repeat(np.arange(3), sizes))
    X += y[:, None]
    reference = LinearDiscriminantAnalysis(
        solver="lsqr", covariance_estimator=Ridged()
    ).fit(X, y)
    new = np.random.RandomState(3).normal(size=(50, X.shape[1]))
    np.testing.assert_allclose(
        fit_discriminant(X, y, 3).log_probabilities(new),
        reference.predict_log_proba(new),
        atol=1e-8,
    )


def test_a_class_without_rows_is_never_predicted():
    X, y = classes_in_space()
    log_shares = fit_discriminant(X, y * 2, 6).log_probabilities(X)
    assert {*log_shares.argmax(axis=1)} <= {0, 2, 4}
    assert not np.isnan(log_shares).any()


def test_classes_without_extent_have_a_discriminant():
    X = np.repeat(np.eye(3), 4, axis=0)
    y = np.repeat(np.arange(3), 4)
    found = fit_discriminant(X, y, 3).log_probabilities(X).argmax(axis=1)
    assert found.tolist() == y.tolist()
    still = fit_discriminant(np.ones((12, 2)), y, 3).log_probabilities(np.ones((1, 2)))
    np.testing.assert_allclose(still, np.log(1 / 3))


def test_halves_are_halves_and_random():
    half = draw_halves(101, np.random.RandomState(0))
    assert half.sum() == 50
    assert (half != draw_halves(101, np.random.RandomState(1))).any()


def test_predictability_is_the_weighted_mean_of_three_predictions():
    X, y = classes_in_space(spread=1.5)
    half = draw_halves(len(X), np.random.RandomState(0))
    rows = normalize(StandardScaler().fit_transform(X))
    linear = np.empty_like(y)
    for learn in (half, ~half):
        lda = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Ridged())
        linear[~learn] = lda.fit(rows[learn], y[learn]).predict(rows[~learn])
    majorities = []
    for scaled in (X, rows):
        similar = cosine_similarity(scaled)
        np.fill_diagonal(similar, -np.inf)
        near = np.argsort(-similar, axis=1, kind="stable")[:, :10]
        majorities.append([np.bincount(y[row], minlength=3).argmax() for row in near])
    values = [mutual_info_score(y, p) / np.log(3) for p in (linear, *majorities)]
    expected = values[0] / 2 + values[1] / 4 + values[2] / 4
    assert 0.1 < expected < 0.9
    assert predictability(view_features(X), y, 3, half) == pytest.approx(expected)


def test_what_the_view_shows_is_predicted_and_noise_is_not():
    X, y = classes_in_space()
    features = view_features(X)
    half = draw_halves(len(X), np.random.RandomState(0))
    noise = np.random.RandomState(0).permutation(y)
    assert predictability(features, y, 3, half) > 0.9
    assert predictability(features, noise, 3, half) < 0.1
    # One row apart from all others is easily predicted, and means little.
    outlier = (np.arange(len(y)) == 0).astype(np.intp)
    assert predictability(features, outlier, 3, half) < 0.1


def test_views_predict_together_with_points_and_neighbours_side_by_side():
    y = np.arange(90) % 3
    views = [view_features(classes_in_space(spread=s)[0][:90]) for s in (1.5, 2.5)]
    half = draw_halves(90, np.random.RandomState(0))
    points = np.hstack([view.standard.points for view in views])
    linear = np.empty_like(y)
    for learn in (half, ~half):
        lda = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Ridged())
        linear[~learn] = lda.fit(points[learn], y[learn]).predict(points[~learn])
    majorities = []
    for scale in (0, 1):
        near = np.hstack([view[scale].neighbors for view in views])
        majorities.append([np.bincount(y[row], minlength=3).argmax() for row in near])
    values = [mutual_info_score(y, p) for p in (linear, *majorities)]
    expected = values[0] / 2 + values[1] / 4 + values[2] / 4
    found = joint_predictability(views, y, 3, half)
    assert found == pytest.approx(expected / np.log(3))
    one = joint_predictability(views[:1], y, 3, half)
    assert one == predictability(views[0], y, 3, half)


def test_predictability_stays_where_its_logarithms_are_finite():
    X, y = classes_in_space(spread=0.01)
    half = draw_halves(len(X), np.random.RandomState(0))
    assert predictability(view_features(X), y, 3, half) == 0.99
    assert predictability(view_features(np.ones_like(X)), y, 3, half) >= 0.01
