"""Latent classes: a consensus of partitions that does not prefer equal sizes.

It was tried in the place of the k-means in SAVuC's consensus, which does.
"""

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from unaligned.partitions.scores import WEIGHTS, information, predictions

__all__ = ["choose_consensus", "latent_classes"]

N_ROUNDS, PRECISION = 100, 1e-4  # of EM; the change of a row's mean log-likelihood


def latent_classes(partitions, n_clusters):
    """Cluster rows by the latent class model of their labels.

    A class has a share of the rows, and for every partition probabilities of its
    clusters; rows of a class are labelled independently. The model is fitted by EM from
    the branches of an average-linkage tree, by the share of partitions that have two
    rows in different clusters.
    """
    n = len(partitions)
    tree = linkage(pdist(partitions, "hamming"), "average")
    labels = fcluster(tree, n_clusters, "maxclust") - 1
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
        likelihood = np.mean(largest + np.log(totals))
        if likelihood - before < PRECISION:
            break
        before = likelihood
    return shares.argmax(axis=1)


def memberships(partitions):
    """Membership of rows in the clusters of all partitions, as a sparse matrix."""
    rows = np.arange(len(partitions))
    ones, blocks = np.ones(len(rows)), []
    for labels in partitions.T:
        positions = np.unique(labels, return_inverse=True)[1]
        blocks.append(sparse.csr_array((ones, (rows, positions))))
    return sparse.hstack(blocks, format="csr")


def choose_consensus(features, found, n_clusters, half):
    """Of several partitions, the one of whose entropy views predict the largest share.

    Unlike predictability, this does not prefer clusters of equal size.
    """

    def share(labels):
        predicted = predictions(features, labels, n_clusters, half)
        values = [information(labels, other, n_clusters) for other in predicted]
        return np.dot(WEIGHTS, values) / max(
            information(labels, labels, n_clusters), 1e-9
        )

    return max(found, key=share)
