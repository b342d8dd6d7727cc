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
    if isinstance(found, Alignment):
        alignment = found
    else:
        check_is_fitted(found, "alignment_")
        alignment = found.alignment_
    n_views = alignment.n_views
    rows, maps_show = rows_to_draw(found, Xs)
    names, n_rows = alignment.view_names, [X.shape[0] for X in rows]
    view_ids = check_ids(ids, Xs, names, n_rows)
    given = views_in(Xs, n_views)
    prepared = [X if isinstance(X, Prepared) else None for X in given]
    user_columns = check_columns(columns, names, n_rows)
    joint: list[Any] = [None] * n_views
    if maps:
        places = draw_maps(rows, alignment, verbose)
        joint = draw_joint(rows, alignment)
    else:
        places = [np.zeros((n, 2), dtype=np.float32) for n in n_rows]

    rows_alone = _without_partner(alignment.with_rows(n_rows, [None] * n_views))
    labels = getattr(found, "view_labels_", [None] * n_views)
    features = [feature_names(X, d.shape[1]) for X, d in zip(given, rows, strict=True)]
    clusters = [None] * n_views
    if maps_show == THE_VIEWS:
        clusters = _clusters(found, rows, labels, features)
        wanted = [
            _worth_showing(X, described)
            for X, described in zip(rows, clusters, strict=True)
        ]
        user_columns += value_columns(rows, names, features, wanted)
    weights = getattr(found, "view_weights_", [None] * n_views)
    widths = getattr(found, "n_features_per_view_", None)
    if widths is None:
        widths = [X.shape[1] for X in rows]
    # Only methods that refuse views have this attribute.
    fused = getattr(found, "fused_views_", None)
    promising = alignment.promising()
    views = [
        ViewFindings(
            name=names[i],
            n_features=widths[i],
            coordinates=places[i],
            labels=labels[i],
            shares_clusters=fused is None or i in fused,
            partners=alignment.permutations[i],
            confidence=alignment.confidence[i],
            verdict=alignment.verdict[i],
            trust=float(alignment.trust[i]),
            basis=alignment.basis[i],
            known=float(alignment.known[i]),
            weight=None if weights[i] is None else float(weights[i]),
            ids=view_ids[i],
            prepared=prepared[i],
            unmatched=rows_alone[i],
            clusters=clusters[i],
            joint=joint[i],
            promising=i in promising,
        )
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
