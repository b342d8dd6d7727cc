"""The pictures of the report, drawn with matplotlib.

Displays follow scikit-learn: ``from_estimator`` computes and draws, ``plot`` draws
again, and ``ax_`` and ``figure_`` hold the axes and the figure. They need matplotlib,
which is imported when something is drawn.
"""

from unaligned.plotting.evidence import ClusterEvidenceDisplay
from unaligned.plotting.fits import ConvergenceDisplay, WeightsDisplay
from unaligned.plotting.maps import AlignmentDisplay, EmbeddingDisplay

__all__ = [
    "AlignmentDisplay",
    "ClusterEvidenceDisplay",
    "ConvergenceDisplay",
    "EmbeddingDisplay",
    "WeightsDisplay",
]
