"""PAVuC-ATS, the paper's method: updates, solver, safeguard, estimator."""

from unaligned.pavuc.estimator import PAVuC

__all__ = ["PAVuC"]
