"""Findings: all that a report shows, as plain data."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import Alignment
from unaligned.preparation.notes import Prepared
from unaligned.report.clusters import ViewClusters
from unaligned.report.review import Doubtful
from unaligned.report.rows import Column
from unaligned.selection.evidence import ClusterEvidence

__all__ = ["Findings", "Parameter", "ViewFindings"]


@dataclass(frozen=True)
class ViewFindings:
    """Results for one view."""

    name: str
    n_features: int
    coordinates: NDArray[np.float32]
    """Place of every row on the map: (n_rows, 2), within a circle of radius one."""
    labels: NDArray[np.intp] | None
    """Cluster of every row; None if nothing was clustered."""
    shares_clusters: bool
    """Whether its clusters have the same names as those of the template."""
    partners: NDArray[np.intp]
    """Its row matched to every row of the template; -1: none."""
    confidence: NDArray[np.float64]
    """Probability that each of these matches is right."""
    verdict: str
    """"objects", "classes", "none" or "untested"."""
    trust: float
    """Probability that the verdict is right; NaN if nothing was tested."""
    basis: str
    """What the verdict is based on: "structure" or "known pairs"."""
    known: float
    """Share of the template's rows whose partner here was given."""
    weight: float | None
    ids: list[str] | None
    """The user's names of the rows; None: row numbers."""
    prepared: Prepared | None = None
    """What was done with the columns of its table; None if it was not prepared."""
    clusters: ViewClusters | None = None
    """Description of its clusters; None without clusters or without the view itself."""
    unmatched: NDArray[np.intp] | None = None
    """Its rows without a partner in any view; None if no view has any partners."""
    joint: NDArray[np.float32] | None = None
    """Place of every row on the map of all matched views; None if it is not matched."""
    promising: bool = False
    """Whether there is evidence for a matching, though too little."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.coordinates)

    @property
    def n_matched(self) -> int:
        """Rows of the template that have a partner here."""
        return int((self.partners >= 0).sum())

    @property
    def expected_right(self) -> float:
        """Expected number of right matches.

        A match is right with probability trust times confidence; known pairs are right.
        """
        sure = self.confidence[self.partners >= 0]
        known = (sure == 1) & (self.known > 0)
        return float(np.where(known, 1, self.trust * sure).sum())

    @property
    def n_doubtful(self) -> int:
        """Number of matches that are more likely wrong than right."""
        return int((self.confidence[self.partners >= 0] < 0.5).sum())

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
    """Groups of views that are aligned with each other, but not with the template."""
    suspects: dict[tuple[int, int], NDArray[np.intp]] = field(default_factory=dict)
    """Known pairs that the data contradict, by two views."""
    effort: str | None = None
    """Effort of the search; None if not known."""
    evidence: ClusterEvidence | None = None
    """Evidence on the number of clusters; None if that was given."""
    doubtful: list[Doubtful] = field(default_factory=list)
    """Matches to review first."""
    best_view: int | None = None
    """The view whose clusters are predicted best; None if not known."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters in the template and the views that share them."""
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

    def is_apart(self, view: ViewFindings) -> bool:
        """Whether a view is aligned with others, but not with the template."""
        groups = [group.trusted() for group in self.apart]
        return any(self.views[i] is view for group in groups for i in group)

    @property
    def n_suspects(self) -> int:
        """Number of known pairs that the data contradict."""
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
