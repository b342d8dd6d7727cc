"""CMVNMF's links and updates against the sums they stand for."""

import numpy as np
import pytest
from scipy import sparse

from tests.conftest import make_blobs
from unaligned.baselines import CMVNMF
from unaligned.baselines.cmvnmf import (
    Links,
    State,
    forces,
    link_cost,
    link_matrix,
    make_nonnegative,
    object_links,
    one_iteration,
)
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.metrics import clustering_scores
from unaligned.views import check_views

MUST = np.array([(0, 5), (0, 6), (1, 7)])  # views of 4, 3 and 2 rows, numbered through
CANNOT = np.array([(2, 5), (4, 8)])
ROWS = [slice(0, 4), slice(4, 7), slice(7, 9)]


@pytest.fixture
def links():
    must, cannot = link_matrix(MUST, 9), link_matrix(CANNOT, 9)
    degrees = must.sum(axis=1).reshape(-1, 1)
    return [Links(must[own], cannot[own], degrees[own]) for own in ROWS]


@pytest.fixture
def memberships():
    return np.random.RandomState(0).uniform(size=(9, 3))


def cost_by_pair(V):
    """Δ as it is defined, one link after the other."""
    must = sum(np.sum((V[a] - V[b]) ** 2) for a, b in MUST)
    return must + 2 * sum(V[a] @ V[b] for a, b in CANNOT)


def test_the_cost_is_the_sum_over_the_links(links, memberships):
    ties = zip(ROWS, links, strict=True)
    found = sum(link_cost(memberships[own], tied, memberships) for own, tied in ties)
    np.testing.assert_allclose(found, cost_by_pair(memberships))


def test_forces_are_half_the_gradient_of_the_cost(links, memberships):
    step = 1e-6
    for own, tied in zip(ROWS, links, strict=True):
        drawn, driven = forces(memberships[own], tied, memberships, beta=0.7)
        for row in range(own.start, own.stop):
            for column in range(3):
                ahead, behind = memberships.copy(), memberships.copy()
                ahead[row, column] += step
                behind[row, column] -= step
                slope = (cost_by_pair(ahead) - cost_by_pair(behind)) / (2 * step)
                at = row - own.start, column
                gradient = 2 * (driven - drawn)[at]
                np.testing.assert_allclose(gradient, 0.7 * slope, atol=1e-7)


