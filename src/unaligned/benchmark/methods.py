"""The methods of the evaluation: how each is built, searched and scored."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from inspect import signature
from itertools import product
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from unaligned import baselines
from unaligned.benchmark.plain_bridge import PlainBridge
from unaligned.benchmark.protocol import PAIRED_SHARE
from unaligned.benchmark.straightforward import objective_trace
from unaligned.partitions.kmeans import cluster_rows
from unaligned.pavuc import PAVuC
from unaligned.savuc import SAVuC

__all__ = ["EVERY_VIEW", "METHODS", "Method", "Setting", "method_of"]

Setting = dict[str, Any]
EVERY_VIEW = ["every view"]  # stands for all views there are


@dataclass(frozen=True)
class Method:
    """One method of the evaluation."""

    name: str
    build: Callable[..., Any]
    """Called with the number of clusters, ``random_state`` and a setting."""
    grid: dict[str, list[Any]] = field(default_factory=dict)
    """Values that the paper tries."""
    quick_grid: dict[str, list[Any]] | None = None
    """Values of a quick run; None: the ends of every range."""
    published: str | None = None
    """Its row in the published tables; None: its name."""
    mean_over_views: bool = False
    """Whether it is scored in every view; else in its template's row order."""
    needs_pairs: bool = False
    """Whether it must learn from known pairs."""
    needs_torch: bool = False
    evaluations: int = 1
    """Runs of the final k-means that its scores are the mean of."""
    reconstruction: bool = False
    """Whether the original could not be had, and this is our reading of it."""

    @property
    def published_name(self) -> str:
        """Row of the published tables."""
        return self.published or self.name

    @property
    def defaults(self) -> Setting:
        """Default values of what the grid varies."""
        parameters = signature(self.build).parameters
        return {name: parameters[name].default for name in self.grid}

    @property
    def known_share(self) -> float:
        """Share of the pairs that it knows where others know none."""
        return PAIRED_SHARE if self.needs_pairs else 0.0

    @property
    def can_run(self) -> bool:
        """Whether what it needs is installed."""
        return not self.needs_torch or find_spec("torch") is not None

    def settings(self, n_views: int, quick: bool = False) -> Iterator[Setting]:
        """All points of the grid, or of its quick version."""
        grid = self.grid
        if quick:
            grid = self.quick_grid or {
                name: values if values is EVERY_VIEW else [values[0], values[-1]]
                for name, values in grid.items()
            }
        grid = {
            name: list(range(n_views))
            if values is EVERY_VIEW
            else list(dict.fromkeys(values))
            for name, values in grid.items()
        }
        for values in product(*grid.values()):
            yield dict(zip(grid, values, strict=True))

    def fixed(self, n_views: int, quick: bool = False) -> Setting:
        """Give its only setting, or its defaults where there is a grid."""
        grid = list(self.settings(n_views, quick))
        return grid[0] if len(grid) == 1 else self.defaults


class SingleView:
    """k-means on one view, rows scaled to unit length: the floor of every method."""

    def __init__(self, n_clusters: int, *, view: int, random_state: int) -> None:
        self.n_clusters, self.template_ = n_clusters, view
        self.random_state = random_state

    def fit(self, Xs: list[Any], aligned: Any = None) -> "SingleView":
        """Cluster the one view."""
        points = normalize(Xs[self.template_])
        labels, _ = cluster_rows(
            points, self.n_clusters, n_init=20, seed=self.random_state
        )
        self.view_labels_ = {self.template_: labels}
        return self


class RandomLabels:
    """Uniform random labels of the first view: what nothing at all scores."""

    template_ = 0

    def __init__(self, n_clusters: int, *, random_state: int) -> None:
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit(self, Xs: list[Any], aligned: Any = None) -> "RandomLabels":
        """Draw."""
        # The shuffle has the same seed: other random numbers than its own are drawn.
        rng = np.random.RandomState([self.random_state, 1])
        self.view_labels_ = {0: rng.randint(self.n_clusters, size=Xs[0].shape[0])}
        return self


class PlainNumPy:
    """Iterations of PAVuC-ATS as one writes them down first: the yardstick of speed."""

    template_ = None

    def __init__(self, n_clusters: int, *, n_iter: int, random_state: int) -> None:
        self.n_clusters, self.n_iter = n_clusters, n_iter
        self.random_state = random_state

    def fit(self, Xs: list[Any], aligned: Any = None) -> "PlainNumPy":
        """Run the iterations, from a random start."""
        k, rng = self.n_clusters, np.random.RandomState(self.random_state)
        start = rng.uniform(size=(k, k)), rng.uniform(size=(k, Xs[0].shape[0]))
        self.objective_ = objective_trace(
            Xs, *start, mu=0.1, alpha=1.5, n_iter=self.n_iter
        )
        return self


def pavuc(
    n_clusters: int,
    *,
    alpha: float = 1.5,
    mu: float = 0.1,
    anchors_per_cluster: int = 1,
    **more: Any,
) -> PAVuC:
    """Build PAVuC with anchors counted per cluster, as the paper counts them."""
    n_anchors = anchors_per_cluster * n_clusters
    return PAVuC(n_clusters, n_anchors=n_anchors, alpha=alpha, mu=mu, **more)


