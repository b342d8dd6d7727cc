"""
What a fit found, in four pictures and one page
===============================================

Displays draw what a fitted estimator holds; ``model.report`` writes all of it as one
interactive page.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from unaligned import PAVuC, align
from unaligned.datasets import load_digits_views, unalign
from unaligned.plotting import (
    AlignmentDisplay,
    ConvergenceDisplay,
    EmbeddingDisplay,
    WeightsDisplay,
)

digits = load_digits_views()
views = [X[:500] - X[:500].mean(axis=0) for X in digits.Xs]
data = unalign(views, digits.y[:500], random_state=0)
Xs = dict(zip(digits.view_names, data.Xs, strict=True))
found = align(Xs, effort="quick", random_state=0)
found

# %%
# ``align`` says whom it trusts. PAVuC takes those pairs as known.

model = PAVuC(n_clusters=10, max_iter=200, tol=1e-4, random_state=0)
model.fit(Xs, aligned=found.trusted_pairs())

figure, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=axes[0, 0])
WeightsDisplay.from_estimator(model, ax=axes[0, 1])
EmbeddingDisplay.from_estimator(model, "pixels", Xs, ax=axes[1, 0])
AlignmentDisplay.from_estimator(model, Xs=Xs, ax=axes[1, 1])
plt.show()

# %%
# The same and more on one page, which needs no network: linked maps of all views, the
# table of matches, and what to make of them.

page = model.report(Path(tempfile.mkdtemp()) / "digits.html", Xs)
f"{page.name}: {page.stat().st_size / 1e3:.0f} kB"
