import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from unaligned.deadline import Deadline
from unaligned.kernels.scaling import unit_rows
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.features import view_features
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.scores import draw_halves, predictability
from unaligned.savuc import consensus as module
from unaligned.savuc.config import Settings
from unaligned.savuc.consensus import (
    cluster_view,
    consensus,
    consensus_rows,
    fuse_views,
    joint_score,
)
from unaligned.savuc.recipes import RECIPES, joint_spaces, view_spaces


def rng(seed=0):
    return np.random.RandomState(seed)


def make_blobs(n=90, k=3, widths=(5, 4, 6), spread=0.3, seed=0):
    draw = rng(seed)
    y = np.arange(n) % k
    Xs = [3 * draw.normal(size=(k, d))[y] for d in widths]
    return [X + spread * draw.normal(size=X.shape) for X in Xs], y


def complementary(n=300, seed=0):
    """Two views of four classes: one tells 0, 1 from 2, 3, the other 0, 2 from 1, 3."""
    draw = rng(seed)
    y = np.arange(n) % 4
    Xs = []
    for side in (y // 2, y % 2):
        X = draw.normal(size=(n, 10))
        X[:, 0] += 8 * side
        X[:, 1] -= 8 * side
        Xs.append(X)
    return Xs, y


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_separated_classes_are_found(kind):
    Xs, y = make_blobs()
    assert clustering_accuracy(y, fuse_views([*map(kind, Xs)], 3, rng())[0]) == 1
    for X in Xs:
        labels, quality = cluster_view(kind(X), 3, rng())
        assert clustering_accuracy(y, labels) == 1
        assert quality > 0.9


def test_views_that_complement_each_other_are_better_together():
    Xs, y = complementary()
    together = clustering_accuracy(y, fuse_views(Xs, 4, rng())[0])
    alone = [clustering_accuracy(y, cluster_view(X, 4, rng())[0]) for X in Xs]
    assert together > 0.9  # 0.92 to 0.99 over draws
    assert max(alone) < 0.75


def test_quality_prefers_the_view_that_shows_classes():
    Xs, _ = make_blobs()
    noise = rng(1).normal(size=(90, 5))
    assert cluster_view(Xs[0], 3, rng())[1] > cluster_view(noise, 3, rng())[1] + 0.1


def test_one_view_is_clustered_by_the_consensus_of_what_recipes_make_of_it():
    X = make_blobs(n=200, k=4, spread=2)[0][0]
    labels, quality = cluster_view(X, 4, rng())
    features = view_features(X, 15)
    pool = [
        recipe(space, 4, rng(seed))
        for space in view_spaces(features)
        for seed, recipe in enumerate(RECIPES.values())
    ]
    members = np.hstack([np.eye(4)[p] / np.sqrt(np.bincount(p)) for p in pool])
    left, s, _ = np.linalg.svd(members, full_matrices=False)
    expected = KMeans(4, n_init=10, random_state=0).fit_predict(
        unit_rows(left[:, :4] * s[:4])
    )
    assert adjusted_rand_score(expected, labels) > 0.9
    assert max(adjusted_rand_score(p, labels) for p in pool) < 1
    halves = [draw_halves(200, rng(seed)) for seed in range(50)]
    told = [predictability(features, labels, 4, half) for half in halves]
    assert min(told) <= quality <= max(told)


def test_partitions_of_one_view_are_not_scored(monkeypatch):
    monkeypatch.setattr(module, "joint_score", None)  # as all of them are kept
    assert len({*cluster_view(make_blobs()[0][0], 3, rng())[0]}) == 3


def test_the_same_seed_gives_the_same_labels():
    Xs, _ = make_blobs(n=400, k=4, spread=3)
    one, other = (fuse_views(Xs, 4, rng(5))[0] for _ in range(2))
    assert (one == other).all()
    (one, q1), (other, q2) = (cluster_view(Xs[0], 4, rng(5)) for _ in range(2))
    assert (one == other).all()
    assert q1 == q2


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_more_rows_than_are_worked_on(kind, monkeypatch):
    monkeypatch.setattr("unaligned.savuc.consensus.N_ROWS", 120)
    Xs, y = complementary(n=1000)
    views = [*map(kind, Xs)]
    assert clustering_accuracy(y, fuse_views(views, 4, rng())[0]) > 0.9
    labels, _ = cluster_view(kind(make_blobs(n=1000)[0][0]), 3, rng())
    assert clustering_accuracy(np.arange(1000) % 3, labels) > 0.99


def test_beyond_fifteen_hundred_rows():
    Xs, y = make_blobs(n=1700, widths=(4, 3))
    labels = fuse_views(Xs, 3, rng())[0]
    assert labels.shape == (1700,)
    assert clustering_accuracy(y, labels) > 0.99


@pytest.mark.parametrize(
    ("n", "k", "wanted"),
    [(2500, 10, 2500), (4000, 10, 2500), (4000, 251, 2510), (4000, 300, 3000)],
)
def test_rows_to_work_on_are_2500_or_ten_for_every_cluster(n, k, wanted):
    drawn = module.draw_rows(n, k, rng())
    assert len({*drawn}) == len(drawn) == wanted
    assert (np.diff(drawn) > 0).all()
    assert drawn[0] >= 0
    assert drawn[-1] < n
    if n > wanted:  # not the first ones
        assert drawn[-1] > wanted


def test_joint_score_is_a_mean_over_views():
    Xs, y = make_blobs(spread=4)
    half = draw_halves(len(y), rng())
    features = [view_features(X) for X in Xs]
    q = np.array([predictability(of_view, y, 3, half) for of_view in features])
    expected = np.mean(np.log(q))
    assert joint_score(features, y, 3, half) == pytest.approx(expected)


def shuffled_consensus(partitions, n_clusters):
    """Consensus of partitions whose rows come in another order."""
    order = rng().permutation(len(partitions[0]))
    found = np.empty(len(order), dtype=int)
    found[order] = consensus(np.column_stack(partitions)[order], n_clusters, rng())
    return found


def test_consensus_leaves_a_large_class_whole_that_recipes_split_anywhere():
    draw = rng()
    y = np.repeat([0, 1, 2], [300, 40, 40])
    along = draw.uniform(size=380)
    partitions = [  # where the large class is split, the small ones are merged
        np.where(y == 0, along < cut, 2) for cut in (0.2, 0.4, 0.6, 0.8)
    ]
    for _ in range(5):  # the others are right but for one row in five
        partitions.append(np.where(draw.uniform(size=380) < 0.8, y, draw.randint(3)))
    found = shuffled_consensus(partitions, 3)
    assert adjusted_rand_score(y, found) == 1


def test_quality_of_fused_views_is_comparable_with_that_of_one():
    Xs, _ = make_blobs(spread=0.1)
    noise = [rng(s).normal(size=(90, 5)) for s in range(2)]
    dim, clear = fuse_views(noise, 3, rng())[1], fuse_views(Xs, 3, rng())[1]
    assert dim < cluster_view(Xs[0], 3, rng())[1] <= clear == 0.99


def test_consensus_outvotes_errors():
    y = np.repeat(np.arange(4), 25)
    draw = rng()
    partitions = []
    for _ in range(7):
        noisy = np.where(draw.uniform(size=100) < 0.2, draw.randint(4, size=100), y)
        partitions.append(draw.permutation(4)[noisy])
    assert max(adjusted_rand_score(y, p) for p in partitions) < 0.85
    assert adjusted_rand_score(y, shuffled_consensus(partitions, 4)) > 0.95


def test_consensus_of_one_opinion_is_that_opinion():
    y = np.arange(30) % 3
    swapped = np.array([2, 0, 1])[y]
    assert adjusted_rand_score(y, shuffled_consensus([y, swapped, y], 3)) == 1


def test_consensus_is_that_of_most_partitions():
    one = np.repeat([0, 1, 2], 20)
    other = np.tile([0, 1, 2], 20)
    rows = consensus_rows(np.column_stack([one, 2 - one, one, other]), 3)
    assert clustering_accuracy(one, kmeans(rows, 3, rng(), 5)) == 1


def test_consensus_is_the_singular_vectors_of_memberships():
    partitions = [rng(s).randint(k, size=50) for s, k in enumerate((3, 4, 5))]
    H = np.hstack(
        [np.eye(p.max() + 1)[p] / np.sqrt(np.bincount(p)) for p in partitions]
    )
    left, s, _ = np.linalg.svd(H, full_matrices=False)
    expected = unit_rows(left[:, :3] * s[:3])
    found = consensus_rows(np.column_stack(partitions), 3)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)


