"""Latent classes: clusters of any size behind several partitions of the same rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

__all__ = ["latent_classes", "memberships"]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_ROUNDS, PRECISION = 100, 1e-4  # of EM; the change of a row's mean log-likelihood


def latent_classes(partitions: Labels, n_clusters: int) -> Labels:
    """Cluster rows by the latent class model of their labels.

    A class has a share of the rows, and for every partition probabilities of its
    clusters; rows of a class are labelled independently. The model is fitted by EM from
    the branches of an average-linkage tree, by the share of partitions that have two
    rows in different clusters. Neither of them prefers classes of equal size.

    Parameters
    ----------
    partitions : ndarray of shape (n, m)
        A column of labels for every partition.
    n_clusters : int
        At least 2. Fewer classes are found where the tree has fewer branches.

    Returns
    -------
    labels : ndarray of shape (n,)

    Notes
    -----
    The tree compares all rows: they should be a few thousand at most.

    Examples
    --------
    >>> import numpy as np
    >>> one, other = np.array([0, 0, 0, 0, 1, 2]), np.array([1, 1, 1, 1, 0, 0])
    >>> found = latent_classes(np.column_stack([one, other, one]), 2)
    >>> (found == found[0]).tolist()
    [True, True, True, True, False, False]
    """
    n = len(partitions)
    tree = linkage(pdist(partitions, "hamming"), "average")
    labels = np.asarray(fcluster(tree, n_clusters, "maxclust") - 1, dtype=np.intp)
    members = memberships(partitions)
    overall = members.sum(axis=0) / n
    shares, before = np.eye(n_clusters)[labels], -np.inf
    for _ in range(N_ROUNDS):
        sizes = shares.sum(axis=0)
        # A row like all rows together is added to every class: no probability is 0.
        within = (members.T @ shares + overall[:, None]) / (sizes + 1)
        scores = members @ np.log(within) + np.log((sizes + 1) / (n + n_clusters))
        largest = scores.max(axis=1, keepdims=True)
        shares = np.exp(scores - largest)
        totals = shares.sum(axis=1, keepdims=True)
        shares /= totals
        likelihood = float(np.mean(largest + np.log(totals)))
        if likelihood - before < PRECISION:
            break
        before = likelihood
    return np.asarray(shares.argmax(axis=1), dtype=np.intp)


def memberships(partitions: Labels) -> Any:
    """Membership of rows in the clusters of all partitions, as a sparse matrix.

    Clusters without rows have no column.
    """
    rows = np.arange(len(partitions))
    ones, blocks = np.ones(len(rows)), []
    for labels in partitions.T:
        positions = np.unique(labels, return_inverse=True)[1]
        blocks.append(sparse.csr_array((ones, (rows, positions))))
    return sparse.hstack(blocks, format="csr")
