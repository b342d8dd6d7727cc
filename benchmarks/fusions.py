"""Ways to cluster views whose rows correspond, each the simplest of its kind.

Points or graphs of all views are joined in one step and clustered in another. All start
from the features that SAVuC has (`benchmarks.data.pools`), but for FPMVS-CAG and LMVSC,
which scale views themselves. Labels only score: "best view" is the best of k-means and
of a diffusion map over views and scales, picked by labels.

``python -m benchmarks.fusions`` prints the accuracy of SAVuC's own on all rows of some
datasets, three runs and their mean.
"""

import warnings

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.linalg import eigh
from sklearn.cluster._spectral import discretize
from sklearn.mixture import GaussianMixture

from benchmarks.bridge import views_of
from benchmarks.data.pools import agreement, fused_pool, load_views
from benchmarks.savuc import dense
from unaligned.baselines import FPMVSCAG, LMVSC
from unaligned.kernels.scaling import unit_rows
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.features import nearest_rows
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.scores import draw_halves
from unaligned.savuc.consensus import (
    N_BEST,
    consensus,
    fuse_views,
    joint_score,
)
from unaligned.savuc.recipes import (
    N_STARTS,
    RECIPES,
    Space,
    cluster_map,
    neighbor_graph,
)

__all__ = ["ORACLE", "compare_fusions", "fuse_pool"]

ORACLE = "best view, by labels"
N_DIFFUSED = 20  # rounds of similarity network fusion: Wang et al., 2014
N_WEIGHED = 8  # rounds of weights and eigenvectors
WHOLE = (
    "ORL", "MSRC-v1", "Handwritten", "Caltech101-20-recon", "Reuters-1200", "3Sources",
    "Handwritten 0,1", "BDGP", "LandUse-21", "Wiki",
)  # fmt: skip


def fuse_pool(pool, seed):
    """Cluster all views of a pool as SAVuC does."""
    k, half = (
        pool.n_clusters,
        draw_halves(len(pool.classes), np.random.RandomState(seed)),
    )
    scores = {
        name: joint_score(pool.features, labels, k, half)
        for name, labels in pool.partitions.items()
    }
    best = sorted(scores, key=lambda name: -scores[name])[:N_BEST]
    top = np.column_stack([pool.partitions[name] for name in best])
    return consensus(top, k, np.random.RandomState(seed))


def weigh_graphs(points, graphs, k):
    """Weights of graphs, 1/√tr(FᵀLF), and eigenvectors F of the sum, in turn."""
    weights = np.ones(len(graphs))
    for _ in range(N_WEIGHED):
        total = sum(w * graph for w, graph in zip(weights, graphs, strict=True))
        _, F = Space(points, total).leading(k, np.random.RandomState(0))
        cuts = [max(k - np.sum(F * (normalised(g) @ F)), 1e-6) for g in graphs]
        weights = 1 / np.sqrt(cuts)
    return total


def normalised(graph):
    """D⁻½ G D⁻½."""
    root = sparse.diags_array(1 / np.sqrt(graph.sum(axis=1)))
    return root @ graph @ root


def diffuse_networks(graphs):
    """Similarity network fusion: each network diffuses the mean of the others."""
    local = [sparse.diags_array(1 / g.sum(axis=1)) @ g for g in graphs]
    full = [(walk + sparse.eye_array(walk.shape[0])).toarray() / 2 for walk in local]
    for _ in range(N_DIFFUSED):
        total, rounds = sum(full), []
        for walk, own in zip(local, full, strict=True):
            found = walk @ (walk @ ((total - own) / (len(full) - 1)).T).T
            found = (found + found.T) / 2
            np.fill_diagonal(found, 0)
            found /= 2 * np.maximum(found.sum(axis=1), 1e-12)[:, None]
            np.fill_diagonal(found, 0.5)
            rounds.append(found)
        full = rounds
    total = sum(full)
    return total + total.T


