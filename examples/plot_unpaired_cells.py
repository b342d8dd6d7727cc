"""
Cells of two modalities, hardly any of them paired
==================================================

Expression and chromatin of the same tissue, measured apart: no cell of the one has a
known partner among the cells of the other, but for a few that went through a co-assay.
``unaligned.scverse.cluster`` works on a ``MuData`` of such modalities. It says first
whether they can be aligned at all.
"""

import matplotlib.pyplot as plt
import mudata
import numpy as np
from anndata import AnnData
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import KNeighborsClassifier

from unaligned.scverse import cluster, joint_map, pl, transfer_labels

mudata.set_options(pull_on_update=False)

# %%
# Simulated cells
# ---------------
# Eight types on a tree, every cell somewhere on the branch that leads to its type. 400
# genes are expressed, and 1,500 regions of chromatin are open, as the state of the cell
# makes them. Another seed makes another tree, and other figures than below.

rng = np.random.RandomState(0)
n_cells, n_types, n_programmes = 1000, 8, 20
parent = np.array([0, *(rng.randint(t) for t in range(1, n_types))])
centres = np.zeros((n_types, n_programmes))
for t in range(1, n_types):
    centres[t] = centres[parent[t]] + rng.gamma(3, 0.5) * rng.normal(size=n_programmes)
types = rng.randint(n_types, size=n_cells)
along = rng.beta(3, 1, size=(n_cells, 1))
state = along * centres[types] + (1 - along) * centres[parent[types]]
state += 0.6 * rng.normal(size=state.shape)
state = (state - state.mean(axis=0)) / state.std()


def response(n_features):
    """How features respond to the state of every cell."""
    return state @ rng.normal(size=(n_programmes, n_features)) / np.sqrt(n_programmes)


rate = np.exp(response(400) + rng.normal(size=400))
counts = rng.poisson(8000 * rate / rate.sum(axis=1, keepdims=True))
is_open = rng.uniform(size=(n_cells, 1500)) < 1 / (1 + np.exp(1 - 2 * response(1500)))

# %%
# Counts become twenty components: principal components of the logarithm for
# expression, latent semantic indexing for chromatin, whose first component is depth.

logarithm = np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True))
components = PCA(20, random_state=0).fit_transform(logarithm)
tfidf = TfidfTransformer().fit_transform(is_open.astype(float))
indexing = TruncatedSVD(21, random_state=0).fit_transform(tfidf)[:, 1:]

# %%
# 150 cells go through a co-assay, and have one name in both modalities. Of the others,
# each is measured in one modality only.


def modality(features, chosen, name):
    """Shuffle the cells of a modality, and name them."""
    chosen = rng.permutation(chosen)
    cells = AnnData(features[chosen])
    cells.obs_names = [f"both-{c}" if c < 150 else f"{name}-{c}" for c in chosen]
    cells.var_names = [f"{name}-component-{j}" for j in range(cells.n_vars)]
    cells.obs["type"] = types[chosen].astype(str)
    return cells


numbers = np.arange(n_cells)
mdata = mudata.MuData(
    {
        "rna": modality(components, numbers[:600], "rna"),
        "atac": modality(indexing, np.delete(numbers, slice(150, 600)), "atac"),
    }
)

# %%
# Nothing known
# -------------
# Without the co-assay SAVuC finds no relation that passes its test. It says so: the
# verdict on one modality is ``none``, no cell has a partner, and each modality has
# clusters of its own. (``effort="quick"`` is for this page.)

model = cluster(mdata, n_types, aligned=None, effort="quick", inplace=True)
print(model.alignment_)
print(mdata["atac"].obs["unaligned_partner_rna"].notna().sum(), "partners")

# %%
# A bridge of 150 cells
# ---------------------
# By default, cells of one name are known pairs. SAVuC learns from them what a cell of
# one modality looks like in the other, and names clusters in common. If the verdict is
# ``objects``, the other cells have partners, too; if it is ``classes``, they have not.

model = cluster(mdata, n_types, effort="quick", inplace=True)
print(model.alignment_)
rna, atac = mdata["rna"], mdata["atac"]
atac.obs.tail()

# %%
# What is it worth? Types of the ``rna`` cells are carried to those ``atac`` cells that
# are not of the co-assay: along the matches, if there are any, by the commonest type of
# the cluster, and by a vote of the nearest cells in the space that both modalities
# share. The commonest type of all is what one gets for nothing. (Here the truth is
# known; nothing above has seen it.)

new = ~atac.obs_names.str.startswith("both")
truth = atac.obs["type"][new].to_numpy()
partner = atac.obs["unaligned_partner_rna"][new].astype(str)
of_cell = atac.obs["unaligned"][new].astype(str)
clusters = rna.obs["unaligned"].astype(str)
commonest = rna.obs["type"].groupby(clusters).agg(lambda own: own.mode()[0])
places = {name: model.transform(mdata[name].X, view=name) for name in ("rna", "atac")}
voters = KNeighborsClassifier(15).fit(places["rna"], rna.obs["type"])
carried = {
    "along the matches": rna.obs["type"].reindex(partner).to_numpy(),
    "by clusters": commonest.reindex(of_cell).to_numpy(),
    "by the nearest cells": voters.predict(places["atac"][new]),
    "commonest type": rna.obs["type"].mode()[0],
}
for how, labels in carried.items():
    print(f"{how:21} {np.mean(labels == truth):.0%} right")

# %%
# ``transfer_labels`` gives the probability of each label, too, and ``unknown`` where it
# is below one half:

labels = transfer_labels(rna, atac, "type", effort="quick", inplace=True)[new]
given = labels["label"] != "unknown"
guess = labels["guess"].astype(str) == truth
print(f"{guess.mean():.0%} right, {labels['confidence'].mean():.0%} expected")
print(f"{given.mean():.0%} given a label, of these {guess[given].mean():.0%} right")

# %%
# Plots
# -----
# ``joint_map`` places the cells of both modalities on one map, from the space that they
# share. The plots take what scanpy's take.

joint_map(mdata)
pl.embedding(mdata, "unaligned_map", color=["modality", "type"])

# %%
# Transferred types and their confidence are columns of ``obs`` of the one modality; the
# cells of the other are gray.

added = ["type_transferred", "type_transferred_confidence"]
pl.embedding(mdata, "unaligned_map", color=added)

# %%
# Verdict and trust, and lines between partners, if cells have any:

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
pl.trust(mdata, ax=axes[0])
pl.partners(mdata, ax=axes[1])
plt.show()

# %%
# Simulated cells are tidier than real ones. ``python -m benchmarks.cells`` does this
# with published sets (:doc:`/cells`); three of them are in
# :ref:`sphx_glr_gallery_plot_published_cells.py`.
