"""Settings of SAVuC's search and of its test: every figure of the method, in one place.

Where a figure comes from stands beside it:

- *cost*: it bounds time or memory; more is slower and no worse.
- *custom*: what the field commonly takes, never varied by us.
- *early*: set in early experiments by looking at labels of some of the datasets; not
  varied since the datasets were split.
- *calibrated*: set between wrong and right pairs of the development datasets of
  ``benchmarks/data/split.py`` and of generated views, reported on the checking ones
  (``python -m benchmarks.trust --calibrate``).
"""

from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

__all__ = ["EFFORTS", "Settings", "Step", "settings_of"]

Step = tuple[int, float]  # directions, temperature

MAY_BE_ZERO = ("least_gain", "n_rival_rows", "n_rivals", "ridge", "turning_point")
LARGEST = 2**31  # what compiled code counts to


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How SAVuC aligns two views.

    ``effort=`` of `unaligned.SAVuC` and `unaligned.align` takes one of these where none
    of its three words will do.

    Examples
    --------
    >>> from unaligned.savuc.config import EFFORTS
    >>> EFFORTS["quick"].n_starts < EFFORTS["thorough"].n_starts
    True
    """

    # Coordinates of a view
    n_directions: int = 50
    """Principal directions that are kept. Custom."""
    n_leading: int = 20
    """Of them, those that distances and centres are computed in. Early."""
    ridge: float = 0.03
    """Share of the mean variance added to each variance before whitening. Early."""

    # What the search knows of a view
    n_sketched: int = 1000
    """Rows between which distances are computed. Cost."""
    n_clustered: int = 10_000
    """Rows that place the centres of k-means. Cost."""
    n_neighbors: int = 15
    """Neighbours in the graph whose hops are distances. Custom."""
    n_quantiles: int = 32
    """Quantiles of its distances that a row's signature has. Early."""

    # Couplings of anchors
    n_centres: int = 60
    """Anchors that are centres of k-means. Early."""
    n_starts: int = 80
    """Couplings of centres that the search starts from. Cost."""
    n_candidates: int = 4
    """Couplings of either kind that are carried over to rows. Cost."""
    n_searches: int = 4
    """Searches that all pairs of views share, each with other anchors; those of a pair
    end when its matching is trusted. Cost."""
    n_longest: int = 100
    """Longest rows of a view that are paired, where factors are few. Early."""
    keeping_temperature: float = 0.02
    """Of Gromov–Wasserstein steps. Early."""
    learning_temperature: float = 0.05
    """Of self-learning on anchors, and of signatures. Early."""
    n_correlations: int = 10
    """Canonical correlations whose sum is the fitness of a coupling. Early."""

    # Refinement on rows
    n_refined: int = 1500
    """Rows of a view that take part in the plans of a search. Cost."""
    schedule: tuple[Step, ...] = ((10, 0.05), (20, 0.03), (30, 0.03), (40, 0.02))
    """Directions and temperature of a cycle, step by step. Early."""
    least_gain: float = 0.003
    """Relative gain of the score per cycle below which refinement ends. Cost."""

    # Test
    n_tested: int = 700
    """Matched rows that the test looks at. Cost."""
    n_folds: int = 5
    """Folds of held-out rows. Custom."""
    n_splits: int = 10
    """Random splits of the directions in three parts, each of which judges. Cost."""
    n_runners_up: int = 5
    """Candidates that a partner is compared with. Early."""
    n_rivals: int = 4
    """Other matchings that must not be as good. Cost."""
    n_rival_rows: int = 2000
    """Rows of all rivals together, where rows are few and rivals cheap. Cost."""
    turning_point: float = 0.02
    """Excess evidence at which a matching is as likely right as wrong. Calibrated."""
    sharpness: float = 0.004
    """Change of the excess that changes the odds of trust by e. Calibrated."""

    # Matching of all rows
    n_dense: int = 4500
    """Rows of a plan that is kept as a dense matrix. Cost."""
    n_near: int = 32
    """Pairs of every row, from either side, that a sparse plan keeps. Cost."""

    def __post_init__(self) -> None:
        """Refuse settings that no search can work with, from a user or from a file."""
        for field in fields(self):
            _check(field.name, getattr(self, field.name), field.default)


def _check(name: str, value: Any, default: Any) -> None:
    """Complain about a setting that is not of the kind of its default."""
    kind, or_zero = type(default), name in MAY_BE_ZERO
    if kind is tuple:
        wanted = "a tuple of steps: a number of directions and a temperature"
        fits = isinstance(value, tuple) and value and all(map(_is_step, value))
    else:
        wanted = "a whole number" if kind is int else "a number"
        wanted += f" {'from' if or_zero else 'above'} 0, below {LARGEST}"
        fits = _is_number(value, kind, or_zero)
    if not fits:
        raise ValueError(f"{name}={value!r} is no setting: it must be {wanted}.")


def _is_step(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2
    return pair and _is_number(value[0], int) and _is_number(value[1], float)


def _is_number(value: Any, kind: type, or_zero: bool = False) -> bool:
    is_one = isinstance(value, Integral if kind is int else Real)
    if not is_one or isinstance(value, bool):
        return False
    return bool(0 < value < LARGEST or (or_zero and value == 0))


NORMAL = Settings()
EFFORTS = {
    "quick": replace(NORMAL, n_starts=40, n_searches=1),
    "normal": NORMAL,
    "thorough": replace(NORMAL, n_starts=160, n_searches=16),
}


def settings_of(effort: str | Settings) -> Settings:
    """Give the settings that a word stands for, or those given.

    Examples
    --------
    >>> settings_of("normal") == settings_of(Settings())
    True
    """
    return EFFORTS[effort] if isinstance(effort, str) else effort
