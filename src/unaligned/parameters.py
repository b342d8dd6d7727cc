"""Ranges of parameters that several estimators share."""

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = [
    "COMMON",
    "INT_OR_AUTO",
    "ITERATIVE",
    "NON_NEGATIVE",
    "POSITIVE",
    "POSITIVE_INT",
]

POSITIVE_INT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")

INT_OR_AUTO = [POSITIVE_INT, StrOptions({"auto"})]

COMMON: dict[str, list[Any]] = {
    "n_clusters": [POSITIVE_INT],
    "n_init": [POSITIVE_INT],
    "view_sizes": ["array-like", None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
ITERATIVE: dict[str, list[Any]] = {"max_iter": [POSITIVE_INT], "tol": [NON_NEGATIVE]}
