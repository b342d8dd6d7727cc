from dataclasses import replace

import numpy as np
import pytest
from related_views import QUICK, measured_views, search_view
from scipy import sparse, stats
from scipy.sparse.csgraph import floyd_warshall
from scipy.spatial.distance import cdist, pdist, squareform

from unaligned.savuc.anchors import (
    centres,
    cosine_distances,
    count_hops,
    quantiles,
    ranks,
    row_distances,
)
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.starts import prepare_view


@pytest.fixture(scope="module")
def view():
    return search_view(measured_views(150)[0])


def rng(seed=0):
    return np.random.RandomState(seed)


def brute_force_distances(points, n_neighbors, n_leading):
    """Hops in a symmetric graph of neighbours, and cosines, pair by pair."""
    m = len(points)
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    apart = cdist(unit, unit)
    np.fill_diagonal(apart, np.inf)
    steps = np.full((m, m), np.inf)
    for i in range(m):
        for j in np.argsort(apart[i])[:n_neighbors]:
            steps[i, j] = steps[j, i] = 1
    hops = floyd_warshall(steps)
    farthest = hops[np.isfinite(hops)].max()
    hops[np.isinf(hops)] = 1.5 * farthest
    cosine = squareform(pdist(points[:, :n_leading], "cosine"))
    return hops / hops.std() + cosine / cosine.std()


@pytest.mark.parametrize("n_leading", [2, 6])
def test_distances_are_hops_and_cosines(n_leading):
    points = rng().normal(size=(60, 6)).astype(np.float32)
    settings = replace(QUICK, n_neighbors=4, n_leading=n_leading)
    found = row_distances(points, settings)
    expected = brute_force_distances(points.astype(float), 4, n_leading)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_pieces_without_a_way_between_them_are_farther_than_what_is_reached():
    points = np.vstack(
        [rng(s).normal(size=(30, 5)) / 9 + at for s, at in ((0, 3), (1, -3))]
    )
    found = row_distances(points, replace(QUICK, n_neighbors=4))
    np.testing.assert_allclose(found, brute_force_distances(points, 4, 5), atol=1e-4)
    assert found[:30, 30:].min() > found[:30, :30].max()


@pytest.mark.parametrize("share", [0.02, 0.06])  # in pieces, and in one
def test_hops_are_those_of_floyd_and_warshall(share):
    # A chain has ways longer than the eight nodes of a byte.
    ways = np.diag(np.ones(29), 1)
    ways[-1, -2] = 1
    table = rng().uniform(size=(75, 75)) < share
    table[:30] = table[:, :30] = 0
    table[:30, :30] = ways
    table[np.arange(30, 75), 31 + np.arange(45) % 44] = True
    found = count_hops(sparse.csr_array(table.astype(float)))
    steps = np.where(table | table.T, 1.0, np.inf)
    np.fill_diagonal(steps, 0)
    np.testing.assert_array_equal(found, floyd_warshall(steps))
    assert found[0, 29] == 29
    assert np.isinf(found[0, 30])


def test_distances_follow_the_shape_of_the_data():
    # A circle: hops along it grow, while the straight line back shortens.
    turn = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn)]).astype(np.float32)
    D = row_distances(circle, QUICK)
    np.testing.assert_allclose(D, D.T, atol=1e-5)
    assert D[0, 50] > D[0, 25] > D[0, 5] > D[0, 1]


def test_cosine_distances_are_those_of_scipy():
    points = rng().normal(size=(20, 4))
    expected = squareform(pdist(points, "cosine"))
    np.testing.assert_allclose(cosine_distances(points), expected, atol=1e-12)


@pytest.mark.parametrize(("n", "n_quantiles"), [(50, 8), (5, 32), (200, 32)])
def test_quantiles_are_those_of_numpy_at_rounded_places(n, n_quantiles):
    distances = rng().uniform(size=(10, n))
    found = quantiles(distances, n_quantiles)
    at = np.geomspace(1 / n, 1, n_quantiles)
    expected = np.quantile(distances, at, axis=1, method="nearest").T
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found[:, -1], distances.max(axis=1))


