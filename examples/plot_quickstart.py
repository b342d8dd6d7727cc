"""
Four shuffled views of the digits
=================================

Rows of every view are shuffled on their own. With no pair known, the template view is
clustered as well as it would be alone; the labels that reach the other views through
the alignment are poor, because the alignment is at chance, and ``trust`` says so. With
half of the pairs known they are better, in all views.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from unaligned import PAVuC
from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import clustering_scores

digits = load_digits_views()
views = [X - X.mean(axis=0) for X in digits.Xs]  # the model has no intercept

figure, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
for row, ratio in zip(axes, (0.0, 0.5), strict=True):  # share of known pairs
    data = unalign(views, digits.y, ratio, random_state=0)
    model = PAVuC(n_clusters=10, max_iter=200, tol=1e-4, random_state=0)
    model.fit(data.Xs, aligned=data.n_aligned)
    row[0].set_ylabel(f"{ratio:.0%} of the pairs known")
    for i, ax in enumerate(row):
        labels, trust = model.view_labels_[i], model.alignment_.trust[i]
        accuracy = clustering_scores(data.ys[i], labels)["acc"]
        ax.scatter(*PCA(2).fit_transform(data.Xs[i]).T, c=labels, s=4, cmap="tab10")
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{digits.view_names[i]}: ACC {accuracy:.0%}, trust {trust:.1f}")
plt.show()
