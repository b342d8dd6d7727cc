"""The paper's protocol: which data, how prepared, in which ten shuffles.

A shuffle is a number from 0 to 9: the seed of `unaligned.datasets.unalign`, which draws
from NumPy's frozen generator ``RandomState``. ``shuffles.json`` holds a digest of every
row order that the protocol can ask for, so that nobody compares figures of other
shuffles without noticing.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.utils import Bunch

from unaligned.benchmark import published_tables
from unaligned.datasets import load, unalign
from unaligned.kernels.scaling import standardize

__all__ = [
    "DATASETS",
    "N_SHUFFLES",
    "PAIRED_SHARE",
    "PAPER_DATASETS",
    "RATIOS",
    "SYNTHETIC",
    "DatasetEntry",
    "digest",
    "entry_of",
    "load_views",
    "make_synthetic",
    "published_digests",
    "row_orders",
    "shuffle_views",
]

N_SHUFFLES = 10
RATIOS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
PAIRED_SHARE = 0.01  # pairs that Table 5 leaves to the methods that cannot do without
SYNTHETIC = "synthetic"
N_LATENT = 100  # dimensions that the paper reduces Reuters to


@dataclass(frozen=True)
class DatasetEntry:
    """One dataset of the evaluation."""

    name: str
    published: str | None = None
    """Its column in the published tables."""
    same_data: bool = True
    """Whether it is what the paper used; else published figures are a hint only."""
    prepare: str = "as it is"
    """``"as it is"``, ``"standardised"``, ``"centred"``, ``"100 dimensions"`` or
    ``"shares in rows"``."""

    @property
    def table5_views(self) -> tuple[int, int]:
        """The two views of Table 5, counted from zero."""
        pairs = published_tables()["settings"]["table5_views_1based"]
        first, second = pairs.get(self.published, (1, 2))
        return first - 1, second - 1

    @property
    def released(self) -> dict[str, float]:
        """PAVuC's settings for these data in the authors' program, or its defaults."""
        settings = published_tables()["settings"]["released_settings"]
        found = settings.get(self.published, {"m_over_k": 1, "mu": 0.1, "alpha": 1.5})
        return {
            "alpha": float(found["alpha"]),
            "mu": float(found["mu"]),
            "anchors_per_cluster": int(found["m_over_k"]),
        }


DATASETS = {
    entry.name: entry
    for entry in (
        DatasetEntry("ProteinFold", "ProteinFold"),
        DatasetEntry("Caltech101-20", "Caltech101-20"),
        DatasetEntry("Wiki", "Wiki"),
        DatasetEntry("Caltech-101", "Caltech-101"),
        DatasetEntry("Reuters", "Reuters", prepare="100 dimensions"),
        DatasetEntry("CIFAR-10", "CIFAR-10", prepare="standardised"),
        DatasetEntry("Caltech101-20-recon", "Caltech101-20", same_data=False),
        DatasetEntry("Caltech101-recon", "Caltech-101", same_data=False),
        DatasetEntry("Reuters-1200", "Reuters", False, "100 dimensions"),
        DatasetEntry("CIFAR10-10k-recon", "CIFAR-10", False, "standardised"),
        DatasetEntry("Handwritten"),
        DatasetEntry("PBMC-2407", prepare="shares in rows"),
        # The paper's model has no intercept, and pixels are far from centred.
        DatasetEntry("digits", prepare="centred"),
        DatasetEntry(SYNTHETIC),
    )
}
PAPER_DATASETS = tuple(published_tables()["table3_datasets"])


def entry_of(name: str) -> DatasetEntry:
    """Entry of a dataset, in any case; one that is not listed is taken as it is."""
    known = {entry.name.lower(): entry for entry in DATASETS.values()}
    return known.get(name.lower(), DatasetEntry(name))


def load_views(
    entry: DatasetEntry, rows: int | None = None, views: tuple[int, ...] | None = None
) -> Bunch:
    """Load and prepare views whose rows correspond.

    Parameters
    ----------
    entry : DatasetEntry
    rows : int, default=None
        As many rows, drawn once and for all. None: all.
    views : tuple of int, default=None
        Views to keep. None: all.

    Returns
    -------
    Bunch
        ``Xs``, ``y`` and ``n_clusters``, the number of classes.
    """
    if entry.name == SYNTHETIC:
        Xs, y = make_synthetic(rows or 1000)
    else:
        data = load(entry.name)
        Xs, y = data.Xs, data.y
        if y is None or len({X.shape[0] for X in Xs}) > 1:
            raise ValueError(
                f"{entry.name} cannot be benchmarked: its views have no common rows, "
                "so there is no correspondence to take away and none to score."
            )
        if rows is not None and rows < len(y):
            kept = np.sort(np.random.RandomState(0).choice(len(y), rows, replace=False))
            Xs, y = [X[kept] for X in Xs], y[kept]
    if views is not None:
        Xs = [Xs[i] for i in views]
    classes, y = np.unique(y, return_inverse=True)
    return Bunch(
        Xs=[prepare(X, entry.prepare) for X in Xs], y=y, n_clusters=len(classes)
    )


def prepare(X: Any, how: str) -> Any:
    """Bring a view into the form it is clustered in."""
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    if how == "standardised":
        return standardize(X)
    if how == "centred":
        return X - X.mean(axis=0)
    if how == "100 dimensions" and X.shape[1] > N_LATENT:
        return TruncatedSVD(N_LATENT, random_state=0).fit_transform(X)
    if how == "shares in rows":
        return shares_in_rows(X)
    return X.toarray() if sparse.issparse(X) else X


def shares_in_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Turn shares that were stored column by column, so that rows sum to one.

    The topics of PBMC-2407 are in such a file: read row by row they have nothing to do
    with the other view. What is no table of shares stays.

    Examples
    --------
    >>> table = np.array([[0.5, 0.1], [0.4, 0.5], [0.9, 0.6]])
    >>> shares_in_rows(table).sum(axis=1)
    array([1., 1., 1.])
    """
    turned = X.reshape(X.shape[::-1]).T
    return turned if np.allclose(turned.sum(axis=1), 1, atol=1e-3) else X


