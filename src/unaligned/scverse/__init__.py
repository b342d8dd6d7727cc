"""Cells of several modalities, in AnnData and MuData: aligned, clustered, labelled."""

from unaligned.scverse.aligning import align
from unaligned.scverse.clusters import cluster
from unaligned.scverse.labels import transfer_labels

__all__ = ["align", "cluster", "transfer_labels"]
