"""The methods that the paper compares with, one file each, on PAVuC's contract."""

from unaligned.baselines.lmvsc import LMVSC

__all__ = ["LMVSC"]
