"""Scores of labels, alignments and shared spaces, and what chance would score."""

from unaligned.metrics.clustering import (
    clustering_accuracy,
    clustering_scores,
    joint_scores,
    pair_f_score,
    purity,
    single_view_scores,
)
from unaligned.metrics.matches import (
    category_alignment_chance,
    category_alignment_rate,
    instance_alignment_rate,
)
from unaligned.metrics.shared_spaces import (
    foscttm,
    label_transfer_accuracy,
    label_transfer_chance,
    retrieval_ranks,
)

__all__ = [
    "category_alignment_chance",
    "category_alignment_rate",
    "clustering_accuracy",
    "clustering_scores",
    "foscttm",
    "instance_alignment_rate",
    "joint_scores",
    "label_transfer_accuracy",
    "label_transfer_chance",
    "pair_f_score",
    "purity",
    "retrieval_ranks",
    "single_view_scores",
]
