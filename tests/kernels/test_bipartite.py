import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from unaligned.kernels.bipartite import (
    bipartite_components,
    embed_bipartite,
    split_graph,
)


def random_graph(seed=0, n=9, m=5):
    rng = np.random.RandomState(seed)
    return rng.uniform(size=(n, m)) * (rng.uniform(size=(n, m)) < 0.6)


def block_affinity(seed=0, n=30, m=9, k=3, noise=0.3):
    """Samples and anchors in k groups, with weaker affinities across."""
    rng = np.random.RandomState(seed)
    samples, anchors = np.arange(n) % k, np.arange(m) % k
    same = samples[:, None] == anchors
    return np.where(same, 1.0, noise) * rng.uniform(0.5, 1, size=(n, m)), samples


def by_spreading(graph):
    """Pieces found by letting every row hand its number on until nothing changes."""
    piece = np.arange(len(graph))
    while True:
        spread = piece.copy()
        for column in graph.T:
            if column.any():
                spread[column > 0] = spread[column > 0].min()
        if (spread == piece).all():
            return piece
        piece = spread


def same_partition(one, other):
    return ((one[:, None] == one) == (other[:, None] == other)).all()


def node_laplacian(graph):
    """Normalised Laplacian of all n + m nodes, and their degrees."""
    n, m = graph.shape
    adjacency = np.block([[np.zeros((n, n)), graph], [graph.T, np.zeros((m, m))]])
    degrees = adjacency.sum(axis=1)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1))
    return np.diag((degrees > 0) * 1.0) - adjacency / np.outer(roots, roots), roots


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("r", [1, 3, 5])
def test_embedding_spans_the_smallest_eigenvectors_of_the_laplacian(seed, r):
    graph = random_graph(seed)
    laplacian, roots = node_laplacian(graph)
    embedding = embed_bipartite(graph, r)
    nodes = np.vstack([embedding.rows, embedding.columns]) * roots[:, None]
    np.testing.assert_allclose(nodes.T @ nodes, np.eye(r), atol=1e-9)
    lowest = np.linalg.eigvalsh(laplacian)[:r]
    energy = np.diag(nodes.T @ laplacian @ nodes)
    np.testing.assert_allclose(energy, lowest, atol=1e-9)
    kept = min(r + 1, 5)
    expected = (1 - np.linalg.eigvalsh(laplacian)[:kept]) ** 2
    np.testing.assert_allclose(embedding.eigenvalues, expected, atol=1e-9)


def test_nodes_without_edges_sit_at_the_origin():
    graph = random_graph()
    graph[2], graph[:, 3] = 0, 0
    embedding = embed_bipartite(graph, 4)
    assert not embedding.rows[2].any()
    assert not embedding.columns[3].any()
    assert np.isfinite(embedding.rows).all()


@given(arrays(np.float64, (7, 5), elements=st.sampled_from([0.0, 0.0, 0.0, 1.0])))
def test_components_agree_with_spreading(graph):
    labels = bipartite_components(graph)
    assert same_partition(labels, by_spreading(graph))
    np.testing.assert_array_equal(np.unique(labels), np.arange(labels.max() + 1))


def nearest_weights(target):
    """Nearest point of the simplex; its shift is the root of a monotone function."""
    low, high = target.min() - 1, target.max()
    shift = brentq(lambda t: np.maximum(target - t, 0).sum() - 1, low, high, xtol=1e-14)
    return np.maximum(target - shift, 0)


def step_by_step(affinity, graph, k, pull, n_steps):
    """The same search, node by node, with eigenvectors of the whole Laplacian."""
    n = len(affinity)
    for _ in range(n_steps):
        laplacian, roots = node_laplacian(graph)
        nodes = np.linalg.eigh(laplacian)[1][:, :k] / roots[:, None]
        by_row, by_column = np.zeros_like(affinity), np.zeros_like(affinity)
        distances = np.sum((nodes[:n, None] - nodes[None, n:]) ** 2, axis=2)
        target = affinity - pull / 2 * distances
        for i, allowed in enumerate(affinity > 0):
            by_row[i, allowed] = nearest_weights(target[i, allowed])
        for j, allowed in enumerate(affinity.T > 0):
            by_column[allowed, j] = nearest_weights(target[allowed, j])
        graph = (by_row + by_column) / 2
        pieces = len(np.unique(by_spreading(graph)))
        if pieces == k:
            break
        pull *= 2 if pieces < k else 0.5
    return by_row


@pytest.mark.parametrize("n_steps", [1, 2, 3, 8])
def test_agrees_with_a_search_node_by_node(n_steps):
    rng = np.random.RandomState(1)
    affinity = block_affinity(k=2)[0] + 0.2 * rng.normal(size=(30, 9))
    start = rng.uniform(size=(30, 9))
    graph = split_graph(affinity, start, 3, pull=0.8, max_iter=n_steps).graph
    expected = step_by_step(affinity, start, 3, 0.8, n_steps)
    np.testing.assert_allclose(graph, expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_groups_of_a_noisy_affinity_are_found(seed):
    affinity, samples = block_affinity(seed)
    graph, labels = split_graph(affinity, affinity, 3)
    assert same_partition(labels, samples)
    assert same_partition(labels, by_spreading(graph))
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    assert (graph >= 0).all()


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_as_many_pieces_as_wanted(k):
    affinity, _ = block_affinity(n=40, m=9, k=9)
    assert split_graph(affinity, affinity, k).labels.max() + 1 == k


def test_a_pull_that_tears_the_graph_too_far_is_lowered():
    affinity, _ = block_affinity(k=5)
    torn = split_graph(affinity, affinity, 3, pull=1e5, max_iter=1)
    mended = split_graph(affinity, affinity, 3, pull=1e5)
    assert torn.labels.max() + 1 > 3
    assert mended.labels.max() + 1 == 3


def test_weights_stay_where_the_affinity_is_positive():
    affinity = np.random.RandomState(0).normal(size=(30, 6))
    affinity[4] = [-3, -1, -2, -5, -4, -6]
    affinity[7] = 0
    graph = split_graph(affinity, np.ones((30, 6)), 2).graph
    np.testing.assert_allclose(graph[4], [0, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(graph[7], [1, 0, 0, 0, 0, 0])
    others = np.delete(np.arange(30), [4, 7])
    assert not graph[others][affinity[others] <= 0].any()


def test_anchors_that_nobody_uses_do_no_harm():
    affinity, samples = block_affinity()
    affinity[:, 8] = -1
    start = affinity.clip(0)
    graph, labels = split_graph(affinity, start, 3)
    assert not graph[:, 8].any()
    assert same_partition(labels, samples)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keeps_the_dtype_and_its_input(dtype):
    affinity, samples = block_affinity()
    affinity = affinity.astype(dtype)
    before = affinity.copy()
    graph, labels = split_graph(affinity, affinity, 3)
    assert graph.dtype == dtype
    assert same_partition(labels, samples)
    np.testing.assert_array_equal(affinity, before)


def test_the_first_pull_is_gentle():
    affinity, _ = block_affinity()
    found, told, other = (
        split_graph(affinity, affinity, 3, max_iter=1, **pull).graph
        for pull in ({}, {"pull": 0.1}, {"pull": 1.1})
    )
    np.testing.assert_array_equal(found, told)
    assert np.abs(found - other).max() > 1e-5
