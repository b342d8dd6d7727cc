"""Parts of SAVuC's search, left out or changed one at a time.

Pairs of views whose rows correspond: of four checking sets and of two development sets
(digits, ORL), and linear maps of common factors with noise. What is compared is the
share of rows that find their object, in percent, whether or not the matching is
trusted.
"""

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.trust import make
from unaligned.kernels.devices import Cores
from unaligned.savuc import corrections, couplings, extremes, refine, search, starts
from unaligned.savuc.assign import match_rows
from unaligned.savuc.config import NORMAL
from unaligned.savuc.geometry import read_geometry

__all__ = ["MATCHED", "VARIANTS", "ablate_search"]


class Case(NamedTuple):
    """A pair of views, as `benchmarks.trust` names it."""

    kind: str
    what: tuple
    rows: int
    seed: int

    @property
    def name(self):
        """Dataset or kind first, then what is chosen of it."""
        first = self.what[0] if self.kind == "true" else f"{self.what} factors"
        rest = self.what[1:] if self.kind == "true" else ()
        return ", ".join(map(str, (first, *rest, self.rows, self.seed)))


REAL = {
    "Handwritten": ((0, 2), (0, 4), (2, 4)),
    "MSRC-v1": ((1, 2), (3, 4)),
    "Reuters-600": ((0, 1),),
    "Reuters-1200": ((0, 3),),
    "digits": ((0, 1), (1, 3)),
    "ORL": ((0, 2), (1, 3)),
}
LINEAR = (12, 9, 6, 0.3), (20, 12, 6, 0.3), (50, 40, 6, 0.3), (50, 40, 9, 0.1)
MATCHED = [
    Case("true", (name, *pair), 1500, seed)
    for name, pairs in REAL.items()
    for pair in pairs
    for seed in range(2)
] + [
    Case("related", what, rows, seed)
    for what in LINEAR
    for rows, seed in ((400, 5), (800, 6), (5000, 7))
]


def variant(*patches, **settings):
    """Give settings, and (module, name, replacement) of what is replaced."""
    return replace(NORMAL, **settings), patches


def no_starts(*_):
    """Leave out a family of starts."""
    return []


def scaled_schedule(temperature=1.0, directions=1.0, rounds=1):
    """Change the temperatures, directions and rounds of the schedule."""
    return tuple(
        (max(4, round(directions * d)), temperature * t)
        for d, t in NORMAL.schedule
        for _ in range(rounds)
    )


HALVED = (
    "ridge", "n_leading", "n_sketched", "n_neighbors", "n_quantiles", "n_centres",
    "n_starts", "n_longest", "keeping_temperature", "learning_temperature",
    "n_correlations", "n_refined", "least_gain",
)  # fmt: skip
VARIANTS = {
    "as it is": variant(),
    "no centres": variant((starts, "from_centres", no_starts)),
    "no longest rows": variant((starts, "from_extremes", no_starts)),
    "no rows as anchors": variant((search, "MOST_SINGLE", 0)),
    "no starts from rows": variant((starts, "couple_rows", no_starts)),
    "settled again, not corrected by distances": variant(
        (search, "correct_by_distances", lambda cross, *_: cross)
    ),
    "half of the steps of this correction": variant((corrections, "N_CORRECTED", 7)),
    "twice as many": variant((corrections, "N_CORRECTED", 30)),
    "not rematched by likelihood": variant((corrections, "N_REMATCHED", 0)),
    "rematched once": variant((corrections, "N_REMATCHED", 1)),
    "no Gromov–Wasserstein steps": variant((couplings, "N_KEEPING", 0)),
    "half of these steps": variant((couplings, "N_KEEPING", 25)),
    "no self-learning": variant((couplings, "N_LEARNING", 0)),
    "half of its rounds": variant((couplings, "N_LEARNING", 4)),
    "one candidate": variant(n_candidates=1),
    "no refinement": variant((refine, "N_STALLED", 0)),
    "refined until it stalls once": variant((refine, "N_STALLED", 1)),
    "two rounds a step": variant(schedule=scaled_schedule(rounds=2)),
    "half of the temperatures": variant(schedule=scaled_schedule(temperature=0.5)),
    "double temperatures": variant(schedule=scaled_schedule(temperature=2)),
    "half of the directions": variant(schedule=scaled_schedule(directions=0.5)),
    "last step alone": variant(schedule=NORMAL.schedule[-1:]),
    "two steps": variant(schedule=NORMAL.schedule[::3]),
    "half of the sets of longest rows": variant((extremes, "N_GROWN", 1000)),
    **{
        f"{name} × {factor}": variant(
            **{name: type(getattr(NORMAL, name))(factor * getattr(NORMAL, name))}
        )
        for name in HALVED
        for factor in (0.5, 2)
    },
}


def ablate_search(case):
    """Share of rows with the right partner, in percent, and CPU seconds, by variant."""
    X, Y, a, b, _ = make((case.kind, "", list(case.what), case.rows, case.seed))
    n_common = len(np.intersect1d(a, b))
    found, seconds = {}, {}
    searched(X[:99], Y[:99], NORMAL, np.random.RandomState(0))  # loops are compiled
    for name, (settings, patches) in VARIANTS.items():
        with ExitStack() as stack:
            for place, attribute, value in patches:
                stack.enter_context(patch.object(place, attribute, value))
            start = time.process_time()
            partner = searched(X, Y, settings, np.random.RandomState(case.seed))
            seconds[name] = round(time.process_time() - start, 2)
        matched = np.flatnonzero(partner >= 0)
        right = np.sum(a[matched] == b[partner[matched]])
        found[name] = round(100 * float(right / n_common), 1)
    return found, seconds


def searched(X, Y, settings, rng):
    """Partners that one search finds, without its test."""
    cores = Cores(1)
    with cores.busy():
        views = [
            starts.prepare_view(
                read_geometry(view, settings.n_directions, rng), settings, rng
            )
            for view in (X, Y)
        ]
        pair = search.PairSearch(*views, settings, cores)
        fits, _ = pair.matchings(rng)
        if not fits:  # what is left out was the only start
            return np.full(X.shape[0], -1)
        (cross, _), *_ = fits
        whitened = [view.whitened for view in views]
        return match_rows(cross, *whitened, settings).partner
