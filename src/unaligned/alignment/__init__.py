"""Which row of which view belongs to which, and how far to trust it."""

from unaligned.alignment.correspondence import Alignment
from unaligned.alignment.parts import BASES, TRUSTED, VERDICTS

__all__ = ["BASES", "TRUSTED", "VERDICTS", "Alignment"]
