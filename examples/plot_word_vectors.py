"""
Words in two spaces
===================

Two methods make vectors of the same words from one corpus. Which vector of the one
space belongs to which of the other? The corpus is what is installed with this library:
the help pages of Python and the docstrings of NumPy, SciPy and scikit-learn, some
500,000 words. Other versions of these give slightly other figures.
"""

import re
from collections import Counter
from importlib import import_module
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from unaligned.metrics import retrieval_ranks
from unaligned.spaces import SpaceTranslator

# %%
# The corpus
# ----------

PARTS = {
    "numpy": ["linalg", "random"],
    "scipy": ["linalg", "ndimage", "optimize", "signal", "sparse", "stats"],
    "sklearn": ["cluster", "decomposition", "ensemble", "linear_model", "metrics"],
}


def docstrings(module):
    """List what a module says of its functions, and of its classes and methods."""
    for thing in vars(module).values():
        yield getattr(thing, "__doc__", None)
        if isinstance(thing, type):
            for own in vars(thing).values():
                yield getattr(own, "__doc__", None)


texts = [*topics.values()]
for library, parts in PARTS.items():
    for part in parts:
        found = docstrings(import_module(f"{library}.{part}"))
        texts += [text for text in found if type(text) is str]
paragraphs = [
    words
    for text in dict.fromkeys(texts)
    for paragraph in re.split(r"\n\s*\n", text)
    if len(words := re.findall("[a-z]{3,}", paragraph.lower())) > 5
]
counts = Counter(word for words in paragraphs for word in words)
vocabulary = [word for word, _ in counts.most_common(2000)]
print(f"{sum(counts.values()):,} words in {len(paragraphs):,} paragraphs")

# %%
# Two kinds of vectors
# --------------------
# The first space: which words stand within five words of each other, as positive
# pointwise mutual information. The second: which words stand in which paragraphs. Of
# both, 100 singular vectors are kept.

number = {word: i for i, word in enumerate(vocabulary)}
coded = [np.array([number.get(word, -1) for word in words]) for words in paragraphs]


def table(rows, columns, shape):
    """Count pairs of numbers; -1 is no number."""
    there = (rows >= 0) & (columns >= 0)
    ones = np.ones(there.sum())
    return sparse.coo_array((ones, (rows[there], columns[there])), shape).tocsr()


n = len(vocabulary)
near = sparse.csr_array((n, n))
for apart in range(1, 6):
    left = np.concatenate([words[:-apart] for words in coded])
    right = np.concatenate([words[apart:] for words in coded])
    near = near + table(left, right, (n, n)) + table(right, left, (n, n))
sums = near.sum(axis=1)
information = near.tocoo()
expected = sums[information.row] * sums[information.col] / sums.sum()
information.data = np.maximum(np.log(information.data / expected), 0)

place = np.repeat(np.arange(len(coded)), [len(words) for words in coded])
inside = table(np.concatenate(coded), place, (n, len(coded)))
inside.data[:] = 1
lengths = np.maximum(inside.sum(axis=0), 1)
weighted = sparse.diags_array(inside.sum(axis=1) ** -0.5) @ inside
weighted = weighted @ sparse.diags_array(lengths**-0.5)

neighbours, documents = (
    TruncatedSVD(101, random_state=0).fit_transform(X.tocsr())[:, 1:]
    for X in (information, weighted)
)

# %%
# No word known
# -------------
# From the vectors alone the spaces cannot be aligned, and ``SpaceTranslator`` says so.
# Whoever knows some words in both, a dictionary, has pairs. The words of the second
# space are in another order; those known come first. What is scored are all the others,
# among all words: the share whose own vector is nearest, the share that was expected,
# and the mean rank of the own vector by plain cosines, among the words that were not
# known. (Of 50 pairs ten are held out, from which no sound probability can be learned.)

rng = np.random.RandomState(0)
order = rng.permutation(n)
for n_known in (0, 50, 200, 500):
    rest = rng.permutation(order[n_known:])
    shuffled = np.concatenate([order[:n_known], rest])
    spaces = SpaceTranslator(effort="quick", random_state=0)
    spaces.fit(neighbours[order], documents[shuffled], aligned=n_known)
    if not spaces.n_pairs_:
        trust = spaces.alignment_.trust.min()
        print(f"{n_known} known: refused, trust {trust:.2f}")
        continue
    asked = order[n_known:]
    found = spaces.nearest(neighbours[asked])
    right = shuffled[found.rows[:, 0]] == asked
    center = documents.mean(axis=0)
    moved = normalize(spaces.translate(neighbours[asked]) - center)
    ranks = retrieval_ranks(moved, normalize(documents[asked] - center))
    print(
        f"{n_known} known: {right.mean():.2f} right, {found.confidence.mean():.2f} "
        f"expected; mean rank {ranks['mean_rank']:.1f} of {len(asked):,} by cosines"
    )

# %%
# Single words, the surest and the least sure of those that were not known:

by_confidence = np.argsort(-found.confidence)
for at in (*by_confidence[:5], *by_confidence[-5:]):
    nearest = vocabulary[shuffled[found.rows[at, 0]]]
    print(f"{vocabulary[asked[at]]:12} → {nearest:12} {found.confidence[at]:.2f}")

# %%
# Is the confidence right? Words sorted by it, in ten parts:

parts = np.array_split(by_confidence, 10)
plt.figure(figsize=(4, 3.6), layout="constrained")
plt.plot([0, 1], [0, 1], "--", color="gray")
plt.plot(
    [found.confidence[p].mean() for p in parts], [right[p].mean() for p in parts], "o-"
)
plt.xlabel("confidence")
plt.ylabel("share of right words")
plt.show()
