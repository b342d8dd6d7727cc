"""Cells of several modalities, in AnnData and MuData: aligned, clustered, labelled."""

from unaligned.scverse import pl
from unaligned.scverse.aligning import align
from unaligned.scverse.clusters import cluster
from unaligned.scverse.labels import transfer_labels
from unaligned.scverse.mapping import joint_map

__all__ = ["align", "cluster", "joint_map", "pl", "transfer_labels"]
