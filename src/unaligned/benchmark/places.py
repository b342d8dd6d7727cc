"""Rows of two views in the space that a method gives them: halves and rivals.

Scores are those that the alignment of single cells and of embeddings uses.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from unaligned.kernels.scaling import unit_rows
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    foscttm,
    instance_alignment_rate,
    joint_scores,
    retrieval_ranks,
)

__all__ = ["joint_of", "learned_places", "places_of", "split_halves", "verdict_of"]

LEARNED = 0.4  # share of the objects that each view is learned from; the rest is unseen


def split_halves(Xs: list[Any], shuffle: int) -> tuple[Bunch, list[Any]]:
    """Split two views into halves that share no object, and unseen pairs.

    Returns
    -------
    halves : Bunch
        ``Xs``: some objects of the first view and others of the second; ``n_aligned``
        is zero, for there is no pair.
    unseen : list
        Rows of objects that are in neither, in the same order in both views.
    """
    rows = np.random.RandomState(shuffle).permutation(Xs[0].shape[0])
    size = int(LEARNED * len(rows))
    one, other, unseen = np.split(rows, [size, 2 * size])
    halves = Bunch(Xs=[Xs[0][one], Xs[1][other]], n_aligned=0)
    return halves, [X[unseen] for X in Xs]


def places_of(model: Any, Xs: list[Any]) -> dict[str, Any]:
    """Scores of new rows of two views, which describe the same objects in turn."""
    if not hasattr(model, "transform"):
        return {}
    try:
        places = [model.transform(X, view=i) for i, X in enumerate(Xs)]
    except ValueError:  # a view that was refused has no place
        return {}
    return scores_of_places(*places)


def learned_places(model: Any, shuffled: Bunch) -> dict[str, Any]:
    """Scores of the rows that were fitted, brought back into a common order."""
    rows = [np.argsort(order) for order in shuffled.order]
    if not hasattr(model, "places_"):
        Xs = [X[at] for X, at in zip(shuffled.Xs, rows, strict=True)]
        return places_of(model, Xs)
    places = [found[at] for found, at in zip(model.places_, rows, strict=True)]
    return scores_of_places(*places)


def scores_of_places(one: NDArray[Any], other: NDArray[Any]) -> dict[str, Any]:
    """FOSCTTM and ranks of rows at unit length."""
    one, other = unit_rows(one), unit_rows(other)
    ranks = retrieval_ranks(one, other)
    return {
        "foscttm": round(foscttm(one, other), 4),
        "top1": round(100 * ranks["top1"], 2),
        "mean_rank": round(ranks["mean_rank"], 2),
        "mean_reciprocal_rank": round(ranks["mean_reciprocal_rank"], 4),
        "placed": len(one),
    }


def joint_of(model: Any, shuffled: Bunch) -> dict[str, Any]:
    """One naming over all rows of both views, with its floor, and matches.

    Of matches, those that were not given.
    """
    scores = joint_scores(shuffled.ys, model.view_labels_)
    t = model.template_
    found = model.alignment_.permutations[1 - t].copy()
    found[: shuffled.n_aligned] = -1
    orders, ys = shuffled.order, shuffled.ys
    rates = {
        "same_object": instance_alignment_rate(orders[1 - t], orders[t], found),
        "same_class": category_alignment_rate(ys[1 - t], ys[t], found),
        "by_chance": category_alignment_chance(ys[1 - t], ys[t]),
        "joint_acc": scores["acc"],
        "joint_floor": scores["floor_acc"],
    }
    return {
        name: None if np.isnan(rate) else round(100 * rate, 3)
        for name, rate in rates.items()
    }


def verdict_of(model: Any) -> dict[str, Any]:
    """Verdict on the view that is no template, and its trust; None: not tested."""
    alignment = model.alignment_
    other = 1 - alignment.template
    trust = float(alignment.trust[other])
    known = None if np.isnan(trust) else round(trust, 4)
    return {"verdict": alignment.verdict[other], "trust": known}
