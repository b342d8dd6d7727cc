"""What a worker does with a cell: load, shuffle, fit, score."""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import TSNE

from unaligned.base import Iterate
from unaligned.benchmark.cells import Cell
from unaligned.benchmark.memory import forget_peak, memory_bytes, peak_bytes
from unaligned.benchmark.methods import Method, method_of
from unaligned.benchmark.places import (
    joint_of,
    learned_places,
    places_of,
    split_halves,
    verdict_of,
)
from unaligned.benchmark.protocol import entry_of, load_views, shuffle_views
from unaligned.kernels.scaling import unit_rows
from unaligned.kernels.spectral import embed_graph
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    clustering_scores,
    joint_scores,
)
from unaligned.partitions.kmeans import cluster_rows
from unaligned.pavuc import PAVuC
from unaligned.pavuc.updates import fuse_graphs
from unaligned.selection import predictability

__all__ = ["measure"]

SCORES = ("acc", "nmi", "f", "ari", "purity")
JOINT = ("acc", "nmi", "floor_acc", "floor_nmi")
N_MAPPED = 100  # rows of every class in a map
MEGABYTE = 1e6


def measure(cell: Cell) -> dict[str, Any]:
    """Do what a cell asks for; scores are in percent."""
    method = method_of(cell.method)
    data = load_views(entry_of(cell.dataset), cell.rows, cell.views)
    if cell.measure == "map":
        data = thin_out(data)
    if cell.measure == "halves":
        shuffled, unseen = split_halves(data.Xs, cell.shuffle)
    else:
        shuffled = shuffle_views(data.Xs, data.y, cell.ratio, cell.shuffle)
    model = method.build(data.n_clusters, random_state=cell.shuffle, **cell.setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # usual in the paper, too
        if cell.measure == "trace":
            return trace(model, shuffled)
        result = fit(model, shuffled)
    if cell.measure == "map":
        return result | draw_map(model, shuffled)
    if cell.measure == "halves":
        return result | verdict_of(model) | places_of(model, unseen)
    if cell.measure == "rivals":
        result |= verdict_of(model) | learned_places(model, shuffled)
        return result | joint_of(model, shuffled)
    if model.template_ is not None:
        result |= scores_of(method, model, shuffled)
        result |= alignment_of(model, shuffled)
    if isinstance(getattr(model, "view_labels_", None), list):
        scores = joint_scores(shuffled.ys, model.view_labels_)
        result["joint"] = {name: round(100 * scores[name], 3) for name in JOINT}
    if isinstance(model, PAVuC):
        y = shuffled.ys[model.template_]
        result["template_alone"] = template_alone(model, y, method.evaluations)
        in_first_view = clustering_scores(shuffled.ys[0], model.view_labels_[0])
        result["first_view"] = percents(in_first_view)
    return result


def fit(model: Any, shuffled: Any) -> dict[str, Any]:
    """Fit, and tell what it cost."""
    forget_peak()
    before = memory_bytes()
    start, start_of_work = time.perf_counter(), time.process_time()
    model.fit(shuffled.Xs, aligned=shuffled.n_aligned or None)
    seconds, work = time.perf_counter() - start, time.process_time() - start_of_work
    peak = peak_bytes()
    cost = {
        "seconds": round(seconds, 3),
        "cpu_seconds": round(work, 3),  # what counts on a machine that others use, too
        "iterations": getattr(model, "n_iter_", None),
    }
    if peak is not None:
        cost["peak_mb"] = round(peak / MEGABYTE, 1)
    if peak is not None and before is not None:
        cost["grown_mb"] = round((peak - before) / MEGABYTE, 1)
    return cost


def scores_of(method: Method, model: Any, shuffled: Any) -> dict[str, Any]:
    """Scores in the row order that the method is scored in, with and without labels."""
    t, ys = model.template_, shuffled.ys
    scored = range(len(ys)) if method.mean_over_views else [t]
    labels = [model.view_labels_[i] for i in scored]
    if method.evaluations > 1:
        scores = kmeans_scores(model.embedding_, ys[t], model, method.evaluations)
    else:
        truths = [ys[i] for i in scored]
        scores = percents(*map(clustering_scores, truths, labels))
    judged = predictability([shuffled.Xs[i] for i in scored], labels)
    return {
        **scores,
        "label_free": round(float(np.mean(judged)), 4),
        "template": int(t),
    }


def kmeans_scores(
    points: NDArray[Any], y: NDArray[Any], model: Any, n_runs: int
) -> dict[str, float]:
    """Mean scores of several runs of k-means: how the paper scores."""
    k, n_init = model.n_clusters, model.n_init
    runs = [
        cluster_rows(points, k, n_init=n_init, seed=seed)[0] for seed in range(n_runs)
    ]
    return percents(*[clustering_scores(y, labels) for labels in runs])


def percents(*scores: dict[str, float]) -> dict[str, float]:
    """Mean of some scores, in percent."""
    return {
        name: round(100 * float(np.mean([one[name] for one in scores])), 3)
        for name in SCORES
    }


def alignment_of(model: Any, shuffled: Any) -> dict[str, Any]:
    """Share of matched rows of one class, what chance gives, and share matched."""
    alignment = getattr(model, "alignment_", None)
    if alignment is None or alignment.n_views == 1:
        return {}
    t, rows, ys = alignment.template, alignment.permutations, shuffled.ys
    others = [i for i in range(alignment.n_views) if i != t]
    matched = {i: float(np.mean(rows[i] >= 0)) for i in others}
    rates = [
        category_alignment_rate(ys[i], ys[t], rows[i]) for i in others if matched[i]
    ]
    chances = [category_alignment_chance(ys[i], ys[t]) for i in others]
    return {
        "same_class": round(100 * float(np.mean(rates)), 3) if rates else None,
        "by_chance": round(100 * float(np.mean(chances)), 3),
        "matched": round(float(np.mean(list(matched.values()))), 4),
        "trusted_views": len(set(alignment.trusted()) - {t}),
    }


def template_alone(model: Any, y: NDArray[Any], n_runs: int) -> dict[str, float]:
    """Scores of PAVuC's template from its own graph, scored like the whole."""
    graph = model.anchor_graphs_[model.template_]
    points = unit_rows(embed_graph(graph, model.n_clusters).vectors)
    return kmeans_scores(points, y, model, n_runs)


class TracedPAVuC(PAVuC):
    """PAVuC that keeps what it would return after every iteration."""

    def _iterate(self, *problem: Any) -> Iterator[Iterate]:
        views, pairs, _ = problem
        self.trace_: list[tuple[float, int, NDArray[np.intp]]] = []
        for iterate in super()._iterate(*problem):
            found = self._describe(iterate.state, views, pairs, seed=0)
            t = found["template_"]
            objective = float(f"{iterate.objective:.10g}")
            self.trace_.append((objective, t, found["view_labels_"][t]))
            yield iterate


def trace(model: PAVuC, shuffled: Any) -> dict[str, Any]:
    """Objective and scores after every iteration of PAVuC (Figure 6)."""
    traced = TracedPAVuC(**model.get_params())
    cost = fit(traced, shuffled)
    scores = [
        percents(clustering_scores(shuffled.ys[t], labels))
        for _, t, labels in traced.trace_
    ]
    curves = {name: [one[name] for one in scores] for name in ("acc", "nmi")}
    objective = [objective for objective, _, _ in traced.trace_]
    return cost | {"trace": {"objective": objective, **curves}}


def thin_out(data: Any) -> Any:
    """Keep at most a hundred random rows of every class, as Figure 3 does."""
    rng = np.random.RandomState(0)
    rows = rng.permutation(len(data.y))
    chosen = [rows[data.y[rows] == c][:N_MAPPED] for c in range(data.n_clusters)]
    kept = np.sort(np.concatenate(chosen))
    data.Xs, data.y = [X[kept] for X in data.Xs], data.y[kept]
    return data


def draw_map(model: Any, shuffled: Any) -> dict[str, Any]:
    """t-SNE of every view and of the fused anchor graph (Figure 3)."""
    fused = fuse_graphs(model.anchor_graphs_, model.alignment_.permutations)
    panels = [*shuffled.Xs, fused]
    ys = [*shuffled.ys, shuffled.ys[model.template_]]
    perplexity = min(30, (len(fused) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init="pca", random_state=0)
    return {
        "map": [
            {
                "points": tsne.fit_transform(X).astype(float).round(1).tolist(),
                "classes": y.tolist(),
            }
            for X, y in zip(panels, ys, strict=True)
        ]
    }
