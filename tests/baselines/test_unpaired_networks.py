"""SMILE's and CPMN's losses against literal computations, and what they find."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax
from scipy.stats import entropy

from tests.conftest import make_blobs
from unaligned.baselines import CPMN, SMILE
from unaligned.baselines import _unpaired_losses as u
from unaligned.metrics import clustering_scores

heavy = pytest.mark.heavy
BRIEF = {"hidden": (16,), "device": "cpu", "random_state": 0, "n_init": 2}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="needs the extra 'deep'")


def draw(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape)


def cosine(one, other):
    return 1 - cdist(one, other, "cosine")


def test_prototypes_are_matched_by_the_largest_sum_of_cosines():
    reference, prototypes = draw(6, 4), draw(6, 4, seed=1)
    alike = cosine(reference, prototypes)
    best = alike[linear_sum_assignment(-alike)].sum()
    ordered = u.match_prototypes(reference, prototypes)
    assert np.diag(cosine(reference, ordered)).sum() == pytest.approx(best)
    again = u.match_prototypes(reference, reference[[3, 1, 0, 5, 2, 4]])
    np.testing.assert_array_equal(again, reference)


def test_centres_of_the_sphere_have_unit_length():
    (X, *_), _ = make_blobs(60)
    centers = u.cluster_spherically(X, 3, 3, 0)
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1)


@heavy
def test_semantic_loss_is_that_of_entropies(torch):
    assigned = [softmax(draw(20, 4, seed=i), axis=1) for i in range(3)]
    shares = [C.mean(axis=0) for C in assigned]
    total = entropy(np.mean(shares, axis=0))
    about_views = total - np.mean([entropy(p) for p in shares])
    about_rows = total - np.mean([entropy(row) for C in assigned for row in C])
    found = u.semantic_loss([torch.from_numpy(C) for C in assigned], 0.7)
    assert float(found) == pytest.approx(about_views - 0.7 * about_rows)


@heavy
def test_semantic_loss_is_least_for_certain_clusters_of_equal_shares(torch):
    certain = torch.eye(4, dtype=torch.float64).repeat(5, 1)
    best = float(u.semantic_loss([certain, certain], 1.0))
    assert best == pytest.approx(-np.log(4))
    apart = [certain[:, :4] @ torch.eye(4, dtype=torch.float64)]
    apart.append(torch.zeros_like(certain).index_fill(1, torch.tensor([0]), 1.0))
    assert float(u.semantic_loss(apart, 1.0)) > best


@heavy
def test_soft_clusters(torch):
    H, centers = draw(9, 5), draw(3, 5, seed=1)
    expected = softmax(cosine(H, centers) / 0.3, axis=1)
    found = u.soft_clusters(*map(torch.from_numpy, (H, centers)), 0.3)
    np.testing.assert_allclose(found, expected)


@heavy
@pytest.mark.parametrize("same_rows", [False, True])
def test_neighbours_are_mutual(torch, same_rows):
    H = draw(12, 4)
    other = H if same_rows else draw(9, 4, seed=1)
    S = cosine(H, other)
    if same_rows:
        np.fill_diagonal(S, -np.inf)
    expected = np.zeros(S.shape, bool)
    for i in range(len(H)):
        for j in range(len(other)):
            in_row = j in np.argsort(-S[i])[:3]
            in_column = i in np.argsort(-S[:, j])[:3]
            expected[i, j] = in_row and in_column
    tensors = map(torch.from_numpy, (H, other))
    found = u.mutual_neighbors(u.cosines(*tensors), 3, same_rows=same_rows)
    np.testing.assert_array_equal(found, expected)


@heavy
@pytest.mark.parametrize("same_rows", [False, True])
def test_graph_loss_is_a_mean_over_neighbours_and_rows(torch, same_rows):
    S = draw(8, 8)
    positive = (draw(8, 8, seed=1) > 0.5) & ~np.eye(8, dtype=bool)
    positive[2] = False
    terms = []
    for i in np.flatnonzero(positive.any(axis=1)):
        compared = [j for j in range(8) if not (same_rows and j == i)]
        shares = dict(zip(compared, log_softmax(S[i, compared] / 0.5), strict=True))
        terms.append(-np.mean([shares[j] for j in np.flatnonzero(positive[i])]))
    tensors = map(torch.from_numpy, (S, positive))
    found = u.graph_loss(*tensors, 0.5, same_rows=same_rows)
    assert float(found) == pytest.approx(np.mean(terms))
    nobody = torch.zeros(8, 8, dtype=bool)
    assert u.graph_loss(torch.from_numpy(S), nobody, 0.5, same_rows=same_rows) == 0


@heavy
def test_gradients_are_right(torch):
    H = torch.from_numpy(draw(6, 3)).requires_grad_()
    C = torch.from_numpy(draw(2, 3, seed=1)).requires_grad_()
    assigned = torch.tensor([0, 1, 1, 0, 1, 0])

    def graph(H):
        S = u.cosines(H, H)
        near = u.mutual_neighbors(S.detach(), 2, same_rows=True)
        return u.graph_loss(S, near, 0.5, same_rows=True)

    assert torch.autograd.gradcheck(graph, H)
    assert torch.autograd.gradcheck(
        lambda H, C: u.prototype_loss(H, C, assigned, 0.5), (H, C)
    )
    assert torch.autograd.gradcheck(
        lambda H: u.semantic_loss([u.soft_clusters(H, C.detach(), 0.5)], 1.0), H
    )


@heavy
def test_sharpening_pulls_towards_the_squared_shares(torch):
    H, C = draw(10, 4), draw(3, 4, seed=1)
    near = 1 / (1 + cdist(H, C) ** 2)
    q = near / near.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        u.student_clusters(*map(torch.from_numpy, (H, C))), q, atol=1e-12
    )
    weights = q**2 / q.sum(axis=0)
    p = weights / weights.sum(axis=1, keepdims=True)
    expected = np.mean([entropy(a, b) for a, b in zip(p, q, strict=True)])
    assert float(u.sharpening_loss(torch.from_numpy(q))) == pytest.approx(expected)


@heavy
def test_prototype_loss(torch):
    H, C, assigned = draw(7, 4), draw(3, 4, seed=1), np.array([0, 2, 1, 1, 0, 2, 2])
    shares = log_softmax(cosine(H, C) / 0.5, axis=1)
    expected = -np.mean(shares[np.arange(7), assigned])
    found = u.prototype_loss(*map(torch.from_numpy, (H, C, assigned)), 0.5)
    assert float(found) == pytest.approx(expected)


@heavy
def test_cpmn_adds_up_all_pairs_of_views(torch):
    model = CPMN(3, lam=0.3, gamma=0.2, n_neighbors=2, temperature=0.5)
    latents = [torch.from_numpy(draw(8, 4, seed=i)) for i in range(3)]
    total = 0.0
    for i, H in enumerate(latents):
        for j, other in enumerate(latents):
            S = u.cosines(H, other)
            near = u.mutual_neighbors(S, 2, same_rows=i == j)
            total += 0.3 * float(u.graph_loss(S, near, 0.5, same_rows=i == j))
    assert float(model._graph_losses(latents)) == pytest.approx(total)
    prototypes = [torch.from_numpy(draw(3, 4, seed=9 + i)) for i in range(3)]
    total = 0.0
    for i, H in enumerate(latents):
        q = u.student_clusters(u.unit(H), prototypes[i])
        total += float(u.sharpening_loss(q))
        for C in prototypes:  # its own view's among them
            total += 0.2 * float(u.prototype_loss(H, C, q.argmax(dim=1), 0.5))
    assert float(model._prototype_losses(latents, prototypes)) == pytest.approx(total)


@heavy
def test_no_pair_is_needed_and_each_view_is_clustered(torch):
    Xs, y = make_blobs(90)
    orders = [np.random.RandomState(i).permutation(90) for i in range(3)]
    shuffled = [X[order] for X, order in zip(Xs, orders, strict=True)]
    model = CPMN(3, **BRIEF, graph_epochs=30, prototype_epochs=10).fit(shuffled)
    for labels, order in zip(model.view_labels_, orders, strict=True):
        assert clustering_scores(y[order], labels)["acc"] >= 0.95
    assert np.isnan(model.alignment_.trust[1:]).all()
    smile = SMILE(3, **BRIEF, epochs=30).fit(shuffled[:2])
    assert clustering_scores(y[orders[0]], smile.labels_)["acc"] >= 0.95
    np.testing.assert_allclose(np.linalg.norm(smile.latents_[1], axis=1), 1, atol=1e-5)


@heavy
def test_smile_evens_the_shares_of_clusters(torch):
    """Its loss spreads views over the centres alike; without it, they lie apart."""
    Xs, _ = make_blobs(90)

    def unevenness(lam):
        model = SMILE(3, lam=lam, **BRIEF, epochs=40).fit(Xs[:2])
        everyone = np.concatenate(model.latents_)
        centers = u.cluster_spherically(everyone, 3, 5, 0)
        assigned = [
            torch.from_numpy(softmax(cosine(H, centers) / 0.1, axis=1))
            for H in model.latents_
        ]
        return float(u.semantic_loss(assigned, 0.0))

    assert unevenness(1.0) < 0.8 * unevenness(0.0)
