"""
Four shuffled views of the digits
=================================

Rows of every view are shuffled on their own, and no pair is known. The paper's method
clusters its template view as well as it would be clustered alone; the labels that reach
the other views through its alignment are poor, because the alignment is at chance.
``align`` finds the partners in two of the other three views and refuses the third; with
its pairs, the same method labels them well.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from unaligned import PAVuC, align
from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import clustering_scores

digits = load_digits_views()
views = [X - X.mean(axis=0) for X in digits.Xs]  # the model has no intercept
data = unalign(views, digits.y, random_state=0)  # every view in an order of its own
found = align(data.Xs, effort="quick", random_state=0)
print(found)

figure, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
known = {"no pair known": None, "pairs found by align()": found.trusted_pairs()}
for row, (title, pairs) in zip(axes, known.items(), strict=True):
    model = PAVuC(n_clusters=10, max_iter=200, tol=1e-4, random_state=0)
    model.fit(data.Xs, aligned=pairs)
    row[0].set_ylabel(title)
    for i, ax in enumerate(row):
        labels, trust = model.view_labels_[i], model.alignment_.trust[i]
        accuracy = clustering_scores(data.ys[i], labels)["acc"]
        ax.scatter(*PCA(2).fit_transform(data.Xs[i]).T, c=labels, s=4, cmap="tab10")
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{digits.view_names[i]}: ACC {accuracy:.0%}, trust {trust:.1f}")
plt.show()