@pytest.mark.parametrize(
    ("n", "k"), [(1, 1), (1, 3), (2, 2), (5, 1), (5, 4), (8, 8), (14, 13), (17, 30)]
)
def test_few_rows_and_many_clusters(n, k):
    views = [rng(0).normal(size=(n, 3)), sparse.csr_array(rng(1).normal(size=(n, 2)))]
    for labels in (fuse_views(views, k, rng())[0], cluster_view(views[0], k, rng())[0]):
        assert labels.shape == (n,)
        assert labels.dtype == np.intp
        assert labels.min() >= 0
        assert labels.max() < k


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("case", ["equal", "empty", "few distinct", "one column"])
def test_degenerate_views(case, kind):
    views = {
        "equal": [np.ones((40, 3)), np.ones((40, 2))],
        "empty": [np.zeros((40, 3)), rng().normal(size=(40, 2))],
        "few distinct": [np.eye(3)[np.arange(40) % 3], np.eye(3)[np.arange(40) % 3]],
        "one column": [np.arange(40.0)[:, None], rng().normal(size=(40, 1))],
    }[case]
    views = [*map(kind, views)]
    labels = fuse_views(views, 5, rng())[0]
    assert labels.shape == (40,)
    assert {*labels} <= {*range(5)}
    for X in views:
        labels, quality = cluster_view(X, 5, rng())
        assert labels.shape == (40,)
        assert 0 <= quality < 1