def make_synthetic(n: int) -> tuple[list[NDArray[np.float64]], NDArray[np.intp]]:
    """Draw three views of ``n`` rows in ten round classes, for the study of scaling."""
    rng, k = np.random.RandomState(0), 10
    y = rng.randint(k, size=n)
    y[:k] = np.arange(k)[:n]
    Xs = [rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)) for d in (64, 128, 32)]
    return Xs, y


def shuffle_views(Xs: list[Any], y: Any, ratio: float, shuffle: int) -> Bunch:
    """Take the correspondence away, and make sure that it is the published shuffle."""
    data = unalign(Xs, y, ratio=ratio, random_state=shuffle)
    expected = published_digests().get((len(y), len(Xs), ratio, shuffle))
    if expected is not None and digest(data.order) != expected:
        raise RuntimeError(
            f"Shuffle {shuffle} of {len(y)} rows in {len(Xs)} views at ratio {ratio:g} "
            f"is not the published one (digest {digest(data.order)}, published "
            f"{expected}). Scores of other shuffles cannot be compared; report the "
            f"version of NumPy ({np.__version__}) with this message."
        )
    return data


def row_orders(
    n: int, n_views: int, ratio: float = 0.0, shuffle: int = 0
) -> list[NDArray[np.intp]]:
    """Original row behind every row of every view, in one shuffle of the protocol.

    Examples
    --------
    >>> [rows.tolist() for rows in row_orders(5, 2, ratio=0.4)]
    [[2, 0, 1, 4, 3], [2, 0, 4, 1, 3]]
    """
    orders: list[NDArray[np.intp]] = unalign(
        [np.zeros((n, 1))] * n_views, ratio=ratio, random_state=shuffle
    ).order
    return orders


def digest(orders: list[NDArray[np.intp]]) -> str:
    """First 16 hexadecimal digits of the SHA-256 of row orders, as 8-byte integers."""
    content = np.stack(orders).astype("<i8").tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def published_digests() -> dict[tuple[int, int, float, int], str]:
    """Digests of all published shuffles, by rows, views, ratio and shuffle."""
    text = files("unaligned.benchmark").joinpath("shuffles.json").read_text("utf-8")
    return {
        (shape["rows"], shape["views"], float(ratio), shuffle): found
        for shape in json.loads(text)["shapes"]
        for ratio, digests in shape["digests"].items()
        for shuffle, found in enumerate(digests)
    }
