"""Whether the parts of a model or a checkpoint that come from a file fit together.

A file can hold anything. Numbers out of range can crash compiled code, and arrays of
other shapes fail far from their cause. So shapes, types, ranges and finiteness are
checked here, before anything is computed with them.
"""

import warnings
from collections.abc import Mapping
from numbers import Real
from reprlib import repr as shortened
from typing import Any, get_type_hints

import numpy as np

from unaligned.shapes import check_shapes, need

__all__ = [
    "check_alignment",
    "check_course",
    "check_fitted",
    "check_numbers",
    "check_random_numbers",
    "check_types",
]

STATE_LENGTH = 624  # of the Mersenne twister
EVIDENCE = ("NoneType", "ClusterEvidence")  # on the number of clusters
LARGEST_SEED = np.iinfo(np.uint32).max


def check_random_numbers(state: Any) -> tuple[Any, ...]:
    """Check the state of a RandomState: NumPy takes it as it is, and may crash."""
    name, keys, position, has_gauss, gauss = state
    need(name == "MT19937", "its random numbers are of an unknown kind")
    need(
        isinstance(keys, np.ndarray)
        and keys.dtype == np.uint32
        and keys.shape == (STATE_LENGTH,)
        # What counts of the first number is its highest bit. From zeros alone the
        # generator draws nothing else, and looks for another one without end.
        and bool(keys[0] >> 31 or keys[1:].any()),
        "the state of its random numbers is damaged",
    )
    need(
        is_count(position) and position <= STATE_LENGTH and has_gauss in (0, 1),
        f"its random numbers are at position {position!r} of {STATE_LENGTH}",
    )
    need(is_finite(gauss), "the state of its random numbers is damaged")
    return name, keys, int(position), int(has_gauss), float(gauss)


def check_numbers(parts: Mapping[str, Any]) -> None:
    """Check the parts of a record: NaN has no place there, though infinity has."""
    for name, part in parts.items():
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            need(not np.isnan(part).any(), f"{name} holds NaN")


def check_types(record: Any, parts: Mapping[str, Any]) -> None:
    """Check that parts of a record are the numbers and records that it declares."""
    for name, declared in get_type_hints(record).items():
        if name not in parts or not isinstance(declared, type):
            continue
        part = parts[name]
        if declared is int:
            fits = is_count(part)
        elif declared is float:
            fits = isinstance(part, Real) and not np.isnan(float(part))
        else:
            known = declared is bool or declared.__module__.startswith("unaligned.")
            fits = not known or isinstance(part, declared)
        need(fits, f"{name} is {shortened(part)}, and no {declared.__name__}")


def check_fitted(model: Any) -> None:
    """Check what a fit left in an estimator, as far as it is there."""
    fitted = vars(model)
    if "best_estimator_" in fitted:  # a search: all else is that of its best
        need(hasattr(model.best_estimator_, "get_params"), "it has no best estimator")
        return
    if "n_views_" not in fitted:
        shapes = getattr(model, "_fitted_shapes", {})
        begun = sorted(shapes.keys() & fitted.keys())
        need(not begun, f"it has {begun and begun[0]}, but no views")
        return
    sizes = _check_views(model)
    if "labels_" in fitted:
        _check_answer(model, sizes)
        check_shapes(vars(model), model._shapes(), sizes)
        _try_out(model, sizes)
    else:  # its fit was stopped before it found any
        found = sorted(fitted.keys() & {"alignment_", "n_iter_", "view_labels_"})
        need(not found, f"it has {found and found[0]}, but no labels_")


def _try_out(model: Any, sizes: dict[str, int]) -> None:
    """Label and place a row of zeros of each view: what is amiss shows here."""
    views = range(sizes["v"])
    places = {
        "_predict_rows": views,
        "_place_rows": getattr(model, "fused_views_", views),
    }
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in places:
            for i in places[method] if hasattr(type(model), method) else ():
                found = getattr(model, method)(np.zeros((1, sizes[f"d{i}"])), i)
                one = len(found) == 1 and bool(np.isfinite(found).all())
                need(one, "it has no answer for a row")


def _check_views(model: Any) -> dict[str, int]:
    """Check the views that a model remembers; return their sizes."""
    parts = ("n_views_", "view_names_in_", "n_features_per_view_")
    v, names, widths = (vars(model).get(name) for name in parts)
    need(is_count(v) and v >= 1, f"n_views_ is {v!r}")
    need(
        isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names) == v,
        f"it does not name its {v} views",
    )
    need(
        isinstance(widths, list)
        and len(widths) == v
        and all(is_count(d) and d >= 1 for d in widths)
        and getattr(model, "n_features_in_", None) == sum(widths),
        f"it does not know the columns of its {v} views",
    )
    return {"v": v, **{f"d{i}": int(d) for i, d in enumerate(widths)}}


