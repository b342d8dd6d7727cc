import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.cross_decomposition import CCA
from sklearn.metrics import adjusted_rand_score

from unaligned.deadline import Deadline
from unaligned.kernels.scaling import unit_rows
from unaligned.partitions.features import nearest_rows, view_features
from unaligned.partitions.kmeans import kmeans
from unaligned.savuc.recipes import (
    RECIPES,
    Space,
    diffusion,
    diffusion_map,
    joint_spaces,
    leading_vectors,
    make_partitions,
    merging,
    neighbor_graph,
    space_of_points,
    view_spaces,
)


def rng(seed=0):
    return np.random.RandomState(seed)


def blobs(n=90, k=3, d=5, spread=0.1, seed=0):
    draw = rng(seed)
    y = np.arange(n) % k
    return draw.normal(size=(k, d))[y] + spread * draw.normal(size=(n, d)), y


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("n", [90, 600])
def test_every_recipe_finds_separated_classes(name, n):
    X, y = blobs(n=n)
    labels = RECIPES[name](space_of_points(X), 3, rng())
    assert labels.dtype == np.intp
    assert adjusted_rand_score(y, labels) == 1


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize(("n", "k"), [(2, 2), (5, 4), (8, 8), (17, 16)])
def test_every_recipe_copes_with_few_rows_and_many_clusters(name, n, k):
    labels = RECIPES[name](space_of_points(rng().normal(size=(n, 3))), k, rng())
    assert labels.shape == (n,)
    assert labels.min() >= 0
    assert labels.max() < k


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_copes_with_equal_rows(name):
    labels = RECIPES[name](space_of_points(np.ones((40, 3))), 5, rng())
    assert {*labels} <= {*range(5)}


def test_graph_is_symmetric_and_counts_neighbors():
    near = nearest_rows(unit_rows(rng().normal(size=(50, 4))))
    expected = np.zeros((50, 50))
    for i, row in enumerate(near):
        expected[i, row] += 0.5
        expected[row, i] += 0.5
    np.testing.assert_allclose(neighbor_graph(near).toarray(), expected)


@pytest.mark.parametrize("n", [60, 500])
@pytest.mark.parametrize("spread", [0.05, 0.8])  # in parts, or of one part
@pytest.mark.parametrize("wanted", [4, 5, 6])  # as many as parts, and more
def test_leading_vectors_are_those_of_the_normalised_graph(n, spread, wanted):
    graph = space_of_points(blobs(n=n, k=4, spread=spread)[0]).graph
    values, vectors = leading_vectors(graph, wanted, rng())
    dense = graph.toarray()
    root = np.sqrt(dense.sum(axis=1))
    normal = dense / root / root[:, None]
    np.testing.assert_allclose(
        values, np.linalg.eigvalsh(normal)[::-1][:wanted], rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(normal @ vectors, vectors * values, atol=5e-3)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(wanted), atol=1e-3)


def test_parts_of_a_graph_are_clusters():
    graph = space_of_points(blobs(n=600, spread=0.02)[0]).graph
    n_parts, parts = connected_components(graph)
    assert n_parts == 3
    labels = diffusion(Space(np.empty((600, 0)), graph), 3, rng())
    assert adjusted_rand_score(parts, labels) == 1


def test_recipes_survive_an_eigensolver_that_gives_up(monkeypatch):
    def gives_up(*args, **kwargs):
        raise ArpackNoConvergence("no", np.empty(0), np.empty((0, 0)))

    X, y = blobs(n=400, spread=0.3)
    monkeypatch.setattr("unaligned.savuc.recipes.eigsh", gives_up)
    assert adjusted_rand_score(y, diffusion(space_of_points(X), 3, rng())) > 0.9


def test_the_pool_has_a_partition_for_every_space_and_recipe():
    X, y = blobs(spread=0.3)
    features = [view_features(X), view_features(X**2)]
    spaces = joint_spaces(features, 0.03) + view_spaces(features[0])
    assert len(spaces) == 6
    pool = make_partitions(spaces, 3, rng())
    assert len(pool) == 6 * len(RECIPES)
    assert min(adjusted_rand_score(y, labels) for labels in pool) > 0.3


def test_the_pool_ends_when_the_time_is_up():
    X, _ = blobs(spread=0.3)
    spaces, times = view_spaces(view_features(X)), iter(range(100))
    pool = make_partitions(spaces, 3, rng(), Deadline(3, lambda: next(times)))
    whole = make_partitions(spaces, 3, rng())
    assert len(pool) == 3
    for some, all_of_them in zip(pool, whole, strict=False):
        np.testing.assert_array_equal(some, all_of_them)
    assert len(make_partitions(spaces, 3, rng(), Deadline(0))) == 1


def test_joint_spaces_hold_points_side_by_side_and_sums_of_graphs():
    draw = rng()
    features = [view_features(draw.normal(size=(60, d))) for d in (4, 6)]
    beside = joint_spaces(features, 0.03)[0]
    points = [of_view.plain.points for of_view in features]
    np.testing.assert_allclose(beside.points, np.hstack(points) / np.sqrt(2), rtol=1e-5)
    graphs = [neighbor_graph(of_view.plain.neighbors) for of_view in features]
    difference = beside.graph - sum(graphs)
    assert abs(difference).max() == 0


def test_shared_directions_are_canonical_correlations():
    draw = rng()
    common = draw.normal(size=(500, 1))
    views = [
        np.hstack([common, 2 * draw.normal(size=(500, 4))]) @ draw.normal(size=(5, 5))
        for _ in range(2)
    ]
    shared = joint_spaces([view_features(X) for X in views], 0.03)[3].points
    scores = CCA(1).fit(*views).transform(*views)
    mean = scores[0][:, 0] + scores[1][:, 0]
    correlation = np.corrcoef(shared[:, 0], np.sign(mean))[0, 1]
    assert abs(correlation) > 0.5


def test_sparse_views_have_spaces_too():
    X = sparse.csr_array(rng().poisson(0.2, size=(50, 300)))
    for space in view_spaces(view_features(X)):
        assert space.graph.shape == (50, 50)


def test_merging_gains_most_modularity_at_every_step():
    space = space_of_points(rng().normal(size=(60, 4)))
    many, draws = 12, rng(3)
    start = kmeans(diffusion_map(space, many, draws), many, draws, 3)
    assert len(np.unique(start)) == many
    graph = space.graph.toarray()
    degrees, total = graph.sum(axis=0), graph.sum()
    gains = graph / total - np.outer(degrees, degrees) / total**2

    def modularity_of(labels):
        return gains[labels[:, None] == labels].sum()

    expected = start.copy()
    while len(names := np.unique(expected)) > 6:
        merged = [
            np.where(expected == b, a, expected)
            for i, a in enumerate(names)
            for b in names[i + 1 :]
        ]
        expected = max(merged, key=modularity_of)
    assert adjusted_rand_score(expected, merging(space, 6, rng(3))) == 1


def test_a_space_computes_its_eigenvectors_once(monkeypatch):
    calls = []

    def counting(*arguments):
        calls.append(arguments[1])
        return leading_vectors(*arguments)

    monkeypatch.setattr("unaligned.savuc.recipes.leading_vectors", counting)
    space = space_of_points(blobs(n=120, spread=0.4)[0])
    expected = leading_vectors(space.graph, 4, rng())
    space.leading(12, rng())
    found = space.leading(4, rng())
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    np.testing.assert_allclose(abs(found[1]), abs(expected[1]), atol=1e-6)
    for k in (6, 4, 2):
        make_partitions([space], k, rng())
    assert calls == [12]
    assert space.leading(200, rng())[1].shape == (120, 120)