def test_links_count_once_and_both_ways():
    found = link_matrix(np.array([(0, 2), (2, 0), (0, 2), (1, 2)]), 3).toarray()
    np.testing.assert_array_equal(found, [[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    assert link_matrix(np.empty((0, 2), dtype=np.intp), 3).nnz == 0


def test_rows_of_one_object_are_linked_across_all_views():
    identities = [np.array([0, 1, -1]), np.array([1, -1]), np.array([-1, 1])]
    found = object_links(KnownPairs(identities))
    assert {tuple(sorted(link)) for link in found} == {(1, 3), (1, 6), (3, 6)}
    views = check_views([np.eye(3), np.eye(3)])
    assert len(object_links(check_aligned(None, views))) == 0
    assert len(object_links(check_aligned("all", views))) == 3


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("how", ["shift", "split"])
def test_views_become_non_negative_with_rows_that_sum_to_one_on_average(kind, how):
    X = np.random.RandomState(0).poisson(1, size=(6, 4)) - float(how == "split")
    found = make_nonnegative(kind(X), how, "a")
    assert sparse.issparse(found) == sparse.issparse(kind(X))
    np.testing.assert_allclose(found.sum() / 6, 1)
    assert found.min() == 0
    dense = found.toarray() if sparse.issparse(found) else found
    back = dense[:, :4] - dense[:, 4:] if how == "split" else dense
    np.testing.assert_allclose(np.corrcoef(back.ravel(), X.ravel())[0, 1], 1)


@pytest.mark.parametrize("lowest", [-2.0, 0.0, 3.0])
def test_shifting_moves_the_smallest_entry_to_zero(lowest):
    X = np.array([[0.0, 2.0], [6.0, 4.0]])
    np.testing.assert_allclose(make_nonnegative(X + lowest, "shift", "a"), X / 6)


def test_splitting_leaves_a_non_negative_view_as_wide_as_it_is():
    assert make_nonnegative(np.eye(3), "split", "a").shape == (3, 3)


def test_a_sparse_view_is_not_made_dense_behind_ones_back():
    X = sparse.csr_array([[0.0, -1.5], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"view 'text' .* -1.5, .*nonnegative=\"split"):
        CMVNMF(1).fit({"text": X})
    assert CMVNMF(1, nonnegative="split", max_iter=2).fit({"text": X}).n_iter_ <= 2


def objective(Xs, state, beta):
    parts = zip(Xs, ROWS, state.bases, strict=True)
    misfit = sum(np.sum((X - state.memberships[own] @ U) ** 2) for X, own, U in parts)
    return misfit + beta * cost_by_pair(state.memberships)


@pytest.fixture
def problem(links, memberships):
    rng = np.random.RandomState(1)
    Xs = [rng.uniform(size=(own.stop - own.start, 5)) for own in ROWS]
    bases = [rng.dirichlet(np.ones(5), size=3) for _ in ROWS]
    return Xs, links, State(memberships, bases, np.inf)


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_the_objective_is_misfits_plus_weighted_links(problem, beta):
    Xs, links, state = problem
    after = one_iteration(Xs, ROWS, links, state, beta)
    np.testing.assert_allclose(after.objective, objective(Xs, after, beta))
    for U in after.bases:
        np.testing.assert_allclose(U.sum(axis=1), 1)
    assert after.memberships.min() >= 0


def test_without_links_the_objective_falls(blobs):
    values = CMVNMF(3, max_iter=100, tol=0, random_state=0).fit(blobs[0]).objective_
    assert np.diff(values).max() <= 1e-9 * values[0]
    assert values[-1] < values[0]


def test_membership_steps_fall_with_links_when_the_basis_stays(problem, monkeypatch):
    # The scale of the basis is what may raise the objective; here it is left alone.
    from unaligned.baselines import cmvnmf

    monkeypatch.setattr(cmvnmf, "update_basis", lambda X, V, U: U)
    Xs, links, state = problem
    values = [objective(Xs, state, beta=3.0)]
    for _ in range(40):
        state = one_iteration(Xs, ROWS, links, state, beta=3.0)
        values.append(state.objective)
    assert np.diff(values).max() <= 1e-10


def gaps(model, pairs):
    one, other = model.memberships_
    return np.mean([np.sum((one[a] - other[b]) ** 2) for a, b in pairs])


def overlaps(model, pairs):
    one, other = model.memberships_
    return np.mean([one[a] @ other[b] for a, b in pairs])


def test_must_links_bring_rows_together():
    Xs, y = make_blobs(n=30, widths=(5, 4))
    near = np.argwhere(y[:, None] == y[None, :])
    plain = CMVNMF(3, random_state=0).fit(Xs)
    tied = CMVNMF(3, must_link={(0, 1): near}, random_state=0).fit(Xs)
    assert gaps(tied, near) < gaps(plain, near) / 2
    # Linked views give their clusters the same names.
    np.testing.assert_array_equal(*tied.view_labels_)
    assert clustering_scores(y, tied.labels_)["acc"] >= 0.95


def test_cannot_links_keep_rows_apart():
    Xs, y = make_blobs(n=30, widths=(5, 4))
    far = np.argwhere(y[:, None] != y[None, :])[::10]
    plain = CMVNMF(3, random_state=0).fit(Xs)
    apart = CMVNMF(3, cannot_link={(0, 1): far}, beta=0.1, random_state=0).fit(Xs)
    assert overlaps(apart, far) < overlaps(plain, far) / 2


def test_unequal_rows_are_welcome_and_unmatched_ones_have_no_partner(blobs):
    Xs = [X[:n] for X, n in zip(blobs[0], (60, 40, 50), strict=True)]
    known = {(1, 0): [(3, 7), (39, 0)], (1, 2): [(3, 8)]}
    model = CMVNMF(3, reference_view=1, max_iter=5, random_state=0).fit(
        Xs, aligned=known
    )
    assert [len(labels) for labels in model.view_labels_] == [60, 40, 50]
    assert [V.shape for V in model.memberships_] == [(60, 3), (40, 3), (50, 3)]
    alignment = model.alignment_
    assert model.template_ == alignment.template == 1
    assert {tuple(pair) for pair in alignment.pairs(0, 1)} == {(7, 3), (0, 39)}
    assert {tuple(pair) for pair in alignment.pairs(0, 2)} == {(7, 8)}
    np.testing.assert_allclose(alignment.known, [2 / 40, 1, 1 / 40])
    assert [sure.shape for sure in alignment.confidence] == [(40,)] * 3


def test_must_links_say_nothing_of_correspondence(blobs):
    pairs = {(0, 1): [(0, 0), (0, 3)]}
    model = CMVNMF(3, must_link=pairs, max_iter=2, random_state=0).fit(blobs[0])
    np.testing.assert_array_equal(model.alignment_.known, [1, 0, 0])


def test_contradicting_links_are_named(blobs):
    Xs = dict(zip("abc", blobs[0], strict=True))
    model = CMVNMF(3, cannot_link={("c", "a"): [(5, 5)]})
    with pytest.raises(ValueError, match=r"row 5 of view 'a' and row 5 of view 'c' "):
        model.fit(Xs, aligned=10)
    with pytest.raises(ValueError, match=r"cannot_link\[\('c', 'a'\)\] names row 60"):
        CMVNMF(3, cannot_link={("c", "a"): [(60, 5)]}).fit(Xs)
    with pytest.raises(ValueError, match="reference_view=3 is none of the 3 views"):
        CMVNMF(3, reference_view=3).fit(Xs)


def test_clusters_are_named_after_those_of_the_reference_view():
    rng = np.random.RandomState(0)
    V = np.eye(4)[np.arange(40) % 4] + 0.1 * rng.uniform(size=(40, 4))
    orders = [rng.permutation(40) for _ in range(5)]
    found = CMVNMF(4, reference_view=2)._cluster([V[rows] for rows in orders], seed=0)
    for rows, labels in zip(orders, found, strict=True):
        np.testing.assert_array_equal(labels, found[2][np.argsort(orders[2])][rows])


def test_labels_of_the_largest_membership(blobs):
    settings = {"max_iter": 20, "random_state": 0}
    by_size = CMVNMF(3, assign_labels="argmax", **settings).fit(blobs[0])
    for labels, V in zip(by_size.view_labels_, by_size.memberships_, strict=True):
        np.testing.assert_array_equal(labels, V.argmax(axis=1))
    by_means = CMVNMF(3, **settings).fit(blobs[0])
    np.testing.assert_array_equal(by_size.memberships_[0], by_means.memberships_[0])


def test_warm_up_is_iterations_without_links(blobs):
    settings = {"tol": 0, "random_state": 0}
    one = CMVNMF(3, warm_up=0, max_iter=7, **settings).fit(blobs[0])
    other = CMVNMF(3, warm_up=4, max_iter=3, **settings).fit(blobs[0])
    np.testing.assert_allclose(one.objective_[4:], other.objective_)


def test_sparse_views_give_the_same_factors(blobs):
    Xs = [np.where(X > 1, X, 0) for X in blobs[0]]
    settings = {"max_iter": 10, "random_state": 0}
    dense = CMVNMF(3, **settings).fit(Xs, aligned=20)
    thin = CMVNMF(3, **settings).fit([sparse.csr_array(X) for X in Xs], aligned=20)
    np.testing.assert_allclose(dense.objective_, thin.objective_)


@pytest.mark.parametrize("k", [1, 8, 60])
def test_any_number_of_clusters_and_constant_views(blobs, k):
    Xs = [blobs[0][0].astype(np.float32), np.ones((60, 2), np.float32)]
    model = CMVNMF(k, max_iter=5, random_state=0).fit(Xs, aligned=30)
    assert all(V.dtype == np.float32 for V in model.memberships_)
    assert all(np.isfinite(V).all() for V in model.memberships_)
    assert len(np.unique(model.labels_)) == k


def test_it_says_that_it_is_a_reconstruction():
    assert CMVNMF.reconstruction
    assert CMVNMF.__doc__.startswith("Reconstruction:")