def _check_answer(model: Any, sizes: dict[str, int]) -> None:
    """Check labels and alignment of a fitted model; add what they tell of sizes."""
    fitted, v = vars(model), sizes["v"]
    k = fitted.get("n_clusters_")
    need(is_count(k) and k >= 1, f"n_clusters_ is {k!r}")
    sizes["k"] = k
    kind = type(fitted.get("clusters_evidence_")).__name__
    need(kind in EVIDENCE, f"its evidence on the number of clusters is a {kind}")
    check_shapes(fitted, {"view_labels_": ["int n"]}, sizes)
    n_rows = [sizes[f"n{i}"] for i in range(v)]
    labels = model.view_labels_
    need(
        all(
            n and x.min() >= 0 and x.max() < sum(n_rows)
            for n, x in zip(n_rows, labels, strict=True)
        ),
        "view_labels_ holds numbers that are no clusters",
    )
    need(
        isinstance(model.labels_, np.ndarray)
        and np.array_equal(model.labels_, labels[0]),
        "labels_ are not those of the first view",
    )
    check_alignment(fitted.get("alignment_"), n_rows)
    template = model.alignment_.template
    need(fitted.get("template_") == template, "template_ is not that of alignment_")
    need(model.alignment_.view_names == model.view_names_in_, "views have two names")
    best = fitted.get("best_view_", template)
    need(is_count(best) and best < v, f"best_view_ is {best!r}")
    sizes["t"] = n_rows[template]
    single = fitted.get("_single_view_labels")
    if single is not None:
        check_shapes(
            {"single_view_labels_": single}, {"single_view_labels_": ["int n"]}, sizes
        )
    if "objective_" in fitted:
        check_shapes(fitted, {"objective_": "_"}, sizes)
    need(is_count(fitted.get("n_iter_")), f"n_iter_ is {fitted.get('n_iter_')!r}")
    need(type(fitted.get("converged_")) in (bool, np.bool_), "converged_ is no bool")
    if hasattr(type(model), "single_view_labels_"):  # computed when asked for
        need("_single_view_labels" in fitted, "_single_view_labels is missing")
        seed = fitted.get("_seed")
        need(is_seed(seed), f"its seed is {seed!r}")


def check_alignment(alignment: Any, n_rows: list[int]) -> None:
    """Check an alignment of views that have so many rows."""
    need(type(alignment).__name__ == "Alignment", "it holds no alignment")
    template, v = alignment.template, len(n_rows)
    need(is_count(template) and template < v, f"its template is view {template!r}")
    names = alignment.view_names
    need(
        isinstance(names, list)
        and len(names) == v
        and all(isinstance(name, str) for name in names),
        f"its alignment does not name its {v} views",
    )
    sizes = {"v": v, "t": n_rows[template]}
    shapes = {"permutations": ["int t"], "confidence": ["t"]}
    check_shapes(alignment, shapes, sizes)
    untold = np.isnan(alignment.trust)
    check_shapes({"trust": np.where(untold, 0, alignment.trust)}, {"trust": "v"}, sizes)
    for rows, n in zip(alignment.permutations, n_rows, strict=True):
        need(
            bool(((rows >= -1) & (rows < n)).all()),
            f"its alignment names rows beyond the {n} of a view",
        )
    for shares in (*alignment.confidence, alignment.trust[~untold]):
        need(
            bool(((shares >= 0) & (shares <= 1 + 1e-6)).all()),
            "confidence and trust of its alignment are not between 0 and 1",
        )
    need(alignment.n_rows in ([], n_rows), "its alignment is of views of other size")
    need(isinstance(alignment.others, list), "its alignment has no list of others")
    for group in alignment.others:
        need(not getattr(group, "others", True), "its alignment has others in others")
        check_alignment(group, n_rows)


def check_course(course: Any, estimator: Any, views: Any) -> None:
    """Check that a fit of these views can have come as far as a checkpoint says."""
    v, k, n_iter, state = len(views), course.n_clusters, course.n_iter, course.state
    need(is_count(k) and 1 <= k <= min(views.n_rows), f"it has {k!r} clusters")
    wanted = estimator.n_clusters
    need(wanted in ("auto", k), f"it has {k} clusters, not {wanted}")
    need(is_seed(course.seed), f"its seed is {course.seed!r}")
    need(
        is_count(n_iter)
        and isinstance(course.objectives, list)
        and len(course.objectives) in (0, n_iter)
        and all(map(is_finite, course.objectives)),
        f"its objectives are not those of {n_iter!r} iterations",
    )
    sizes = {"v": v, "k": k}
    need(type(course.evidence).__name__ in EVIDENCE, "its evidence is none")
    for i, (n, d) in enumerate(zip(views.n_rows, views.widths, strict=True)):
        sizes |= {f"n{i}": n, f"d{i}": d}
    check_shapes({"pairs": course.identities}, {"pairs": ["int n"]}, sizes)
    for numbers in course.identities:
        known = numbers[numbers >= 0]
        need(len(np.unique(known)) == len(known), "a row has two partners in a view")
    need(isinstance(state, dict), "it has no state")
    check_shapes(state, estimator._state_shapes, sizes)
    for rows in state.get("permutations", []):
        once = np.array_equal(np.sort(rows), np.arange(len(rows)))
        need(once, "it does not match every row once")
    template = state.get("template", 0)
    need(is_count(template) and template < v, f"its template is view {template!r}")
    need(is_finite(state.get("objective", 0.0)), "its objective is not finite")


def is_count(value: Any) -> bool:
    """Whether something is a whole number, zero or more."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_whole and 0 <= int(value) < 2**62


def is_seed(value: Any) -> bool:
    """Whether something can start random numbers."""
    return is_count(value) and int(value) <= LARGEST_SEED


def is_finite(value: Any) -> bool:
    """Whether something is a finite number."""
    return isinstance(value, int | float | np.floating) and bool(np.isfinite(value))
