import numpy as np
import pytest

from unaligned.kernels.spectral import embed_graph, unit_rows


@pytest.fixture
def graph():
    return np.random.RandomState(0).dirichlet(np.ones(6), size=40)


def test_coordinates_come_from_the_eigenvectors_of_the_row_similarity(graph):
    values, vectors = np.linalg.eigh(graph @ graph.T)
    leading = unit_rows(vectors[:, np.argsort(-values)[:3]])
    found = embed_graph(graph, 3).coordinates
    # Singular vectors have no sign; similarities between rows do not depend on it.
    np.testing.assert_allclose(found @ found.T, leading @ leading.T, atol=1e-8)


def test_folding_in_the_graph_gives_its_own_coordinates(graph):
    embedding = embed_graph(graph, 4)
    np.testing.assert_allclose(
        embedding.fold_in(graph), embedding.coordinates, atol=1e-10
    )


def test_directions_without_extent_are_left_out():
    graph = np.eye(3)[[0, 0, 1, 1]]
    assert embed_graph(graph, 3).coordinates.shape == (4, 2)


def test_a_graph_of_zeros_has_finite_coordinates():
    assert np.isfinite(embed_graph(np.zeros((4, 3)), 2).coordinates).all()


def test_rows_have_unit_length_but_zero_rows_stay():
    lengths = np.linalg.norm(unit_rows(np.array([[2.0, 1.0], [0.0, 0.0]])), axis=1)
    np.testing.assert_allclose(lengths, [1, 0])
