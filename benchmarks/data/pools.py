"""Pools of partitions of real data, made once and kept on disk, to compare rules by.

Everything in a pool is made without labels, but for the accuracies beside it. Files lie
in ``$UNALIGNED_POOLS``, by default a folder of the system for temporary files.
"""

import hashlib
import inspect
import os
import pickle
import tempfile
from pathlib import Path
from typing import NamedTuple

# Before NumPy is loaded: one thread, as in the library.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from unaligned.datasets import load
from unaligned.metrics import clustering_accuracy
from unaligned.partitions import features as feature_module
from unaligned.partitions.features import most_neighbors, view_features
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.scores import information
from unaligned.savuc import recipes
from unaligned.savuc.config import NORMAL
from unaligned.savuc.recipes import N_STARTS, RECIPES, joint_spaces, view_spaces
from unaligned.selection.families import branches, ward_tree

MOST_ROWS = 2000
FOLDER = Path(os.environ.get("UNALIGNED_POOLS", tempfile.gettempdir())) / "pools"
SCALES = "plain", "standard"
DATASETS = [
    "scGEM", "3Sources", "MSRC-v1", "ORL", "NGs", "BBCSport", "Movies", "Reuters-600",
    "PIE-face", "BBC4view", "ProteinFold", "WebKB", "Reuters-1200", "100Leaves",
    "digits", "sciCAR-A549", "Handwritten", "Wiki", "LandUse-21", "BDGP", "Cora", "CCV",
    "CIFAR10-10k-recon", "Caltech101-20-recon", "Caltech101-recon",
    "PBMC-RNA-ATAC-unpaired", "scNMT-unpaired",
]  # fmt: skip


# Recipes that SAVuC had, to compare with.
LEFT_OUT = {
    "k-means": lambda space, k, rng: kmeans(space.points, k, rng, N_STARTS),
    "ward": lambda space, k, rng: branches(ward_tree(space.points), k),
}


class Case(NamedTuple):
    """A dataset, its views that are taken (all, or some), and how rows are drawn."""

    dataset: str
    views: tuple[int, ...] | None = None
    seed: int = 0
    most_rows: int = MOST_ROWS

    @property
    def name(self):
        """Name of the case in results."""
        views = "".join(f", {i}" for i in self.views or ())
        return f"{self.dataset}{views}, seed {self.seed}"


FUSED_ROWS, N_SEEDS = 1500, 3  # of each case: cost
SOME_VIEWS = {"Handwritten": (0, 1), "Caltech101-20-recon": (3, 4, 5)}
FUSED = [
    Case(name, views, seed, FUSED_ROWS)
    for seed in range(N_SEEDS)
    for name, views in (*((name, None) for name in DATASETS[:-3]), *SOME_VIEWS.items())
]


class Pool(NamedTuple):
    """Partitions of the same rows by name, and how accurate each of them is."""

    n_clusters: int
    classes: np.ndarray
    features: list
    partitions: dict
    left_out: dict
    """Partitions by `LEFT_OUT`, on the same spaces."""
    accuracy: dict
    """Of all of them."""


def load_views(case):
    """Read views and classes (per view) of some rows."""
    data = load(case.dataset)
    views = range(len(data.Xs)) if case.views is None else case.views
    Xs, ys = [], []
    for i in views:
        y = data.y if data.ys is None else data.ys[i]
        order = np.random.RandomState(case.seed).permutation(len(y))
        rows = np.sort(order[: case.most_rows])
        Xs.append(data.Xs[i][rows])
        ys.append(np.unique(np.asarray(y)[rows], return_inverse=True)[1])
    return Xs, ys


def kept(name, make):
    """Read what was made before by the same sources, or make it."""
    sources = inspect.getsource(recipes) + inspect.getsource(feature_module)
    digest = hashlib.sha256(sources.encode()).hexdigest()[:12]
    path = FOLDER / digest / f"{name}.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())  # our own file
    found = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(pickle.dumps(found))
    draft.replace(path)
    return found


def cluster_spaces(spaces, n_clusters, rng, by=RECIPES):
    """Partitions by names "space, recipe"."""
    return {
        f"{name}, {recipe}": make(space, n_clusters, rng)
        for name, space in spaces.items()
        for recipe, make in by.items()
    }


def agreement(pool, n_clusters):
    """Mean information between each partition and the others."""
    shared = np.array([[information(p, q, n_clusters) for q in pool] for p in pool])
    return (shared.sum(axis=1) - np.diag(shared)) / max(len(pool) - 1, 1)


def make_pool(features, spaces, classes, seed=0):
    """Cluster spaces by all recipes, and score the partitions by the classes."""
    k, rng = int(classes.max()) + 1, np.random.RandomState(seed)
    partitions = cluster_spaces(spaces, k, rng)
    left_out = cluster_spaces(spaces, k, rng, LEFT_OUT)
    accuracy = {
        name: 100 * clustering_accuracy(classes, labels)
        for name, labels in (partitions | left_out).items()
    }
    return Pool(k, classes, features, partitions, left_out, accuracy)


def neighbors_for(classes):
    """How many neighbours SAVuC would look at, given the number of classes."""
    return most_neighbors(len(classes), int(classes.max()) + 1)


def view_pools(dataset):
    """Make or read one pool for every view of a dataset."""

    def make():
        pools = []
        for X, y in zip(*load_views(Case(dataset)), strict=True):
            features = view_features(X, neighbors_for(y))
            spaces = dict(zip(SCALES, view_spaces(features), strict=True))
            pools.append(make_pool([features], spaces, y))
        return pools

    return kept(f"views-{dataset}", make)


def fused_pool(case):
    """Make or read the pool of all views of a case, rows in their true pairs."""

    def make():
        Xs, ys = load_views(case)
        features = [view_features(X, neighbors_for(ys[0])) for X in Xs]
        kinds = [f"{kind} {s}" for s in SCALES for kind in ("side by side", "shared")]
        spaces = dict(zip(kinds, joint_spaces(features, NORMAL.ridge), strict=True))
        for i, of_view in enumerate(features):
            for scale, space in zip(SCALES, view_spaces(of_view), strict=True):
                spaces[f"view {i} {scale}"] = space
        return make_pool(features, spaces, ys[0], case.seed)

    name = case.name.replace(", ", "-").replace(" ", "-")
    return kept(f"fused-{name}-{case.most_rows}", make)
