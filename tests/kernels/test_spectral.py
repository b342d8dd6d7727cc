import numpy as np
import pytest

from unaligned.kernels.spectral import embed_graph


@pytest.fixture
def graph():
    return np.random.RandomState(0).dirichlet(np.ones(6), size=40)


@pytest.mark.parametrize("n_components", [1, 3, 6, 9])
def test_vectors_are_those_of_the_singular_value_decomposition(graph, n_components):
    left = np.linalg.svd(graph, full_matrices=False)[0][:, :n_components]
    found = embed_graph(graph, n_components).vectors
    # Singular vectors have no sign.
    np.testing.assert_allclose(np.abs(found), np.abs(left), atol=1e-10)


def test_folding_in_the_graph_gives_its_own_coordinates(graph):
    embedding = embed_graph(graph, 4)
    np.testing.assert_array_equal(embedding.fold_in(graph), embedding.vectors)


def test_directions_without_extent_are_left_out():
    graph = np.eye(3)[[0, 0, 1, 1]]
    assert embed_graph(graph, 3).vectors.shape == (4, 2)


def test_a_graph_of_zeros_has_finite_coordinates():
    assert np.isfinite(embed_graph(np.zeros((4, 3)), 2).vectors).all()


def test_float32_stays_float32(graph):
    assert embed_graph(graph.astype(np.float32), 2).vectors.dtype == np.float32


def test_nothing_is_left_out_but_what_rounding_may_have_put_there():
    # Ten roundings of the largest square, for each of three columns, are 6.7e-15.
    squares = np.array([1, 7e-15, 4e-15])
    for scale in (1e-9, 1.0, 1e9):
        found = embed_graph(scale * np.diag(np.sqrt(squares)), 3).vectors
        np.testing.assert_allclose(np.abs(found), np.eye(3, 2), atol=1e-12)


def test_a_graph_of_zeros_has_one_direction():
    assert embed_graph(np.zeros((4, 3)), 2).vectors.shape == (4, 1)
