"""Table 4 of the paper, the rows we can run: ``python -m benchmarks.table4``.

Fully shuffled views, the released settings, scores in the template's row order. Needs
the files ProteinFold.npz and Wiki.npz; ``$UNALIGNED_DATA`` names their folder.
"""

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unaligned import PAVuC
from unaligned.datasets import load, unalign
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    clustering_scores,
    single_view_scores,
)

SETTINGS = {
    "ProteinFold": {"mu": 1e-3, "alpha": 2.0},
    "Wiki": {"mu": 0.1, "alpha": 1.5},
}
PUBLISHED = {"ProteinFold": (33.14, 40.70, 17.98), "Wiki": (53.41, 52.78, 47.64)}
SCORES = ("acc", "nmi", "f")


def one_shuffle(data, k, seed, parameters):
    """Scores of the fit, of its template alone, and of the alignment."""
    shuffled = unalign(data.Xs, data.y, random_state=seed)
    model = PAVuC(k, random_state=seed, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(shuffled.Xs)
    t, ys = model.template_, shuffled.ys
    fused = clustering_scores(ys[t], model.view_labels_[t])
    alone = clustering_scores(ys[t], model.single_view_labels_[t])
    rates = [
        category_alignment_rate(ys[i], ys[t], rows)
        for i, rows in enumerate(model.alignment_.permutations)
        if i != t
    ]
    return [fused[s] for s in SCORES], [alone[s] for s in SCORES], np.mean(rates)


def main():
    """Print ours, published and the floors for every dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument("--safeguard", action="store_true")
    arguments = parser.parse_args()
    print(f"ACC / NMI / F in percent, mean of {arguments.shuffles} shuffles")
    for name, parameters in SETTINGS.items():
        data = load(name)
        k = len(np.unique(data.y))
        parameters = {**parameters, "safeguard": arguments.safeguard}
        runs = [
            one_shuffle(data, k, seed, parameters) for seed in range(arguments.shuffles)
        ]
        fused, alone, rates = (
            np.mean(part, axis=0) for part in zip(*runs, strict=True)
        )
        singles = single_view_scores(data.Xs, [data.y] * len(data.Xs), k)
        best = max(singles, key=lambda scores: scores["acc"])
        rows = {
            "PAVuC-ATS, ours": fused,
            "PAVuC-ATS, published": np.array(PUBLISHED[name]) / 100,
            "template alone": alone,
            "best single view, k-means (oracle)": [best[s] for s in SCORES],
        }
        print(f"\n{name}")
        for row, scores in rows.items():
            print(f"  {row:36}" + " / ".join(f"{100 * s:5.1f}" for s in scores))
        chance = category_alignment_chance(data.y, data.y)
        print(f"  {'matched rows of one class (chance)':36}{rates:.3f} ({chance:.3f})")


if __name__ == "__main__":
    main()
