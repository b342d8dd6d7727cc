"""
Four shuffled views of the digits
=================================

Rows of every view are shuffled on their own, and no pair is known. The paper's method
clusters its template view as well as it would be clustered alone; the labels that reach
the other views through its alignment are poor, because the alignment is at chance.
SAVuC finds the partners of most views, labels those views in common, and refuses what
it cannot align: that view has the verdict ``none`` and clusters of its own.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from unaligned import PAVuC, SAVuC
from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import clustering_scores

digits = load_digits_views()
some = slice(800)  # of 1,797 rows, to be quick
views = [X[some] - X[some].mean(axis=0) for X in digits.Xs]  # there is no intercept
data = unalign(views, digits.y[some], random_state=0)  # each view in its own order
models = {
    "the paper's PAVuC-ATS": PAVuC(n_clusters=10, random_state=0),
    "SAVuC": SAVuC(n_clusters=10, effort="quick", random_state=0),
}
figure, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
for row, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(data.Xs)
    row[0].set_ylabel(name)
    for i, ax in enumerate(row):
        labels = model.view_labels_[i]
        verdict = "template" if i == model.template_ else model.alignment_.verdict[i]
        accuracy = clustering_scores(data.ys[i], labels)["acc"]
        ax.scatter(*PCA(2).fit_transform(data.Xs[i]).T, c=labels, s=4, cmap="tab10")
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{digits.view_names[i]}: ACC {accuracy:.0%}, {verdict}")
plt.show()
