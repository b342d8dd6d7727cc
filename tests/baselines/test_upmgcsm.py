"""UPMGC-SM's formulas against general computations and the literal loops."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from tests.conftest import make_blobs
from unaligned.baselines import UPMGCSM, upmgcsm
from unaligned.baselines.upmgcsm import (
    Match,
    bytes_needed,
    embed_affinity,
    fuse_graphs,
    match_view,
    match_views,
    partners,
    weigh_views,
)
from unaligned.datasets import unalign
from unaligned.kernels import memory
from unaligned.kernels.graph_matching import match_graphs
from unaligned.known_pairs import KnownPairs
from unaligned.metrics import clustering_scores

NONE = np.array([], dtype=np.intp)


def graph(seed, n):
    edges = np.random.RandomState(seed).uniform(size=(n, n)) ** 3
    np.fill_diagonal(edges, 0)
    return (edges + edges.T).astype(np.float32)


def permutation_matrix(matched):
    P = np.zeros((len(matched), len(matched)))
    P[matched, np.arange(len(matched))] = 1
    return P


def test_the_template_has_the_smallest_error_and_the_largest_weight():
    errors = np.array([2.0, 0.5, 1.0])
    weights, template = weigh_views([graph(i, 4) for i in range(3)], errors)
    np.testing.assert_allclose(weights, [(0.5 / 3.5) ** 2, (2 / 3.5) ** 2, 3.5**-2])
    assert template == 1


def test_a_view_without_edges_is_no_template():
    errors, empty = np.array([0.0, 0.5]), np.zeros((4, 4))
    weights, template = weigh_views([empty, graph(0, 4)], errors)
    np.testing.assert_allclose(weights, [0, 1])
    assert template == 1
    weights, template = weigh_views([empty, empty], errors)
    assert template == 0
    assert np.isfinite(weights).all()


def test_without_known_pairs_graphs_are_matched_as_they_are():
    template, other = graph(0, 9), graph(1, 9)
    match = match_view(template, other, (NONE, NONE), "argmax")
    expected = match_graphs(template, other, start=1 / 9)
    np.testing.assert_array_equal(match.matched, expected)
    np.testing.assert_array_equal(match.beside, range(9))


@pytest.mark.parametrize("how", ["argmax", "greedy", "optimal"])
def test_shuffled_rows_are_found_again(how):
    template = graph(0, 12)
    order = np.random.RandomState(1).permutation(12)
    match = match_view(template, template[np.ix_(order, order)], (NONE, NONE), how)
    np.testing.assert_array_equal(match.matched[np.argsort(match.beside)], order)


def test_known_pairs_stay_together_and_guide_the_others():
    """Rows without edges among each other are told apart by those to known rows."""
    rng = np.random.RandomState(2)
    template = np.zeros((12, 12), dtype=np.float32)
    template[:6, 6:] = rng.uniform(size=(6, 6)) ** 4
    template += template.T
    order = rng.permutation(12)
    other = template[np.ix_(order, order)]
    known = np.flatnonzero(order < 6)
    match = match_view(template, other, (known, order[known]), "optimal")
    np.testing.assert_array_equal(match.beside[order[known]], known)
    np.testing.assert_array_equal(match.matched[:6], range(6))
    np.testing.assert_array_equal(match.confidence[:6], 1)
    truth = order[match.beside]
    np.testing.assert_array_equal(match.matched, truth)


def test_the_block_of_unknown_rows_has_the_gradient_of_the_whole_problem():
    """Tr(S_t P S_i Pᵀ)/2 with P = diag(I, X): its gradient in X, by differences."""
    template, other = (graph(s, 7).astype(np.float64) for s in (0, 1))
    X = np.random.RandomState(3).uniform(size=(4, 4))

    def value(X):
        P = np.eye(7)
        P[3:, 3:] = X
        return np.trace(template @ P @ other @ P.T) / 2

    affinity = template[3:, :3] @ other[:3, 3:]
    expected = template[3:, 3:] @ X @ other[3:, 3:] + affinity
    for a, b in np.ndindex(4, 4):
        step = np.zeros((4, 4))
        step[a, b] = 1e-5
        slope = (value(X + step) - value(X - step)) / 2e-5
        np.testing.assert_allclose(slope, expected[a, b], rtol=1e-6)
    # … and that is what is matched, for known pairs in any rows.
    match = match_view(template, other, (np.arange(3), np.arange(3)), "argmax")
    rows = match_graphs(template[3:, 3:], other[3:, 3:], affinity, start=1 / 4)
    np.testing.assert_array_equal(match.matched, [0, 1, 2, *(rows + 3)])


def test_everything_known_leaves_nothing_to_match():
    order = np.random.RandomState(4).permutation(8)
    match = match_view(graph(0, 8), graph(1, 8), (order, np.arange(8)), "argmax")
    np.testing.assert_array_equal(match.beside, order)
    np.testing.assert_array_equal(match.matched, range(8))


def test_threads_change_nothing(monkeypatch):
    graphs = [graph(seed, 15) for seed in range(5)]
    nothing = KnownPairs([np.full(15, -1)] * 5)
    together = match_views(graphs, 2, nothing, "argmax")
    monkeypatch.setattr(upmgcsm, "threadpool_info", lambda: [])
    alone = match_views(graphs, 2, nothing, "argmax")
    for one, other in zip(together, alone, strict=True):
        for part, same in zip(one, other, strict=True):
            np.testing.assert_allclose(part, same, rtol=1e-5)
    np.testing.assert_array_equal(alone[2].matched, range(15))


def test_fused_graphs_are_those_of_the_paper_and_of_the_program():
    graphs = [graph(seed, 5).astype(np.float64) for seed in range(2)]
    same = Match(np.arange(5), np.arange(5), np.ones(5))
    beside, matched = np.array([4, 0, 1, 2, 3]), np.array([1, 1, 3, 0, 1])
    matches = [same, Match(beside, matched, np.ones(5))]
    P, moved = permutation_matrix(matched), graphs[1][np.ix_(beside, beside)]
    for orientation, expected in (
        ("paper", 0.7 * graphs[0] + 0.2 * P @ moved @ P.T),
        ("code", 0.7 * graphs[0] + 0.2 * P.T @ moved @ P),
    ):
        fused = fuse_graphs(graphs, np.array([0.7, 0.2]), matches, orientation)
        np.testing.assert_allclose(fused, expected)
        np.testing.assert_allclose(fused, fused.T)


def test_embedding_is_that_of_the_leading_eigenvectors():
    affinity = graph(0, 10).astype(np.float64)
    scale = np.diag(affinity.sum(axis=0) ** -0.5)
    vectors = np.linalg.eigh(scale @ affinity @ scale)[1][:, [9, 8, 7]]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    embedding = embed_affinity(affinity, 3)
    # Eigenvectors have no sign: inner products of rows tell all there is.
    np.testing.assert_allclose(embedding @ embedding.T, vectors @ vectors.T, atol=1e-9)


def test_rows_without_edges_do_no_harm():
    affinity = np.zeros((4, 4))
    affinity[0, 1] = affinity[1, 0] = 1
    assert np.isfinite(embed_affinity(affinity, 2)).all()
    assert np.isfinite(embed_affinity(0 * affinity, 4)).all()


def test_the_most_confident_of_several_partners_is_kept():
    match = Match(
        np.array([3, 0, 1, 2]), np.array([2, 0, 0, 2]), np.array([0.5, 0.1, 0.4, 0.2])
    )
    partner, confidence = partners(match)
    np.testing.assert_array_equal(partner, [1, -1, 3, -1])
    np.testing.assert_array_equal(confidence, [0.4, 0, 0.5, 0])


@pytest.mark.parametrize("matching", ["argmax", "greedy", "optimal"])
def test_alignment_and_labels_tell_the_same_story(blobs, matching):
    shuffled = unalign(blobs[0], random_state=0)
    model = UPMGCSM(3, matching=matching, random_state=0).fit(shuffled.Xs)
    t, alignment = model.template_, model.alignment_
    np.testing.assert_array_equal(alignment.permutations[t], range(60))
    np.testing.assert_array_equal(alignment.known, np.arange(3) == t)
    for labels, rows in zip(model.view_labels_, alignment.permutations, strict=True):
        found = rows >= 0
        np.testing.assert_array_equal(labels[rows[found]], model.view_labels_[t][found])
        assert matching == "argmax" or found.all()
    for i, confidence in enumerate(alignment.confidence):
        assert (confidence[alignment.permutations[i] < 0] == 0).all()


def test_known_pairs_in_any_order():
    Xs, y = make_blobs(n=90)
    shuffled = unalign(Xs, y, random_state=0)
    where = [np.argsort(order) for order in shuffled.order]
    pairs = {(0, i): np.column_stack([where[0], where[i]])[:60] for i in (1, 2)}
    for orientation in ("code", "paper"):
        model = UPMGCSM(3, orientation=orientation, random_state=0)
        model.fit(shuffled.Xs, aligned=pairs)
        t = model.template_
        np.testing.assert_allclose(
            model.alignment_.known, np.where(np.eye(3)[t], 1, 2 / 3)
        )
        for i in range(3):
            rows = model.alignment_.permutations[i][where[t][:60]]
            np.testing.assert_array_equal(rows, where[i][:60])
            hits = clustering_scores(shuffled.ys[i], model.view_labels_[i])["acc"]
            assert hits >= (0.95 if i == t else 0.6)


def test_orientations_differ_unless_all_is_known(blobs):
    Xs = unalign(blobs[0], random_state=0).Xs
    for aligned, same in ((None, False), ("all", True)):
        code, paper = (
            UPMGCSM(3, orientation=o, random_state=0).fit(Xs, aligned=aligned)
            for o in ("code", "paper")
        )
        assert np.allclose(code.affinity_, paper.affinity_) == same


@pytest.mark.parametrize("learner", ["lsr", "gmc"])
def test_both_learners_find_separated_classes(learner, blobs):
    model = UPMGCSM(3, learner=learner, random_state=0).fit(blobs[0], aligned="all")
    assert clustering_scores(blobs[1], model.labels_)["acc"] >= 0.95
    assert [g.dtype for g in model.view_graphs_] == [np.float32] * 3


def test_sparse_views_give_the_same_graphs(blobs):
    Xs = [np.where(np.abs(X) > 1, X, 0) for X in blobs[0]]
    dense = UPMGCSM(3, random_state=0).fit(Xs)
    thin = UPMGCSM(3, random_state=0).fit([sparse.csr_array(X) for X in Xs])
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.view_errors_, thin.view_errors_)


@pytest.mark.parametrize("learner", ["lsr", "gmc"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (3, 1), (6, 6)])
def test_few_rows(n, k, learner):
    rng = np.random.RandomState(5)
    Xs = [rng.normal(size=(n, 4)), np.ones((n, 2)), np.zeros((n, 1))]
    model = UPMGCSM(k, learner=learner, random_state=0).fit(Xs)
    assert all(len(labels) == n for labels in model.view_labels_)
    # A view of zeros is explained without error, but has no edges.
    assert n == 1 or model.template_ != 2


@pytest.mark.parametrize("learner", ["lsr", "gmc"])
@pytest.mark.parametrize(("n_views", "aligned"), [(1, None), (3, None), (3, 100)])
def test_no_more_memory_is_taken_than_asked_for(learner, n_views, aligned, monkeypatch):
    monkeypatch.setattr(upmgcsm, "threadpool_info", lambda: [])  # one at a time
    Xs = list(np.random.RandomState(6).normal(size=(n_views, 250, 5)))
    model = UPMGCSM(3, learner=learner, matching="greedy", n_init=1, random_state=0)
    model.fit([X[:10] for X in Xs])  # compile first
    tracemalloc.start()
    model.fit(Xs, aligned=aligned)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= bytes_needed(250, n_views, learner) <= 2 * peak


def test_memory_is_asked_for_first(blobs, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e5)
    with pytest.raises(MemoryError) as caught:
        UPMGCSM(3).fit(blobs[0])
    for words in ("60 rows", "3 views", "0.1 MB are free", "sample", "PAVuC"):
        assert words in str(caught.value)


def test_little_memory_means_one_view_at_a_time(blobs, monkeypatch):
    sizes = []
    pool = upmgcsm.ThreadPoolExecutor
    monkeypatch.setattr(
        upmgcsm, "ThreadPoolExecutor", lambda size: (sizes.append(size), pool(size))[1]
    )
    for free in (bytes_needed(60, 3, "lsr"), np.inf):
        monkeypatch.setattr(upmgcsm, "available_bytes", lambda free=free: free)
        UPMGCSM(3).fit(blobs[0])
    assert 1 <= sizes[0] <= sizes[1] <= 2