def test_quantiles_do_not_hang_on_the_order_of_rows():
    distances = rng().uniform(size=(6, 40))
    moved = distances[:, rng(1).permutation(40)]
    np.testing.assert_array_equal(quantiles(distances, 9), quantiles(moved, 9))


def test_ranks_are_those_of_scipy():
    values = rng().normal(size=(30, 4))
    found = ranks(values)
    expected = (stats.rankdata(values, axis=0) - 1) / 29 - 0.5
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_array_equal(ranks(values[:1]), np.full((1, 4), -0.5))
    # Any monotone change of scale leaves them as they are.
    np.testing.assert_array_equal(found, ranks(np.exp(3 * values)))


def test_a_sketch_draws_rows_once_and_as_many_as_it_may():
    geometry = read_geometry(measured_views(90)[0], QUICK.n_directions, rng())
    for n_sketched in (40, 90, 1000):
        settings = replace(QUICK, n_sketched=n_sketched)
        sketch = prepare_view(geometry, settings, rng()).sketch
        size = min(n_sketched, 90)
        assert len(np.unique(sketch.rows)) == len(sketch.rows) == size
        assert sketch.distances.shape == (size, size)
        expected = row_distances(geometry.points[sketch.rows], settings)
        np.testing.assert_array_equal(sketch.distances, expected)
        assert sketch.signatures.shape == (size, 3 * QUICK.n_quantiles)
        assert np.abs(sketch.signatures).max() <= 0.5


def test_signatures_know_no_order_of_rows_and_no_rotation_of_columns():
    X, _ = measured_views(120)
    order = rng(5).permutation(120)
    one, moved = search_view(X).sketch, search_view(X[order]).sketch
    alike = np.abs(one.signatures[order] - moved.signatures).mean()
    assert alike < 0.01 < np.abs(one.signatures - moved.signatures).mean()


def test_centres_sum_up_all_rows(view):
    found = centres(view.geometry, view.whitened, view.sketch, QUICK, rng())
    size = len(found.masses)
    assert 2 <= size <= min(QUICK.n_centres, 150 // 5)
    counts = found.masses * 150
    np.testing.assert_allclose(counts, counts.round(), atol=1e-4)
    np.testing.assert_allclose(counts.sum(), 150, rtol=1e-5)
    # Means of means are means of all, and so for distances and signatures.
    overall = found.masses @ found.means
    np.testing.assert_allclose(overall, view.whitened.mean(axis=0), atol=1e-4)
    overall = found.masses @ found.signatures
    np.testing.assert_allclose(overall, view.sketch.signatures.mean(axis=0), atol=1e-4)
    overall = found.masses @ found.distances @ found.masses
    scale = overall / view.sketch.distances.mean()
    assert scale > 0
    np.testing.assert_allclose(found.distances, found.distances.T, atol=1e-4)


def test_all_rows_place_the_centres_and_those_of_the_sketch_measure_them():
    X = rng().normal(size=(400, 6))
    settings = replace(QUICK, n_sketched=50, n_centres=8)
    view = search_view(X, settings)
    assert len(view.sketch.rows) == 50
    found = centres(view.geometry, view.whitened, view.sketch, settings, rng())
    masses = np.asarray(found.masses) * 400
    np.testing.assert_allclose(masses, masses.round(), atol=1e-3)
    overall = found.masses @ found.means
    np.testing.assert_allclose(overall, view.whitened.mean(axis=0), atol=1e-4)
    assert found.distances.shape == (len(masses), len(masses))


def test_another_random_state_gives_other_centres(view):
    parts = view.geometry, view.whitened, view.sketch, QUICK
    one, again, other = (centres(*parts, rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.means, again.means)
    assert one.means.shape != other.means.shape or (one.means != other.means).any()


@pytest.mark.parametrize("n_distinct", [1, 2, 3])
def test_there_are_no_more_centres_than_distinct_rows(n_distinct):
    X = rng().normal(size=(n_distinct, 4))[np.arange(60) % n_distinct]
    view = search_view(X)
    found = centres(view.geometry, view.whitened, view.sketch, QUICK, rng())
    assert 1 <= len(found.masses) <= n_distinct
    assert np.isfinite(found.distances).all()
