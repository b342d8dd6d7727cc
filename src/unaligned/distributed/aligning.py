"""``align`` for views as dask arrays: searched on samples, matched in shared cells."""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions, validate_params

from unaligned.alignment import TRUSTED, Alignment
from unaligned.distributed.blocks import Block, check_dask_matrix
from unaligned.distributed.geometry import read_geometry, split_view
from unaligned.distributed.pairing import match_all_rows
from unaligned.distributed.searching import search_many_rows
from unaligned.kernels.devices import spawn
from unaligned.kernels.memory import ask_for_memory
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.progress import Heartbeat, say
from unaligned.savuc.align import with_others
from unaligned.savuc.confidence import N_CANDIDATES
from unaligned.savuc.config import EFFORTS, Settings, settings_of
from unaligned.savuc.geometry import Geometry
from unaligned.savuc.groups import Group
from unaligned.savuc.growth import Problem
from unaligned.savuc.starts import SearchView, prepare_view
from unaligned.views import Views, check_views

__all__ = ["Task", "align", "align_views", "memory_need"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

BYTES_PER_CANDIDATE = 110  # of belief propagation: a dozen arrays of 8 bytes, counted


class Task(NamedTuple):
    """Views to be aligned, and the blocks that they are read in."""

    views: Views
    blocks: list[list[Block]]
    pairs: KnownPairs
    settings: Settings
    verbose: int

    @classmethod
    def of(
        cls, views: Views, pairs: KnownPairs, effort: str | Settings, verbose: int
    ) -> "Task":
        """Cut checked views into blocks, and see whether memory will do."""
        settings = settings_of(effort)
        Problem(views, pairs, settings)  # which complains of views of one row
        ways_out = (
            "Coordinates and candidates of all rows must fit into this process, "
            "though the views need not: take fewer rows."
        )
        needed = memory_need(views, settings)
        ask_for_memory("unaligned.distributed.align", needed, views.n_rows, ways_out)
        blocks = [split_view(i, X) for i, X in enumerate(views.arrays)]
        return cls(views, blocks, pairs, settings, verbose)

    def tell(self, what: str) -> None:
        """Print what is being done."""
        if self.verbose:
            say(f"[align] {what}")


@validate_params(
    {
        "effort": [StrOptions(set(EFFORTS)), Settings],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=True,
)
def align(
    Xs: Any,
    *,
    aligned: Any = None,
    effort: str | Settings = "normal",
    random_state: Any = None,
    verbose: int = 0,
) -> Alignment:
    """`unaligned.align` for views larger than memory, or on a cluster.

    Takes views as dask arrays and reads each of their chunks three times. The search
    works on samples; then all rows are matched, cell by cell of the space that two
    views share, where dask computes. A row may have no partner in the other view.

    Parameters
    ----------
    Xs : list, tuple or dict of dask arrays
        The views, samples × features, see `unaligned.distributed.open_views`. They may
        have different numbers of rows.
    aligned, effort, random_state, verbose
        As in `unaligned.align`.

    Returns
    -------
    Alignment
        As of `unaligned.align`, in NumPy arrays. Rows that probably have no partner
        have none; ``unmatched`` lists them.

    Notes
    -----
    Every view is searched with the first one, and matched with it alone. Views that are
    not trusted to belong to it are searched among each other in the same way.

    The result is the same for a seed, whatever the chunks and wherever dask computes.

    Examples
    --------
    >>> import dask.array as da
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.distributed import align
    >>> digits = load_digits_views()
    >>> data = unalign([digits.Xs[0][:300], digits.Xs[3][:300]], random_state=0)
    >>> views = [da.from_array(X, chunks=(100, -1)) for X in data.Xs]
    >>> align(views, effort="quick", random_state=0).verdict
    ['objects', 'objects']
    """
    views = check_views(Xs, check_matrix=check_dask_matrix)
    task = Task.of(views, check_aligned(aligned, views), effort, verbose)
    rng = check_random_state(random_state)
    with Heartbeat() if verbose else nullcontext():
        found, _ = align_views(task, rng)
    return found.with_rows(views.n_rows, views.row_ids)


def memory_need(views: Views, settings: Settings) -> float:
    """Count coordinates of all rows, plain and whitened, and candidates of a view."""
    d = settings.n_directions
    coordinates = sum(3 * 4 * X.shape[0] * min(d, X.shape[1]) for X in views.arrays)
    return coordinates + BYTES_PER_CANDIDATE * N_CANDIDATES * max(views.n_rows)


def align_views(
    task: Task, rng: np.random.RandomState
) -> tuple[Alignment, list[Geometry]]:
    """Align views, and give their geometries."""
    views, settings = task.views, task.settings
    task.tell(f"reading {len(views)} views")
    geometries = [
        read_geometry(name, blocks, settings.n_directions)
        for name, blocks in zip(views.names, task.blocks, strict=True)
    ]
    draws = spawn(rng, len(views))
    search_views = [
        prepare_view(geometry, settings, draw)
        for geometry, draw in zip(geometries, draws, strict=True)
    ]
    left, groups, best = list(range(len(views))), [], np.zeros(len(views))
    while left:
        group, left = gather_group(task, left, search_views, best, rng)
        groups.append(group)
    groups.sort(key=lambda group: (-len(group.views), group.views))
    return with_others(groups, best, views, task.pairs), geometries


def gather_group(
    task: Task,
    members: list[int],
    search_views: list[SearchView],
    best: NDArray[np.float64],
    rng: np.random.RandomState,
) -> tuple[Group, list[int]]:
    """Match the first of some views with all that belong to it; also give the rest.

    The largest trust that a search had in each view goes into ``best``.
    """
    first, *others = members
    whole = search_views[first]
    n = len(whole.whitened)
    rows, confidence, trust = {first: np.arange(n)}, {first: np.ones(n)}, {first: 1.0}
    rest = []
    for i in others:
        known = task.pairs.between(first, i)
        names = [task.views.names[j] for j in (first, i)]
        task.tell(f"views {names[0]} and {names[1]}: searching")
        fit, pairs = search_many_rows(whole, search_views[i], known, task.settings, rng)
        task.tell(f"views {names[0]} and {names[1]}: trust {fit.trust:.2f}")
        best[[first, i]] = np.maximum(best[[first, i]], fit.trust)
        if fit.trust < TRUSTED:
            rest.append(i)
            continue
        task.tell(f"views {names[0]} and {names[1]}: matching all rows")
        sides = whole.full_rows(), search_views[i].full_rows()
        rows[i], confidence[i] = match_all_rows(*sides, pairs, rng, known)
        trust[i] = fit.trust
    return Group(tuple(rows), rows, confidence, trust, whole), rest
