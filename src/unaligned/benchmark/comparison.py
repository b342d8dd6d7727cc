"""All methods that can run on two views, side by side, without labels.

Every method runs in a process of its own. What it matched is tested by the same
evidence from held-out rows and directions, whatever the method says of itself.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from unaligned.base import ViewClusterer
from unaligned.baselines._pair_trained import PairTrainedClusterer
from unaligned.baselines._paired import PairedRowsClusterer
from unaligned.benchmark.cells import Cell
from unaligned.benchmark.columns import Column, Spread, Table, Value
from unaligned.benchmark.measure import fit
from unaligned.benchmark.places import verdict_of
from unaligned.benchmark.runner import Limits, run_cells
from unaligned.estimators import ESTIMATORS
from unaligned.kernels.matching import invert
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.savuc.config import NORMAL
from unaligned.savuc.geometry import read_geometry, whiten
from unaligned.savuc.trust import UNTESTED, held_out_evidence
from unaligned.views import Views

__all__ = ["Compared", "choose_methods", "comparison_table", "run_comparison"]

Array = NDArray[Any]

RANDOM = "random matches"
COLUMNS = (
    Column("method"),
    Column("verdict"),
    Column("trust", 2),
    Column("matched, %", 0),
    Column("evidence J", 3),
    Column("CPU s", 1),
    Column("MB", 0),
    Column("remark", room=100),
)
NOTES = [
    "Evidence J: how much more alike partners are than their runners-up, in directions "
    "and rows that had no part in finding them, ± its standard error. Zero is what "
    "random matches have. Pairs that you gave are left out.",
    "J alone is not proof: wrong matchings of symmetric views can have some, and trust "
    "asks for more. Only SAVuC tests its own matches; the trust of the others is "
    "empty.",
]


class Compared(NamedTuple):
    """Two views to compare methods on, and what is known of them."""

    Xs: list[Any]
    aligned: Any
    """As in ``fit``."""
    n_clusters: int
    seed: int

    @property
    def pairs(self) -> KnownPairs:
        """Known pairs of their rows."""
        return check_aligned(self.aligned, Views(self.Xs, ["0", "1"]))


def choose_methods(compared: Compared) -> tuple[list[str], dict[str, str]]:
    """Name the methods that can run on two views, and why others cannot."""
    reasons = {
        name: reason
        for name, cls in ESTIMATORS.items()
        if (reason := _why_not(cls, compared)) is not None
    }
    return [name for name in ESTIMATORS if name not in reasons], reasons


def _why_not(cls: type[ViewClusterer], compared: Compared) -> str | None:
    one, other = compared.Xs
    if one.shape[0] != other.shape[0] and not cls._accepts_unequal_rows:
        return "needs equally many rows"
    if any(map(sparse.issparse, compared.Xs)) and not cls._accepts_sparse:
        return "takes no sparse view"
    if issubclass(cls, PairTrainedClusterer):
        if cls._needs_pairs and not len(compared.pairs.between(0, 1)[0]):
            return "needs known pairs"
        if find_spec("torch") is None:
            return "needs torch"
    return None


def run_comparison(
    compared: Compared, settings: dict[str, dict[str, Any]], limits: Limits
) -> Iterator[dict[str, Any]]:
    """Run methods one after the other, and yield their records.

    Parameters
    ----------
    compared : Compared
    settings : dict
        Parameters by the name of the method.
    limits : Limits
    """
    cells = [Cell("views", name, setting) for name, setting in settings.items()]
    yield from run_cells(
        cells, partial(measure_views, compared=compared), limits=limits
    )
    yield random_record(compared)


def measure_views(cell: Cell, compared: Compared) -> dict[str, Any]:
    """Fit a method, and test what it matched."""
    cls = ESTIMATORS[cell.method]
    model = cls(compared.n_clusters, random_state=compared.seed, **cell.setting)
    pairs = Bunch(Xs=compared.Xs, n_aligned=compared.aligned)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # no news in a comparison
        cost = fit(model, pairs)
    alignment, t = model.alignment_, model.template_
    found = alignment.permutations[1 - t]
    partner = found if t == 0 else invert(found, compared.Xs[0].shape[0])
    remark = ""
    if issubclass(cls, PairedRowsClusterer):
        remark = "takes row r of both views for one object"
    return (
        cost | verdict_of(model) | evidence_for(partner, compared) | {"remark": remark}
    )


def evidence_for(partner: NDArray[np.intp], compared: Compared) -> dict[str, Any]:
    """Share of matched rows, and evidence for matches that were not given."""
    one, other = whitened(compared)
    matched = float(np.mean(partner >= 0))
    free = partner.copy()
    free[compared.pairs.between(0, 1)[0]] = -1
    rng = np.random.RandomState(compared.seed)
    found = held_out_evidence(one, other, free, NORMAL, rng)
    evidence: dict[str, float | None] = {"evidence": None, "error": None}
    if found != UNTESTED:
        evidence = {"evidence": round(found.mean, 4), "error": round(found.error, 4)}
    return {"matched": round(100 * matched, 2), **evidence}


def whitened(compared: Compared) -> list[Array]:
    """Both views in their principal directions, at even variance."""
    rng = np.random.RandomState(compared.seed)
    geometries = [read_geometry(X, NORMAL.n_directions, rng) for X in compared.Xs]
    return [whiten(geometry.points, NORMAL.ridge) for geometry in geometries]


def random_record(compared: Compared) -> dict[str, Any]:
    """Test random matches, as if a method had found them."""
    n, m = (X.shape[0] for X in compared.Xs)
    rng = np.random.RandomState(compared.seed)
    partner = np.full(n, -1, dtype=np.intp)
    rows = rng.permutation(n)[: min(n, m)]
    partner[rows] = rng.permutation(m)[: len(rows)]
    about = {"method": RANDOM, "status": "done", "verdict": "", "remark": "the floor"}
    return about | evidence_for(partner, compared)


def comparison_table(records: list[dict[str, Any]], names: tuple[str, str]) -> Table:
    """Table of what was run, the largest evidence first."""
    ordered = sorted(records, key=lambda one: -(one.get("evidence") or -np.inf))
    rows: list[list[Value]] = []
    for one in ordered:
        evidence = None
        if one.get("evidence") is not None:
            evidence = Spread(one["evidence"], one["error"])
        remark = one.get("remark")
        if one["status"] != "done":
            remark = f"{one['status']}: {one.get('reason', '')}"
        rows.append(
            [
                one["method"],
                one.get("verdict"),
                one.get("trust"),
                one.get("matched"),
                evidence,
                one.get("cpu_seconds"),
                one.get("grown_mb"),
                remark,
            ]
        )
    title = f"Methods on {names[0]} and {names[1]}"
    return Table("compared", title, COLUMNS, rows, NOTES)
