"""
Partly paired cells: labels with a probability
==============================================

Some cells were measured in two modalities, the others in one. Types of the cells of one
modality are known, and wanted for those of the other. How far can they be believed?

The cells are those of scGEM (177 cells, expression and methylation, five types). They
are not part of this library; where ``$UNALIGNED_DATA`` does not lead to the file, two
views of handwritten digits stand in for modalities, and digits for types.
"""

import matplotlib.pyplot as plt
import numpy as np
from anndata import AnnData
from sklearn.neighbors import KNeighborsClassifier

from unaligned.datasets import load, load_digits_views, unalign
from unaligned.scverse import transfer_labels

try:
    views, types = load("scGEM").Xs, load("scGEM").y
except FileNotFoundError:
    digits = load_digits_views()
    views, types = [X[:600] for X in digits.Xs[:2]], digits.y[:600]


def modalities(share, seed):
    """Cells of both modalities; those measured in both come first."""
    data = unalign(views, types, share, random_state=seed)
    source, target = (AnnData(np.asarray(X, dtype=np.float32)) for X in data.Xs)
    for cells, name in ((source, "a"), (target, "b")):
        cells.obs_names = [
            f"both-{c}" if c < data.n_aligned else f"{name}-{c}"
            for c in range(cells.n_obs)
        ]
    source.obs["type"] = data.ys[0].astype(str)
    return source, target, data


# %%
# Half, a tenth and a fiftieth of the cells in both
# --------------------------------------------------
# Cells of one name are known pairs. ``transfer_labels`` gives every cell of the target
# a label, the probability that it is right, and ``unknown`` where that is below one
# half. Beside it: a vote of the five nearest cells of the target that are in both
# modalities, by their own numbers. Only cells whose pair is not known are scored.

shares, seeds = (0.5, 0.1, 0.02), range(3)
sure, right = [], []
print("in both  verdict  trust  guess right  nearest pairs  given  right of given")
for share in shares:
    for seed in seeds:
        source, target, data = modalities(share, seed)
        found = transfer_labels(source, target, "type", effort="quick")
        n, truth = data.n_aligned, data.ys[1].astype(str)
        guess = found["guess"].astype(object).to_numpy()[n:] == truth[n:]
        given = found["label"].astype(object).to_numpy()[n:] != "unknown"
        nearest = KNeighborsClassifier(min(n, 5)).fit(data.Xs[1][:n], data.ys[0][:n])
        votes = nearest.predict(data.Xs[1][n:]).astype(str) == truth[n:]
        of_given = f"{guess[given].mean():.2f}" if given.any() else "–"
        print(
            f"{n:7}  {found.attrs['verdict']:7}  {found.attrs['trust']:5.2f}  "
            f"{guess.mean():11.2f}  {votes.mean():13.2f}  {given.mean():5.2f}  "
            f"{of_given:>14}"
        )
        if found.attrs["verdict"] != "none":
            sure.append(found["confidence"].to_numpy()[n:])
            right.append(guess)

# %%
# With three or four pairs nothing can be said: pairs at random would be as good, the
# verdict is ``none``, and all cells are ``unknown``.
#
# Is the probability right?
# -------------------------
# Cells of all runs, sorted by confidence: the share of right labels should follow it.

if sure:
    sure, right = np.concatenate(sure), np.concatenate(right)
    parts = np.array_split(np.argsort(sure), 8)
    plt.figure(figsize=(4, 3.6), layout="constrained")
    plt.plot([0, 1], [0, 1], "--", color="gray")
    plt.plot([sure[p].mean() for p in parts], [right[p].mean() for p in parts], "o-")
    plt.xlabel("confidence")
    plt.ylabel("share of right labels")
    plt.show()
    print(f"expected {sure.mean():.2f}, right {right.mean():.2f}")

# %%
# The probability is found on the known pairs themselves: each is left out, labelled by
# the others, and compared with its partner's label. With many pairs it is sharp, with
# few it is not; with none there is the trust in the matches, if there are any
# (:doc:`/cells`).
