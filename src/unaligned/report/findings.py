"""Findings: all that a report shows, gathered from a fitted estimator as plain data."""

import inspect
import platform
import reprlib
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unaligned.alignment import Alignment
from unaligned.report.maps import draw_maps, rows_to_draw
from unaligned.report.rows import Column, check_columns, check_ids
from unaligned.selection.evidence import ClusterEvidence

__all__ = ["Findings", "Parameter", "ViewFindings", "gather"]

PACKAGES = ("unaligned", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class ViewFindings:
    """What was found about one view."""

    name: str
    n_features: int
    coordinates: NDArray[np.float32]
    """Place of every row on the map: (n_rows, 2), within a circle of radius one."""
    labels: NDArray[np.intp] | None
    """Cluster of every row; None where nothing was clustered."""
    shares_clusters: bool
    """Whether its clusters are those of the template under the same names."""
    partners: NDArray[np.intp]
    """Its row matched to every row of the template, -1 where there is none."""
    confidence: NDArray[np.float64]
    """How sure each of these matches is."""
    verdict: str
    """What corresponds: "objects", "classes" or "none"; "untested": nobody knows."""
    trust: float
    """Probability that the verdict is right; NaN where nothing was tested."""
    basis: str
    """What the verdict rests on: "structure" or "known pairs"."""
    known: float
    """Share of the template's rows whose partner here was given."""
    weight: float | None
    ids: list[str] | None
    """The user's names of the rows; None: row numbers."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.coordinates)

    @property
    def n_matched(self) -> int:
        """Rows of the template that have a partner here."""
        return int((self.partners >= 0).sum())

    def row_name(self, row: int) -> str:
        """Id of a row, or its number."""
        return str(row) if self.ids is None else self.ids[row]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an estimator, as text."""

    name: str
    value: str
    is_default: bool


@dataclass(frozen=True)
class Findings:
    """What a report shows."""

    method: str
    views: list[ViewFindings]
    template: int
    maps_show: str
    """What the maps were made from."""
    columns: list[Column]
    objective: NDArray[np.float64] | None
    n_iter: int | None
    converged: bool | None
    parameters: list[Parameter]
    versions: dict[str, str]
    citation: str | None
    apart: list[Alignment] = field(default_factory=list)
    """Groups of views that belong together, though not with the template."""
    suspects: dict[tuple[int, int], NDArray[np.intp]] = field(default_factory=dict)
    """Known pairs that the data contradict, by two views."""
    evidence: ClusterEvidence | None = None
    """On the number of clusters; None where it was given."""

    @property
    def n_clusters(self) -> int:
        """Clusters in the template and the views that share them."""
        labels = [
            view.labels
            for view in self.views
            if view.shares_clusters and view.labels is not None
        ]
        return len(np.unique(np.concatenate(labels))) if labels else 0

    @property
    def others(self) -> list[ViewFindings]:
        """All views but the template."""
        return [view for i, view in enumerate(self.views) if i != self.template]

    @property
    def n_suspects(self) -> int:
        """Known pairs that the data contradict."""
        return sum(map(len, self.suspects.values()))

    def suspect_rows(self, at_most: int | None = None) -> list[dict[str, Any]]:
        """List views, rows and ids of known pairs that the data contradict."""
        pairs = (
            [*zip(views, rows, strict=True)]
            for views, some in self.suspects.items()
            for rows in some.tolist()
        )
        return [
            {
                f"{end}{what}": value
                for end, (i, row) in zip(("", "other_"), pair, strict=True)
                for what, value in (
                    ("view", self.views[i].name),
                    ("row", row),
                    ("id", self.views[i].row_name(row)),
                )
            }
            for pair in islice(pairs, at_most)
        ]


def gather(
    found: Any,
    Xs: Any = None,
    *,
    ids: Any = None,
    columns: Any = None,
    maps: bool = True,
    verbose: int = 0,
) -> Findings:
    """Gather what a report shows.

    Parameters
    ----------
    found : fitted estimator, or Alignment found by `unaligned.align`
    Xs, ids, columns
        As in `unaligned.report.write_report`.
    maps : bool, default=True
        Whether to draw the maps, which takes seconds. False: all rows lie in one place.
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
    user_columns = check_columns(columns, names, n_rows)
    if maps:
        places = draw_maps(rows, alignment, verbose)
    else:
        places = [np.zeros((n, 2), dtype=np.float32) for n in n_rows]

    labels = getattr(found, "view_labels_", [None] * n_views)
    weights = getattr(found, "view_weights_", [None] * n_views)
    widths = getattr(found, "n_features_per_view_", None)
    if widths is None:
        widths = [X.shape[1] for X in rows]
    # Methods that refuse views name those they did not refuse.
    fused = getattr(found, "fused_views_", None)
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
    )


def _parameters(model: Any) -> list[Parameter]:
    """Parameters of an estimator, in the order of its constructor."""
    described = []
    values = model.get_params(deep=False)
    for name, parameter in inspect.signature(type(model)).parameters.items():
        value = values[name]
        # `is` first: comparing arrays with == gives no truth.
        same = value is parameter.default or repr(value) == repr(parameter.default)
        described.append(Parameter(name, reprlib.repr(value), same))
    return described