def fixed_iterations(n_clusters: int, *, n_iter: int, random_state: int) -> PAVuC:
    """Build PAVuC that runs as many iterations as `PlainNumPy`, and one k-means."""
    return PAVuC(
        n_clusters, max_iter=n_iter, tol=0, n_init=1, random_state=random_state
    )


def powers(*exponents: int) -> list[float]:
    """Powers of ten.

    Examples
    --------
    >>> powers(-1, 0, 3)
    [0.1, 1.0, 1000.0]
    """
    return [float(f"1e{exponent}") for exponent in exponents]


ALPHAS = [1.1, 1.3, 1.5, 1.7, 1.9, 2.0]
ANCHORS = [1, 3, 5]


def _baseline(name: str, grid: dict[str, list[Any]], **about: Any) -> Method:
    """Entry of a baseline."""
    cls = getattr(baselines, name)
    about.setdefault("reconstruction", getattr(cls, "reconstruction", False))
    return Method(name, about.pop("build", cls), grid, **about)


# PVC and MvCLN as their authors' programs score them: known pairs may end up apart.
_TABLE = [
    _baseline("LMVSC", {"alpha": powers(-3, -2, -1, 0, 1)}),
    _baseline("FPMVSCAG", {}, published="FPMVS-CAG"),
    _baseline("FMVACC", {"lam": powers(-4, 0, 5)}),
    _baseline("FDAGF", {"alpha": powers(-5, -1, 1, 3), "lam": powers(1, 3, 5)}),
    _baseline("RCAGL", {"lam": [0.0, *powers(0, 2, 3, 6)]}),
    _baseline(
        "CAMVC", {"alpha": powers(-3, -2, -1, 0, 1), "beta": powers(*range(-1, 4))}
    ),
    _baseline(
        "AEVC",
        {"gamma": powers(-1, 0, 1, 2), "lam": powers(-4, -2, 0, 2)},
        published="AEVCMVC",
    ),
    _baseline("CMVNMF", {"beta": [1.0]}, mean_over_views=True),
    _baseline("UPMGCSM", {}, published="UPMGC-SM"),
    _baseline("VuCG", {"lam": [1.0, 4.0, 7.0, 10.0], "tau": [1.2, 1.5, 1.8, 2.0]}),
    _baseline(
        "PVC",
        {"lam": powers(*range(-2, 4))},
        build=partial(baselines.PVC, clamp_known_pairs=False),
        quick_grid={
            "lam": [10.0],
            "pretrain_epochs": [20],
            "align_epochs": [20],
            "finetune_epochs": [2],
        },
        needs_pairs=True,
        needs_torch=True,
    ),
    _baseline(
        "MvCLN",
        {},
        build=partial(baselines.MvCLN, clamp_known_pairs=False),
        quick_grid={"epochs": [2]},
        needs_pairs=True,
        needs_torch=True,
    ),
    Method(
        "PAVuC",
        pavuc,
        {
            "alpha": ALPHAS,
            "mu": powers(-3, -2, -1, 0, 1),
            "anchors_per_cluster": ANCHORS,
        },
        published="PAVuC-ATS",
        evaluations=5,
    ),
    Method(
        "NPA-VuC",
        partial(pavuc, align=False),
        {"alpha": ALPHAS, "anchors_per_cluster": ANCHORS},
        evaluations=5,
    ),
    Method("SAVuC", SAVuC, {"effort": ["normal"]}, {"effort": ["quick"]}),
    _baseline(
        "SURE",
        {},
        build=partial(baselines.SURE, clamp_known_pairs=False),
        quick_grid={"epochs": [2]},
        needs_pairs=True,
        needs_torch=True,
    ),
    _baseline(
        "SMILE",
        {},
        quick_grid={"epochs": [2]},
        needs_torch=True,
    ),
    _baseline(
        "CPMN",
        {},
        quick_grid={"graph_epochs": [2], "prototype_epochs": [2]},
        needs_torch=True,
    ),
    _baseline("SCOT", {}),
    Method("SCOT, self-tuned", partial(baselines.SCOT, self_tune=True)),
    _baseline("Rosetta", {}),
    Method("plain bridge", PlainBridge),
    Method("single view", SingleView, {"view": EVERY_VIEW}),
    Method("random labels", RandomLabels),
    Method("PAVuC in 15 iterations", partial(fixed_iterations, n_iter=15)),
    Method("plain NumPy in 15 iterations", partial(PlainNumPy, n_iter=15)),
]
METHODS = {method.name: method for method in _TABLE}


def method_of(name: str) -> Method:
    """Entry of a method by our name or by the paper's, in any case."""
    for method in METHODS.values():
        if name.lower() in (method.name.lower(), method.published_name.lower()):
            return method
    raise ValueError(f"There is no method {name!r}. There are: {', '.join(METHODS)}.")
