"""
Two pairs in a hundred
======================

Two views of 1,797 digits, pixels and directions of edges, are shuffled apart, and few
pairs of rows are known. They are enough to cluster all rows of both views under one
naming, and to estimate what a row of one view looks like in the other.
"""

import matplotlib.pyplot as plt
import numpy as np

from unaligned import SAVuC
from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import joint_scores

digits = load_digits_views()
views, y = digits.Xs[:2], digits.y

# %%
# ``verdict`` says what corresponds in the second view, and ``basis`` what that rests
# on. Joint accuracy has one naming for all rows of both views; beside it is the floor,
# what the same clusters would have if the names of each view were shuffled.

shares = 0, 0.005, 0.02, 0.1, 0.5
joint, floor, models = [], [], {}
print("known  verdict  basis        trust  joint accuracy (floor)")
for share in shares:
    shuffled = unalign(views, y, ratio=share, random_state=0)
    model = SAVuC(10, effort="quick", random_state=0)
    model.fit(shuffled.Xs, aligned=shuffled.n_aligned)
    scores = joint_scores(shuffled.ys, model.view_labels_)
    joint.append(scores["acc"])
    floor.append(scores["floor_acc"])
    models[share] = model, shuffled
    other, found = 1 - model.template_, model.alignment_
    print(
        f"{shuffled.n_aligned:5}  {found.verdict[other]:7}  {found.basis[other]:11}  "
        f"{found.trust[other]:5.2f}  {joint[-1]:.2f} ({floor[-1]:.2f})"
    )

fig, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
places = np.arange(len(shares))
axes.plot(places, joint, "o-", label="SAVuC")
axes.plot(places, floor, "--", color="gray", label="names of each view shuffled")
axes.set_xticks(places, [f"{share:.1%}" for share in shares])
axes.set(xlabel="pairs known", ylabel="joint accuracy", ylim=(0, 1))
axes.legend()
plt.show()

# %%
# ``translate`` gives rows of one view in the columns of another, with a standard error
# for every entry. Here directions of edges become pixels, for digits whose partner was
# not known; the truth is beside them.

model, shuffled = models[0.02]
place = np.argsort(shuffled.order[0])  # of every object among the rows of pixels
rows = shuffled.n_aligned + np.arange(8)
estimate, error = model.translate(shuffled.Xs[1][rows], 1, 0, return_std=True)
truth = shuffled.Xs[0][place[shuffled.order[1][rows]]]
squared = np.mean((estimate - truth) ** 2)
print(f"mean squared error {squared:.3f}, expected {np.mean(error**2):.3f}")

fig, axes = plt.subplots(2, len(rows), figsize=(8, 2.4), layout="constrained")
for (above, below), image, own in zip(axes.T, estimate, truth, strict=True):
    above.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    below.imshow(own.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    for ax in (above, below):
        ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("estimate")
axes[1, 0].set_ylabel("truth")
plt.show()
