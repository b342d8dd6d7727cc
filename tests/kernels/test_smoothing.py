import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import laplacian
from scipy.sparse.linalg import cg

from unaligned.kernels.smoothing import normalized_adjacency, smooth


@pytest.fixture
def graph():
    """Symmetric weights between 30 nodes, each with some neighbour."""
    rng = np.random.RandomState(0)
    weights = np.triu(rng.uniform(size=(30, 30)) * (rng.uniform(size=(30, 30)) < 0.1))
    weights += np.eye(30, k=1)
    return np.maximum(weights, weights.T) - np.diag(np.diag(weights))


def test_the_laplacian_is_scipys(graph):
    found = np.eye(30) - normalized_adjacency(sparse.csr_array(graph)).toarray()
    np.testing.assert_allclose(found, laplacian(graph, normed=True), atol=1e-14)


def test_a_node_without_edges_and_the_input_are_left_alone(graph):
    graph[:, 4] = graph[4] = 0
    given = sparse.csr_array(graph)
    found = normalized_adjacency(given).toarray()
    assert np.isfinite(found).all()
    assert (found[4] == 0).all()
    np.testing.assert_array_equal(given.toarray(), graph)


@pytest.mark.parametrize("strength", [0, 0.1, 1, 10, 1e4])
def test_smoothing_solves_the_linear_system(graph, strength):
    signals = np.random.RandomState(1).normal(size=(30, 4))
    system = np.eye(30) + strength * laplacian(graph, normed=True)
    found = smooth(normalized_adjacency(sparse.csr_array(graph)), signals, strength)
    np.testing.assert_allclose(found, np.linalg.solve(system, signals), atol=1e-6)


def test_signals_do_not_disturb_each_other(graph):
    S = normalized_adjacency(sparse.csr_array(graph))
    degrees = graph.sum(axis=1)
    noise = np.random.RandomState(1).normal(size=30)
    # Zeros are solved before the first step, √degree after it, noise much later.
    signals = np.column_stack([np.zeros(30), np.sqrt(degrees), noise])
    found = smooth(S, signals, 5)
    np.testing.assert_array_equal(found[:, 0], 0)
    np.testing.assert_allclose(found[:, 1], signals[:, 1])
    np.testing.assert_allclose(found[:, 2:], smooth(S, signals[:, 2:], 5), atol=1e-7)


@pytest.mark.parametrize("strength", [0, 1, 100])
def test_float32_stays_and_the_input_is_not_touched(graph, strength):
    S = normalized_adjacency(sparse.csr_array(graph))
    signals = np.random.RandomState(1).normal(size=(30, 2)).astype(np.float32)
    before = signals.copy()
    found = smooth(S, signals, strength)
    assert found.dtype == np.float32
    exact = smooth(S, signals.astype(np.float64), strength)
    np.testing.assert_allclose(found, exact, atol=1e-4)
    np.testing.assert_array_equal(signals, before)


class Counted:
    """A graph that counts how often it is asked."""

    def __init__(self, adjacency):
        self.adjacency, self.count = adjacency, 0

    def astype(self, dtype, copy):
        return self

    def __matmul__(self, signals):
        self.count += 1
        return self.adjacency @ signals


@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_it_stops_where_scipys_conjugate_gradients_do(graph, tol):
    S = Counted(normalized_adjacency(sparse.csr_array(graph)))
    signal = np.random.RandomState(1).normal(size=30)
    smooth(S, signal[:, None], 10, tol=tol)
    steps = []
    system = np.eye(30) + 10 * laplacian(graph, normed=True)
    cg(system, signal, rtol=tol, callback=steps.append)
    assert S.count == len(steps)


def test_nothing_to_smooth_takes_no_step(graph):
    S = Counted(normalized_adjacency(sparse.csr_array(graph)))
    smooth(S, np.zeros((30, 2)), 10)
    assert S.count == 0


@pytest.mark.parametrize("strength", [0.5, 4])
def test_what_is_no_graph_ends_after_twice_the_steps_of_theory(strength):
    S = Counted(np.array([[0.0, 1.0], [-1.0, 0.0]]))  # not symmetric: never solved
    smooth(S, np.array([[1.0], [0.5]]), strength, tol=1e-8)
    theory = np.sqrt(1 + 2 * strength) / 2 * np.log(2 / 1e-8)
    assert S.count == np.ceil(2 * theory)
