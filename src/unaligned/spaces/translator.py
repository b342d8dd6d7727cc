"""The estimator SpaceTranslator."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from unaligned.alignment import Alignment
from unaligned.alignment.tables import matches_of
from unaligned.calibration import calibrate, less_where_untypical
from unaligned.kernels.scaling import row_blocks
from unaligned.known_pairs import check_aligned
from unaligned.savuc import align
from unaligned.savuc.config import EFFORTS, Settings
from unaligned.spaces.linear_map import choose_penalty, moments_of, solve
from unaligned.spaces.lookup import N_SAMPLED, Neighbors, index_rows
from unaligned.spaces.typical import surroundings_of
from unaligned.views import check_new_rows, check_views

__all__ = ["SpaceTranslator"]

Array = NDArray[Any]

HELD_OUT = 0.2  # share of the pairs that choose the penalty: five folds, one of them
MOST_HELD_OUT = 2000  # pairs: the error of a share is then about a point. Cost
FEWEST_PAIRS = 10  # with fewer, at most one would be held out


class SpaceTranslator(BaseEstimator):
    """Translate vectors of one embedding space into another, and look them up there.

    Two spaces hold vectors of the same objects, but which vector of one belongs to
    which of the other is not known. `unaligned.align` finds pairs. From those that can
    be trusted, found or known, a linear map is learned. New vectors of the first space
    are translated by it, and the nearest rows of the second are given with the
    probability that they are the right ones.

    Parameters
    ----------
    effort : {"quick", "normal", "thorough"} or Settings, default="normal"
        How hard to search for the correspondence, see `unaligned.align`.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    alignment_ : Alignment
        The rows that were matched, the verdict and the trust.
    n_pairs_ : int
        Pairs that the map is learned from; if 0, there is no map, and nothing can be
        translated.
    quality_ : float
        Share of the variance of the second space that is explained, on pairs held out.
    top1_ : float
        Share of held-out pairs whose right row is the nearest of all.
    view_names_in_, n_features_per_view_
        What was fitted.

    Notes
    -----
    The map is ridge regression of the columns of the second space on those of the
    first, each pair with the weight of its confidence. A fifth of the pairs, at most
    2,000, is held out to choose the penalty. Rows that are near to vectors in general
    (hubs) get lower scores (CSLS).

    The pairs held out give the confidence: each is looked up among all rows of the
    second space, and a logistic regression tells hits from misses. Confidence is its
    probability times the trust in the alignment. Wrong matches count as misses, so
    confidence is too low rather than too high.

    A vector that is unlike those that the map was learned from, or whose counterpart is
    missing in the second space, has low confidence. ``typical`` is the smaller
    of two shares: of rows of the first space that are as far from their nearest row,
    and of held-out pairs whose nearest row has as low a score. If it is below 0.05,
    confidence is multiplied by ``typical / 0.05``. This reduces the confidence of up to
    a tenth of the ordinary vectors, too.

    Spaces may be mapped from files (``numpy.load(path, mmap_mode="r")``): they are read
    block by block. The rows of the second are kept at unit length in float32.

    Spaces without any object in common are refused, unless pairs are known.

    Examples
    --------
    >>> import numpy as np
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.spaces import SpaceTranslator
    >>> digits = load_digits_views()
    >>> pixels, edges = digits.Xs[0], digits.Xs[3]
    >>> known = unalign([pixels[:400], edges[:400]], random_state=0)
    >>> spaces = SpaceTranslator(effort="quick", random_state=0).fit(*known.Xs)
    >>> spaces.alignment_.verdict
    ['objects', 'objects']
    >>> spaces.translate(pixels[400:403]).shape == edges[400:403].shape
    True
    >>> found = spaces.nearest(pixels[:5])
    >>> bool(np.mean(known.order[1][found.rows[:, 0]] == np.arange(5)) > 0.7)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "effort": [StrOptions(set(EFFORTS)), Settings],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        effort: str | Settings = "normal",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, one: Any, other: Any, *, aligned: Any = None) -> "SpaceTranslator":
        """Align two spaces, and learn the map from the first to the second.

        Parameters
        ----------
        one, other : array-like of shape (n, d) and (m, e)
            The spaces, a vector in each row.
        aligned : None, "all", int, boolean mask, dict or array of pairs, default=None
            Pairs that are known, as in `unaligned.align`, or rows of both in two
            columns.

        Returns
        -------
        SpaceTranslator
        """
        self._validate_params()
        rng = check_random_state(self.random_state)
        views = check_views([one, other])
        for i, X in enumerate(views.arrays):
            if sparse.issparse(X):
                raise TypeError(
                    f"Space {i} is a sparse matrix. Reduce it to some hundred columns "
                    "first, e.g. with sklearn.decomposition.TruncatedSVD."
                )
        if isinstance(aligned, np.ndarray) and aligned.ndim == 2:
            aligned = {(0, 1): aligned}
        self.view_names_in_ = views.names
        self.n_features_per_view_ = views.widths
        self.alignment_ = align(
            views.arrays,
            aligned=aligned,
            effort=self.effort,
            random_state=rng,
            verbose=self.verbose,
        ).with_rows(views.n_rows, views.row_ids)
        known = check_aligned(aligned, views).between(0, 1)
        pairs, sure, self._trust = _trusted_pairs(self.alignment_, known)
        self.n_pairs_ = len(pairs) if len(pairs) >= FEWEST_PAIRS else 0
        if self.n_pairs_:
            self._learn(views.arrays[0], views.arrays[1], pairs, sure, rng)
        return self

    def _learn(self, X: Array, Y: Array, pairs: Array, sure: Array, rng: Any) -> None:
        """Fit the map, and the probability that the nearest row is right."""
        order = rng.permutation(len(pairs))
        n_held = min(int(HELD_OUT * len(pairs)), MOST_HELD_OUT)
        held, rest = order[:n_held], order[n_held:]
        origin = X.mean(axis=0, dtype=np.float64), Y.mean(axis=0, dtype=np.float64)
        moments = moments_of(X, Y, pairs[rest], sure[rest], origin)
        asked, partners = X[pairs[held, 0]], Y[pairs[held, 1]]
        penalty, learned, self.quality_ = choose_penalty(
            moments, asked, partners, sure[held]
        )
        some = np.sort(rng.permutation(len(X))[:N_SAMPLED])
        self._rows = index_rows(Y, np.asarray(origin[1]), learned.apply(X[some]))
        rows, scores = self._rows.nearest(learned.apply(asked), min(2, len(Y)))
        hit = rows[:, 0] == pairs[held, 1]
        self.top1_ = float(np.average(hit, weights=sure[held]))
        self._calibration = calibrate(scores, hit, sure[held])
        self._surroundings = surroundings_of(X[some], np.asarray(origin[0]))
        everything = moments + moments_of(X, Y, pairs[held], sure[held], origin)
        (self._map,) = solve(everything, (penalty,))

    def translate(self, X: Any) -> Array:
        """Estimate vectors of the first space in the second.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m, e)
        """
        X, _ = check_new_rows(X, estimator=self._ready(), view=0)
        blocks = [self._map.apply(X[block]) for block in row_blocks(X)]
        return np.concatenate(blocks)

    def nearest(self, X: Any, n_neighbors: int = 1) -> Neighbors:
        """Find the rows of the second space nearest to vectors of the first.

        Parameters
        ----------
        X : array-like of shape (m, d)
        n_neighbors : int, default=1
            Rows to give for each vector.

        Returns
        -------
        Neighbors
            ``rows``, ``similarity``, ``confidence`` and ``typical``.
        """
        X, _ = check_new_rows(X, estimator=self._ready(), view=0)
        moved, n = self.translate(X), len(self._rows.rows)
        if not 1 <= n_neighbors <= n:
            raise ValueError(
                f"n_neighbors={n_neighbors} must be between 1 and the {n} rows of the "
                "second space."
            )
        rows, scores = self._rows.nearest(moved, min(max(n_neighbors, 2), n))
        near = [self._surroundings.typical(X[block]) for block in row_blocks(X)]
        typical = np.minimum(np.concatenate(near), self._calibration.typical(scores))
        sure = self._trust * self._calibration.probability(scores)
        sure = less_where_untypical(sure, typical)
        cosines = self._rows.similarity(rows, scores)
        return Neighbors(rows[:, :n_neighbors], cosines[:, :n_neighbors], sure, typical)

    def _ready(self) -> "SpaceTranslator":
        """Refuse to translate if there is no map."""
        check_is_fitted(self)
        if not self.n_pairs_:
            trust = min(self.alignment_.trust)
            raise ValueError(
                f"The spaces could not be aligned (trust {trust:.2f}), so nothing can "
                "be translated. Give some pairs as aligned=, at least "
                f"{FEWEST_PAIRS}, or try effort='thorough'."
            )
        return self


def _trusted_pairs(
    alignment: Alignment, known: tuple[Array, Array]
) -> tuple[Array, Array, float]:
    """Training pairs, their weights, and the trust in them."""
    if len(alignment.matched()) == 2:
        pairs, sure = matches_of(alignment, 0, 1)
        return pairs, sure, float(min(alignment.trust))
    return np.column_stack(known), np.ones(len(known[0])), 1.0
