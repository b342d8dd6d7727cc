"""Choosing parameters, the number of clusters and models where no label is known."""

from unaligned.selection.calibration import self_split, self_split_recovery
from unaligned.selection.criteria import predictability, stability
from unaligned.selection.evidence import ClusterEvidence
from unaligned.selection.n_clusters import select_n_clusters
from unaligned.selection.search import LabelFreeSearch

__all__ = [
    "ClusterEvidence",
    "LabelFreeSearch",
    "predictability",
    "select_n_clusters",
    "self_split",
    "self_split_recovery",
    "stability",
]