def dense_map(affinity, k):
    """Leading eigenvectors of a full affinity, weighted as in `cluster_map`."""
    n, wanted = len(affinity), min(k + max(k // 2, 1), len(affinity))
    root = np.sqrt(affinity.sum(axis=1))
    matrix = affinity / np.outer(root, root)
    values, vectors = eigh(matrix, subset_by_index=[n - wanted, n - 1])
    return unit_rows(vectors * np.maximum(values, 0) ** 3)


def ward_of(points, k):
    """Ward's tree of points."""
    return fcluster(linkage(points.astype(np.float64), "ward"), k, "maxclust") - 1


def mixture_of(points, k, seed):
    """Gaussian mixture with a variance for every cluster and column."""
    model = GaussianMixture(
        k, covariance_type="diag", reg_covar=1e-3, random_state=seed
    )
    return model.fit_predict(points.astype(np.float64))


def discretised(space, k, rng):
    """Rotate eigenvectors to the nearest memberships (Yu and Shi, 2003)."""
    try:
        return discretize(space.leading(k, rng)[1], random_state=rng)
    except np.linalg.LinAlgError:
        return np.zeros(len(space.points), dtype=np.intp)


def partitions_of(case, pool):
    """Partitions by name."""
    k, rng = pool.n_clusters, np.random.RandomState(case.seed)
    scales = [scale for of_view in pool.features for scale in of_view]
    side = unit_rows(np.hstack([scale.points for scale in scales]))
    graphs = [neighbor_graph(scale.neighbors) for scale in scales]
    n_near = scales[0].neighbors.shape[1]
    wide = [neighbor_graph(nearest_rows(s.points, 2 * n_near)) for s in scales]
    maps = [cluster_map(Space(side, graph), k, rng) for graph in graphs]
    mean = Space(side, sum(graphs))
    placed = cluster_map(mean, k, rng)
    of_views = [
        one + other for one, other in zip(graphs[::2], graphs[1::2], strict=True)
    ]
    networks = dense_map(diffuse_networks(of_views), k)
    found = {
        "points side by side, k-means": kmeans(side, k, rng, N_STARTS),
        "points side by side, Ward": ward_of(side, k),
        "mean graph, k-means": kmeans(placed, k, rng, N_STARTS),
        "mean graph, Ward": ward_of(placed, k),
        "mean graph, mixture": mixture_of(placed, k, case.seed),
        "mean graph, discretised": discretised(mean, k, rng),
        "mean graph, merging": RECIPES["merging"](mean, k, rng),
        "mean graph, two scales": RECIPES["diffusion"](
            Space(side, sum(graphs) + sum(wide) / 2), k, rng
        ),
        "weighted graph, k-means": RECIPES["diffusion"](
            Space(side, weigh_graphs(side, graphs, k)), k, rng
        ),
        "network fusion, k-means": kmeans(networks, k, rng, N_STARTS),
        "maps side by side, k-means": kmeans(np.hstack(maps), k, rng, N_STARTS),
        "shared directions, k-means": pool.left_out["shared standard, k-means"],
        "shared directions, diffusion": pool.partitions["shared standard, diffusion"],
    }
    Xs = [dense(X) for X in load_views(case)[0]]
    for method in (FPMVSCAG, LMVSC):
        model = method(k, random_state=case.seed).fit(Xs, aligned="all")
        found[method.__name__] = model.labels_
    singles = [np.unique(labels, return_inverse=True)[1] for labels in found.values()]
    found["agrees most with the others"] = singles[
        int(np.argmax(agreement(singles, k)))
    ]
    found["SAVuC"] = fuse_pool(pool, case.seed)
    return found


def compare_fusions(case):
    """Accuracy of every candidate, in percent."""
    pool = fused_pool(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        partitions = partitions_of(case, pool)
    found = {
        name: 100 * clustering_accuracy(pool.classes, labels)
        for name, labels in partitions.items()
    }
    found[ORACLE] = max(
        accuracy
        for name, accuracy in pool.accuracy.items()
        if name.startswith("view") and name.endswith((", k-means", ", diffusion"))
    )
    return {name: round(float(value), 1) for name, value in found.items()}, {}


def main():
    """Fuse all rows of some datasets."""
    for name in WHOLE:
        Xs, y = views_of(name)
        found = []
        for seed in range(3):
            rng = np.random.RandomState(seed)
            labels, _ = fuse_views(Xs, len(np.unique(y)), rng)
            found.append(100 * clustering_accuracy(y, labels))
        runs = ", ".join(f"{accuracy:.1f}" for accuracy in found)
        print(f"{name}: {np.mean(found):.1f} ({runs})", flush=True)


if __name__ == "__main__":
    main()
