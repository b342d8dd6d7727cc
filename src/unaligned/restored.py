"""Whether the parts of a model or a checkpoint that come from a file fit together.

A file can hold anything. Numbers out of range can crash compiled code, and arrays of
other shapes fail far from their cause. So shapes, types, ranges and finiteness are
checked here, before anything is computed with them.

Shapes are written as words: ``"n m"`` is an array of finite numbers with two axes.
``v`` stands for the number of views, ``k`` for that of clusters, ``n`` and ``d`` for
the rows and columns of a view, ``t`` for the rows of the template, ``_`` for any
length. Other words stand for one length each, the same wherever they occur. A list with
one entry describes every view's in turn, a dict the fields of a record.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

__all__ = [
    "check_alignment",
    "check_course",
    "check_fitted",
    "check_numbers",
    "check_random_numbers",
    "check_shapes",
]

STATE_LENGTH = 624  # of the Mersenne twister
EVIDENCE = ("NoneType", "ClusterEvidence")  # on the number of clusters
OF_VIEW = ("n", "d")
LARGEST_SEED = np.iinfo(np.uint32).max


def check_random_numbers(state: Any) -> tuple[Any, ...]:
    """Check the state of a RandomState: NumPy takes it as it is, and may crash."""
    name, keys, position, has_gauss, gauss = state
    _need(name == "MT19937", "its random numbers are of an unknown kind")
    _need(
        isinstance(keys, np.ndarray)
        and keys.dtype == np.uint32
        and keys.shape == (STATE_LENGTH,)
        # What counts of the first number is its highest bit. From zeros alone the
        # generator draws nothing else, and looks for another one without end.
        and bool(keys[0] >> 31 or keys[1:].any()),
        "the state of its random numbers is damaged",
    )
    _need(
        is_count(position) and position <= STATE_LENGTH and has_gauss in (0, 1),
        f"its random numbers are at position {position!r} of {STATE_LENGTH}",
    )
    _need(is_finite(gauss), "the state of its random numbers is damaged")
    return name, keys, int(position), int(has_gauss), float(gauss)


def check_numbers(parts: Mapping[str, Any]) -> None:
    """Check the parts of a record: NaN has no place there, though infinity has."""
    for name, part in parts.items():
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            _need(not np.isnan(part).any(), f"{name} holds NaN")


def check_fitted(model: Any) -> None:
    """Check what a fit left in an estimator, as far as it is there."""
    fitted = vars(model)
    if "best_estimator_" in fitted:  # a search: all else is that of its best
        _need(hasattr(model.best_estimator_, "get_params"), "it has no best estimator")
        return
    if "n_views_" not in fitted:
        shapes = getattr(model, "_fitted_shapes", {})
        begun = sorted(shapes.keys() & fitted.keys())
        _need(not begun, f"it has {begun and begun[0]}, but no views")
        return
    sizes = _check_views(model)
    if "labels_" in fitted:
        _check_answer(model, sizes)
        check_shapes(vars(model), getattr(model, "_fitted_shapes", {}), sizes)
        _try_out(model, sizes)
    else:  # its fit was stopped before it found any
        found = sorted(fitted.keys() & {"alignment_", "n_iter_", "view_labels_"})
        _need(not found, f"it has {found and found[0]}, but no labels_")


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
                _need(one, "it has no answer for a row")


def _check_views(model: Any) -> dict[str, int]:
    """Check the views that a model remembers; return their sizes."""
    parts = ("n_views_", "view_names_in_", "n_features_per_view_")
    v, names, widths = (vars(model).get(name) for name in parts)
    _need(is_count(v) and v >= 1, f"n_views_ is {v!r}")
    _need(
        isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names) == v,
        f"it does not name its {v} views",
    )
    _need(
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
    _need(is_count(k) and k >= 1, f"n_clusters_ is {k!r}")
    sizes["k"] = k
    kind = type(fitted.get("clusters_evidence_")).__name__
    _need(kind in EVIDENCE, f"its evidence on the number of clusters is a {kind}")
    check_shapes(fitted, {"view_labels_": ["int n"]}, sizes)
    n_rows = [sizes[f"n{i}"] for i in range(v)]
    labels = model.view_labels_
    _need(
        all(
            n and x.min() >= 0 and x.max() < sum(n_rows)
            for n, x in zip(n_rows, labels, strict=True)
        ),
        "view_labels_ holds numbers that are no clusters",
    )
    _need(
        isinstance(model.labels_, np.ndarray)
        and np.array_equal(model.labels_, labels[0]),
        "labels_ are not those of the first view",
    )
    check_alignment(fitted.get("alignment_"), n_rows)
    template = model.alignment_.template
    _need(fitted.get("template_") == template, "template_ is not that of alignment_")
    _need(model.alignment_.view_names == model.view_names_in_, "views have two names")
    sizes["t"] = n_rows[template]
    single = fitted.get("_single_view_labels")
    if single is not None:
        check_shapes(
            {"single_view_labels_": single}, {"single_view_labels_": ["int n"]}, sizes
        )
    if "objective_" in fitted:
        check_shapes(fitted, {"objective_": "_"}, sizes)
    _need(is_count(fitted.get("n_iter_")), f"n_iter_ is {fitted.get('n_iter_')!r}")
    _need(type(fitted.get("converged_")) in (bool, np.bool_), "converged_ is no bool")
    seed = fitted.get("_seed", 0)
    _need(is_seed(seed), f"its seed is {seed!r}")


def check_alignment(alignment: Any, n_rows: list[int]) -> None:
    """Check an alignment of views that have so many rows."""
    _need(type(alignment).__name__ == "Alignment", "it holds no alignment")
    template, v = alignment.template, len(n_rows)
    _need(is_count(template) and template < v, f"its template is view {template!r}")
    names = alignment.view_names
    _need(
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
        _need(
            bool(((rows >= -1) & (rows < n)).all()),
            f"its alignment names rows beyond the {n} of a view",
        )
    for shares in (*alignment.confidence, alignment.trust[~untold]):
        _need(
            bool(((shares >= 0) & (shares <= 1 + 1e-6)).all()),
            "confidence and trust of its alignment are not between 0 and 1",
        )
    _need(isinstance(alignment.others, list), "its alignment has no list of others")
    for group in alignment.others:
        _need(not getattr(group, "others", True), "its alignment has others in others")
        check_alignment(group, n_rows)


def check_course(course: Any, estimator: Any, views: Any) -> None:
    """Check that a fit of these views can have come as far as a checkpoint says."""
    v, k, n_iter, state = len(views), course.n_clusters, course.n_iter, course.state
    _need(is_count(k) and 1 <= k <= min(views.n_rows), f"it has {k!r} clusters")
    wanted = estimator.n_clusters
    _need(wanted in ("auto", k), f"it has {k} clusters, not {wanted}")
    _need(is_seed(course.seed), f"its seed is {course.seed!r}")
    _need(
        is_count(n_iter)
        and isinstance(course.objectives, list)
        and len(course.objectives) in (0, n_iter)
        and all(map(is_finite, course.objectives)),
        f"its objectives are not those of {n_iter!r} iterations",
    )
    sizes = {"v": v, "k": k}
    _need(type(course.evidence).__name__ in EVIDENCE, "its evidence is none")
    for i, (n, d) in enumerate(zip(views.n_rows, views.widths, strict=True)):
        sizes |= {f"n{i}": n, f"d{i}": d}
    check_shapes({"pairs": course.identities}, {"pairs": ["int n"]}, sizes)
    for numbers in course.identities:
        known = numbers[numbers >= 0]
        _need(len(np.unique(known)) == len(known), "a row has two partners in a view")
    _need(isinstance(state, dict), "it has no state")
    check_shapes(state, estimator._state_shapes, sizes)
    for rows in state.get("permutations", []):
        once = np.array_equal(np.sort(rows), np.arange(len(rows)))
        _need(once, "it does not match every row once")
    template = state.get("template", 0)
    _need(is_count(template) and template < v, f"its template is view {template!r}")
    _need(is_finite(state.get("objective", 0.0)), "its objective is not finite")


def check_shapes(parts: Any, shapes: Mapping[str, Any], sizes: dict[str, int]) -> None:
    """Check arrays by name, and note in ``sizes`` what is learned from them.

    Parameters
    ----------
    parts : dict or record
        What holds the arrays.
    shapes : dict
        Their shapes, as the top of this module describes them.
    sizes : dict
        Lengths that are known, with that of view 0 as ``n0``, and so on.
    """
    for name, shape in shapes.items():
        is_dict = isinstance(parts, Mapping)
        absent = name not in parts if is_dict else not hasattr(parts, name)
        _need(not absent, f"{name} is missing")
        part = parts[name] if is_dict else getattr(parts, name)
        _check_shape(name, part, shape, sizes, "")


def _check_shape(
    name: str, part: Any, shape: Any, sizes: dict[str, int], view: str
) -> None:
    if isinstance(shape, list):
        _need(isinstance(part, list | tuple), f"{name} is no list")
        inner = bool(view)  # a list in that of a view may have any length
        _need(inner or len(part) == sizes["v"], f"{name} is not of {sizes['v']} views")
        for i, item in enumerate(part):
            _check_shape(name, item, shape[0], sizes, view or str(i))
    elif isinstance(shape, Mapping):
        check_shapes(part, shape, sizes)
    else:
        _check_array(name, part, shape.split(), sizes, view)


def _check_array(
    name: str, part: Any, words: list[str], sizes: dict[str, int], view: str
) -> None:
    whole = words[:1] == ["int"]
    kinds, axes = ("iu", words[1:]) if whole else ("biuf", words)
    _need(
        (isinstance(part, np.ndarray) or sparse.issparse(part))
        and part.dtype.kind in kinds
        and part.ndim == len(axes),
        f"{name} is no array of {len(axes)} axes",
    )
    for word, length in zip(axes, part.shape, strict=True):
        if word != "_":
            known = sizes.setdefault(word + view * (word in OF_VIEW), length)
            _need(known == length, f"{name} has the shape {part.shape}")
    values = part.data if sparse.issparse(part) else part
    _need(bool(np.isfinite(values).all()), f"{name} is not finite")


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


def _need(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)
