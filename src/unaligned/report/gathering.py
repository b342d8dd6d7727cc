"""Gathering what a report shows from a fitted estimator or an alignment."""

import inspect
import platform
import reprlib
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unaligned.alignment import Alignment
from unaligned.preparation.notes import Prepared
from unaligned.report.clusters import ViewClusters, describe_clusters
from unaligned.report.findings import Findings, Parameter, ViewFindings
from unaligned.report.maps import THE_VIEWS, draw_joint, draw_maps, rows_to_draw
from unaligned.report.review import doubtful_matches
from unaligned.report.rows import (
    check_columns,
    check_ids,
    feature_names,
    value_columns,
    views_in,
)

__all__ = ["gather"]

MOST_ROWS_ALONE = 20_000  # up to which each view is clustered alone for a report
MOST_COLUMNS = 20  # of a view that rows are coloured by
MOST_VALUES = 200_000  # of a view that a page holds, of four bytes each
PACKAGES = ("unaligned", "numpy", "scipy", "scikit-learn")


def gather(
    found: Any,
    Xs: Any = None,
    *,
    ids: Any = None,
    columns: Any = None,
    maps: bool = True,
    effort: str | None = None,
    verbose: int = 0,
) -> Findings:
    """Gather what a report shows.

    Parameters
    ----------
    found : fitted estimator, or Alignment found by `unaligned.align`
    Xs, ids, columns
        As in `unaligned.report.write_report`.
    maps : bool, default=True
        Whether to draw the maps, which takes seconds. False: all rows are at one place.
    effort : str, optional
        Effort of the search, which an Alignment does not know.
    verbose : int, default=0
        Whether to print a line per map.

    Returns
    -------
    Findings
    """
    alignment = found
    if not isinstance(found, Alignment):
        check_is_fitted(found, "alignment_")
        alignment = found.alignment_
    n_views, names = alignment.n_views, alignment.view_names
    rows, maps_show = rows_to_draw(found, Xs)
    n_rows = [X.shape[0] for X in rows]
    given = views_in(Xs, n_views)
    user_columns = check_columns(columns, names, n_rows)
    of_views = _results_of_views(found, alignment, rows) | {
        "ids": check_ids(ids, Xs, names, n_rows),
        "prepared": [X if isinstance(X, Prepared) else None for X in given],
    }
    if maps:
        of_views["coordinates"] = draw_maps(rows, alignment, verbose)
        of_views["joint"] = draw_joint(rows, alignment)
    else:
        nowhere = [np.zeros((n, 2), dtype=np.float32) for n in n_rows]
        of_views["coordinates"] = nowhere
    if maps_show == THE_VIEWS:
        features = [
            feature_names(X, d.shape[1]) for X, d in zip(given, rows, strict=True)
        ]
        clusters = _clusters(found, rows, of_views["labels"], features)
        of_views["clusters"] = clusters
        wanted = [*map(_worth_showing, rows, clusters)]
        user_columns += value_columns(rows, names, features, wanted)
    views = [
        ViewFindings(**{name: values[i] for name, values in of_views.items()})
        for i in range(n_views)
    ]
    return Findings(
        method="align" if found is alignment else type(found).__name__,
        views=views,
        template=alignment.template,
        maps_show=maps_show,
        columns=user_columns,
        objective=getattr(found, "objective_", None),
        n_iter=getattr(found, "n_iter_", None),
        converged=getattr(found, "converged_", None),
        parameters=[] if found is alignment else _parameters(found),
        versions={"python": platform.python_version()}
        | {name: version(name) for name in PACKAGES},
        citation=getattr(found, "citation", None),
        apart=alignment.others,
        suspects=alignment.suspects,
        evidence=getattr(found, "clusters_evidence_", None),
        best_view=getattr(found, "best_view_", None),
        effort=_effort(found) if effort is None else effort,
        doubtful=doubtful_matches(alignment, rows if maps_show == THE_VIEWS else None),
    )


def _results_of_views(
    found: Any, alignment: Alignment, rows: list[Any]
) -> dict[str, Any]:
    """List what was found of every view, by the fields of `ViewFindings`."""
    views = range(alignment.n_views)
    nothing = [None for _ in views]
    n_rows, widths = zip(*(X.shape for X in rows), strict=True)
    # Only methods that refuse views say which they fused.
    fused = getattr(found, "fused_views_", views)
    promising = alignment.promising()
    return {
        "name": alignment.view_names,
        "n_features": getattr(found, "n_features_per_view_", widths),
        "labels": getattr(found, "view_labels_", nothing),
        "shares_clusters": [i in fused for i in views],
        "partners": alignment.permutations,
        "confidence": alignment.confidence,
        "verdict": alignment.verdict,
        "trust": [float(trust) for trust in alignment.trust],
        "basis": alignment.basis,
        "known": [float(share) for share in alignment.known],
        "weight": [
            None if weight is None else float(weight)
            for weight in getattr(found, "view_weights_", nothing)
        ],
        "unmatched": _without_partner(alignment.with_rows(n_rows, nothing)),
        "promising": [i in promising for i in views],
    }


def _without_partner(alignment: Alignment) -> list[NDArray[np.intp] | None]:
    """Rows of each view without a partner; None for all if no row has one."""
    views = range(alignment.n_views)
    alone = [alignment.unmatched(i) for i in views]
    if all(len(alone[i]) == alignment.n_rows[i] for i in views):
        return [None for _ in views]
    return [*alone]


def _clusters(
    found: Any, rows: list[Any], labels: Any, features: list[list[str]]
) -> list[Any]:
    """Describe the clusters of every view, beside those of the view alone."""
    alone = [None] * len(rows)
    if max(X.shape[0] for X in rows) <= MOST_ROWS_ALONE:
        alone = getattr(found, "single_view_labels_", alone)
    return [
        None if own is None else describe_clusters(X, own, named, single)
        for X, own, named, single in zip(rows, labels, features, alone, strict=True)
    ]


def _worth_showing(X: Any, clusters: ViewClusters | None) -> list[int]:
    """Columns to colour rows by: all if there are few, or else the distinctive ones."""
    n, d = X.shape
    shown = [*range(min(d, MOST_COLUMNS))]
    if clusters is not None and d > MOST_COLUMNS:
        shown = clusters.positions
    return shown[: MOST_VALUES // n]


def _effort(found: Any) -> str | None:
    effort = getattr(found, "effort", None)
    return effort if isinstance(effort, str) else None


def _parameters(model: Any) -> list[Parameter]:
    """Parameters of an estimator, in the order of its constructor."""
    described = []
    values = model.get_params(deep=False)
    for name, parameter in inspect.signature(type(model)).parameters.items():
        value = values[name]
        # `is` first: == of arrays is no single bool.
        same = value is parameter.default or repr(value) == repr(parameter.default)
        described.append(Parameter(name, reprlib.repr(value), same))
    return described
