"""
Two pairs in a hundred
======================

Two views of 1,797 digits, pixels and directions of edges, are shuffled apart; 36 pairs
of rows are known. That is too little to match the others one by one, and enough to
cluster all rows of both views under one naming.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from unaligned.datasets import load_digits_views, unalign
from unaligned.known_pairs import check_aligned
from unaligned.metrics import clustering_accuracy
from unaligned.savuc.bridge import fit_bridge
from unaligned.savuc.bridge_clusters import cluster_linked
from unaligned.savuc.geometry import read_geometry
from unaligned.views import check_views

digits = load_digits_views()
views, y = digits.Xs[:2], digits.y


def kmeans(points, n_clusters, rng):
    """Cluster by k-means with ten starts."""
    return KMeans(n_clusters, n_init=10, random_state=rng).fit_predict(points)


def joint_accuracy(ys, labels):
    """Share of all rows of both views that are right, with one naming for both."""
    return clustering_accuracy(np.concatenate(ys), np.concatenate(labels))


# %%
# The bridge learns from known pairs what rows of one view would look like in the other.
# ``quality`` is the share of variance explained, of rows that were left out. ``trust``
# is one minus the p-value of a permutation test: do the pairs say anything?

shares = 0.005, 0.02, 0.1, 0.5
named = []
for share in shares:
    shuffled = unalign(views, y, ratio=share, random_state=0)
    pairs = check_aligned(shuffled.n_aligned, check_views(shuffled.Xs))
    rng = np.random.RandomState(0)
    bridge = fit_bridge([read_geometry(X, rng) for X in shuffled.Xs], pairs, rng)
    labels = cluster_linked(bridge, 10, kmeans, rng)
    named.append(joint_accuracy(shuffled.ys, labels))
    print(
        f"{shuffled.n_aligned:4} pairs known: joint accuracy {named[-1]:.2f}, "
        f"quality {bridge.quality[0, 1]:.2f}, trust {bridge.links[0, 1].trust:.3f}"
    )

# %%
# Clusters of each view on its own have unrelated names, and no number of pairs helps.

alone = [kmeans(read_geometry(X, rng).points, 10, rng) for X in shuffled.Xs]
unnamed = joint_accuracy(shuffled.ys, alone)

fig, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
axes.semilogx(100 * np.array(shares), named, "o-", label="bridge")
axes.axhline(unnamed, color="gray", linestyle="--", label="each view on its own")
axes.set(xlabel="pairs known, %", ylabel="joint accuracy", ylim=(0, 1))
axes.legend()
plt.show()
