import numpy as np
import pytest
from scipy import sparse
from sklearn.covariance import EmpiricalCovariance
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import mutual_info_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import StandardScaler, normalize
from threadpoolctl import threadpool_limits

from unaligned.savuc.predictability import (
    draw_halves,
    fit_discriminant,
    fit_labeller,
    information,
    modularity,
    nearest,
    portray,
    predictability,
    vote,
)


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of small decompositions wait for each other on a busy machine."""
    with threadpool_limits(limits=1):
        yield


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


def sparse_words(n=60, d=500, seed=0):
    rng = np.random.RandomState(seed)
    return rng.poisson(0.1, size=(n, d)) * rng.uniform(size=(n, d))


def brute_force_neighbors(X):
    similar = cosine_similarity(X)
    np.fill_diagonal(similar, -np.inf)
    return np.argsort(-similar, axis=1, kind="stable")[:, :15]


def test_neighbors_are_the_nearest_by_cosine():
    X, _ = classes_in_space()
    assert nearest(X).tolist() == brute_force_neighbors(X).tolist()


@pytest.mark.parametrize("n", [2, 3, 15, 16, 17])
def test_few_rows_have_all_other_rows_as_neighbors(n):
    near = nearest(np.random.RandomState(0).normal(size=(n, 3)))
    assert near.shape == (n, min(15, n - 1))
    assert all(i not in row and len({*row}) == len(row) for i, row in enumerate(near))


def test_no_row_is_its_own_neighbor_among_equal_rows():
    near = nearest(np.vstack([np.ones((30, 2)), np.zeros((30, 2))]))
    assert near.shape == (60, 15)
    assert not (near == np.arange(60)[:, None]).any()


def test_votes_are_counted():
    X, _ = classes_in_space(spread=3)
    labels = np.random.RandomState(1).randint(4, size=len(X))
    near = nearest(X)
    expected = [[np.mean(labels[row] == c) for c in range(4)] for row in near]
    np.testing.assert_allclose(vote(near, labels, 4), expected)


def test_information_is_mutual_information_over_log_k():
    rng = np.random.RandomState(0)
    one, other = rng.randint(5, size=(2, 200))
    expected = mutual_info_score(one, other) / np.log(7)
    assert information(one, other, 7) == pytest.approx(expected)


def test_modularity_is_newmans():
    rng = np.random.RandomState(0)
    near, labels = nearest(rng.normal(size=(30, 4))), rng.randint(3, size=30)
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
    told = fit_discriminant(X, y, 3).log_probabilities(X).argmax(axis=1)
    assert told.tolist() == y.tolist()
    still = fit_discriminant(np.ones((12, 2)), y, 3).log_probabilities(np.ones((1, 2)))
    np.testing.assert_allclose(still, np.log(1 / 3))


def test_quality_is_the_mean_of_three_witnesses():
    X, y = classes_in_space(spread=1.5)
    half = draw_halves(len(X), np.random.RandomState(0))
    rows = normalize(StandardScaler().fit_transform(X))
    told = np.empty_like(y)
    for learn in (half, ~half):
        lda = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Ridged())
        told[~learn] = lda.fit(rows[learn], y[learn]).predict(rows[~learn])
    voted = [
        [np.bincount(y[row], minlength=3).argmax() for row in brute_force_neighbors(Z)]
        for Z in (X, rows)
    ]
    values = [mutual_info_score(y, p) / np.log(3) for p in (told, *voted)]
    expected = values[0] / 2 + values[1] / 4 + values[2] / 4
    assert 0.1 < expected < 0.9
    assert predictability(portray(X), y, 3, half) == pytest.approx(expected)


def test_what_the_view_shows_is_predicted_and_noise_is_not():
    X, y = classes_in_space()
    half = draw_halves(len(X), np.random.RandomState(0))
    noise = np.random.RandomState(0).permutation(y)
    assert predictability(portray(X), y, 3, half) > 0.9
    assert predictability(portray(X), noise, 3, half) < 0.1
    # One row apart from all others is easily predicted, and tells little.
    outlier = (np.arange(len(y)) == 0).astype(np.intp)
    assert predictability(portray(X), outlier, 3, half) < 0.1


@pytest.mark.parametrize(("n", "d"), [(60, 500), (250, 300), (300, 250)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_wide_views_are_cut_to_their_singular_directions(n, d, kind):
    X = sparse_words(n, d)
    standard = StandardScaler().fit_transform(X)
    for look, rows in zip(portray(kind(X)).looks, (X, standard), strict=True):
        left, s, _ = np.linalg.svd(normalize(rows), full_matrices=False)
        cut = left[:, :200] * s[:200]
        np.testing.assert_allclose(look.points @ look.points.T, cut @ cut.T, atol=1e-8)
        principal = PCA(min(n - 1, 50), svd_solver="full").fit_transform(look.points)
        np.testing.assert_allclose(np.abs(look.principal), np.abs(principal), atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("width", [150, 500])
def test_rows_are_read_again_as_they_were(kind, width):
    X = kind(sparse_words(d=width))
    for look in portray(X).looks:
        again = look.reading.read(X)
        np.testing.assert_allclose(again, look.points, atol=1e-8)
        np.testing.assert_allclose(look.reading.turn(again), look.principal, atol=1e-8)


def test_directions_of_very_many_rows_are_found_from_some():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(3100, 5)) @ rng.normal(size=(5, 250))
    for look, rows in zip(
        portray(X).looks, (X, StandardScaler().fit_transform(X)), strict=True
    ):
        # Five directions hold everything, whatever the rows they are found from.
        rows = normalize(rows)[:50]
        np.testing.assert_allclose(
            look.points[:50] @ look.points[:50].T, rows @ rows.T, atol=1e-6
        )


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
def test_numbers_of_any_type_are_read_as_floats(dtype):
    X = np.random.RandomState(0).randint(200, size=(40, 300)).astype(dtype)
    expected = portray(X.astype(float)).standard.points
    np.testing.assert_array_equal(portray(X).standard.points, expected)


def test_constant_columns_and_empty_rows_do_no_harm():
    X, y = classes_in_space()
    X = np.hstack([X, np.full((len(X), 2), 3.3)])
    X[:20] = 0
    half = draw_halves(len(X), np.random.RandomState(0))
    for view in (X, sparse.csr_array(X), np.ones_like(X), np.zeros_like(X)):
        assert 0.01 <= predictability(portray(view), y, 3, half) <= 0.99
        assert {*fit_labeller(view, y).predict(view)} <= {0, 1, 2}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_labeller_labels_new_rows_with_the_labels_it_was_given(kind):
    X, y = classes_in_space(n=300)
    names = np.array([5, -1, 40])[y]
    labeller = fit_labeller(kind(X[:100]), names[:100])
    assert np.mean(labeller.predict(kind(X[100:])) == names[100:]) > 0.98
    assert labeller.predict(kind(X[:0])).shape == (0,)


def test_log_probabilities_are_of_probabilities_and_blocks_do_not_show(monkeypatch):
    X, y = classes_in_space(spread=2)
    labeller = fit_labeller(X[:60], y[:60])
    whole = labeller.log_probabilities(X)
    np.testing.assert_allclose(np.exp(whole).sum(axis=1), 1)
    monkeypatch.setattr("unaligned.savuc.predictability.N_BLOCK", 7)
    np.testing.assert_allclose(labeller.log_probabilities(X), whole, atol=1e-10)


def test_labeller_of_one_class():
    X, y = classes_in_space()
    assert {*fit_labeller(X, np.full_like(y, 3)).predict(X)} == {3}
