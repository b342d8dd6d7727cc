"""Views to try things on, and a way to take their correspondence away."""

from unaligned.datasets._digits import load_digits_views
from unaligned.datasets._files import load
from unaligned.datasets._unalign import unalign

__all__ = ["load", "load_digits_views", "unalign"]
