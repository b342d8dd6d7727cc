"""Peaks of chromatin: which fragments of DNA are open in which cell.

Nearly all entries are 0, and the size of the others means little. So shares of a row
are weighted by how rare a column is, on a logarithmic scale (TF-IDF), and the singular
vectors of the result are the components (latent semantic indexing, LSI). The first one
is the depth of the row, and is left out.
"""

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd, svd_flip

__all__ = ["LatentIndex", "are_peaks", "fit_index"]

Array = NDArray[Any]

N_COMPONENTS = 50  # custom, and as many directions as SAVuC keeps
SCALE = 1e4  # custom: factor of shares before the logarithm
INTERVAL = re.compile(r"\w+[:_-]\d+[_-]\d+")  # as in chr1:10109-10357


class LatentIndex(NamedTuple):
    """Weights and directions that turn counts of fragments into components."""

    rarity: Array
    """Inverse document frequency of every column."""
    directions: Array
    """Directions of the components, without the first: (d, r)."""

    def apply(self, X: Any) -> Array:
        """Compute the components of rows."""
        components = tfidf(X, self.rarity) @ self.directions
        return np.asarray(components, dtype=np.result_type(X.dtype, np.float32))


def are_peaks(names: list[str] | None) -> bool:
    """Whether the names of most columns are intervals of a genome.

    Examples
    --------
    >>> are_peaks(["chr1:10109-10357", "chrX_7-9"]), are_peaks(["GAPDH", "HLA-A"])
    (True, False)
    """
    if not names:
        return False
    return sum(INTERVAL.fullmatch(name) is not None for name in names) > len(names) / 2


def fit_index(X: Any) -> LatentIndex:
    """Find how rare columns are, and the directions of the components.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Counts, or 0 and 1.
    """
    n, d = X.shape
    seen = np.asarray((X > 0).sum(axis=0), dtype=np.float64).ravel()
    rarity = np.log1p(n / np.maximum(seen, 1))
    wanted = min(N_COMPONENTS + 1, n, d)
    U, _, right = randomized_svd(
        tfidf(X, rarity), wanted, random_state=0, flip_sign=False
    )
    _, right = svd_flip(U, right, u_based_decision=False)
    return LatentIndex(rarity, right[1:].T if wanted > 1 else right.T)


def tfidf(X: Any, rarity: Array) -> Any:
    """Share of each entry in its row, times its rarity, on a logarithmic scale."""
    depth = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    factor = SCALE / np.where(depth > 0, depth, 1)
    if sparse.issparse(X):
        scaled = sparse.diags_array(factor) @ X @ sparse.diags_array(rarity)
        return scaled.tocsr().log1p()
    return np.log1p(X * factor[:, None] * rarity)