def test_wide_sparse_views():
    draw = rng()
    y = np.arange(150) % 3
    topics = draw.uniform(size=(3, 3000)) < 0.02
    Xs = [sparse.csr_array(draw.poisson(0.002 + topics[y] * 0.5)) for _ in range(2)]
    assert clustering_accuracy(y, fuse_views(Xs, 3, rng())[0]) > 0.95


def test_caller_keeps_the_views_as_they_were():
    Xs, _ = make_blobs()
    before = [X.copy() for X in Xs]
    fuse_views(Xs, 3, rng())
    assert all((kept == X).all() for X, kept in zip(Xs, before, strict=True))


def sequenced(n=600, k=3, n_views=2, seed=0):
    """Counts of cells of k types in some views; how deep a cell is read, all share."""
    draw = rng(seed)
    y, depth = draw.randint(k, size=n), np.exp(0.8 * draw.normal(size=n))
    counts = []
    for _ in range(n_views):
        profiles = draw.gamma(1, size=200) * np.exp(0.25 * draw.normal(size=(k, 200)))
        counts.append(draw.poisson(0.5 * depth[:, None] * profiles[y]))
    return counts, y


def test_clusters_are_not_how_deep_cells_were_sequenced():
    Xs, y = sequenced()
    for X in Xs:
        assert clustering_accuracy(y, cluster_view(X, 3, rng())[0]) > 0.7
    assert clustering_accuracy(y, fuse_views(Xs, 3, rng())[0]) > 0.8


def test_clusters_that_differ_in_length_are_found():
    y = np.arange(150) % 3
    X = np.diag([1.0, 3, 9])[y] + 0.1 * rng().normal(size=(150, 3))
    assert clustering_accuracy(y, cluster_view(X, 3, rng())[0]) == 1


def test_where_no_time_is_left_a_recipe_stands_for_all():
    Xs, y = make_blobs(n=120)
    labels, quality = cluster_view(Xs[0], 3, rng(), Deadline(0))
    assert clustering_accuracy(y, labels) == 1
    assert quality > 0.5
    labels, _ = fuse_views(Xs, 3, rng(), deadline=Deadline(0))
    assert clustering_accuracy(y, labels) == 1


def test_partitions_that_could_not_be_scored_do_not_count(monkeypatch):
    Xs, _ = make_blobs(n=120)
    scored, kept = [], []
    monkeypatch.setattr(module, "joint_score", lambda *_: scored.append(1) or 1.0)
    monkeypatch.setattr(
        module, "consensus", lambda pool, *_: kept.append(pool.shape[1]) or pool[:, 0]
    )
    deadline = Deadline(4, lambda: len(scored))
    fuse_views(Xs, 3, rng(), deadline=deadline)
    assert (len(scored), kept) == (4, [4])


def test_the_ridge_is_that_of_the_fit(monkeypatch):
    seen = []

    def noting(features, ridge):
        seen.append(ridge)
        return joint_spaces(features, ridge)

    monkeypatch.setattr(module, "joint_spaces", noting)
    fuse_views(make_blobs()[0], 3, rng(), settings=Settings(ridge=0.5))
    assert seen == [0.5]
