"""New rows of views that SAVuC was fitted on: translated, and aligned."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unaligned.alignment import Alignment
from unaligned.known_pairs import KnownPairs
from unaligned.savuc.bridge import Bridge, fit_bridge
from unaligned.savuc.config import Settings, settings_of
from unaligned.savuc.geometry import Geometry
from unaligned.savuc.shared_space import SharedSpace, align_new_rows
from unaligned.savuc.translation import fit_translation
from unaligned.views import check_new_rows, label

__all__ = ["NewRowsOfViewsMixin"]


class NewRowsOfViewsMixin:
    """What a fitted SAVuC does with new rows of several views."""

    alignment_: Alignment
    effort: str | Settings
    view_names_in_: list[str]
    _bridge: Bridge | None
    _geometries: list[Geometry]
    _seed: int
    _space: SharedSpace
    _views: list[Any]

    def translate(
        self,
        X: Any,
        from_view: int | str,
        to_view: int | str,
        *,
        return_std: bool = False,
    ) -> Any:
        """Estimate rows of one view in the columns of another.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features of from_view)
        from_view, to_view : int or str
            Two views that known pairs link, or whose rows are matched.
        return_std : bool, default=False
            Whether to give standard errors, too.

        Returns
        -------
        estimate : ndarray of shape (n_rows, n_features of to_view)
        error : ndarray of the same shape
            Root of the expected squared error of each entry; if ``return_std``.
        """
        check_is_fitted(self)
        X, at = check_new_rows(X, estimator=self, view=from_view)
        to = self.alignment_.index_of(to_view)
        bridge = self._bridge if self._bridge is not None else self._matched_bridge()
        if at == to or not bridge.linked(at, to):
            names = [label(self.view_names_in_[i]) for i in (at, to)]
            raise ValueError(
                f"Nothing leads from {names[0]} to {names[1]}: no pair of their rows "
                "is known or was matched. Give some pairs to fit(aligned=...)."
            )
        translation = fit_translation(bridge, self._views[to], at, to)
        features = bridge.read(self._geometries[at].read(X), at)
        estimate, error = translation.estimate(features)
        return (estimate, error) if return_std else estimate

    def _matched_bridge(self) -> Bridge:
        """Learn a bridge from matches alone."""
        if "_geometries" not in vars(self):
            raise ValueError(
                "This model was saved by an earlier version, which translated no rows. "
                "Fit it again."
            )
        nothing = [np.full(X.shape[0], -1, dtype=np.intp) for X in self._views]
        pairs = KnownPairs(nothing).with_found(self.alignment_)
        geometries = [
            geometry._replace(points=geometry.read(X))
            for geometry, X in zip(self._geometries, self._views, strict=True)
        ]
        settings, rng = settings_of(self.effort), np.random.RandomState(self._seed)
        return fit_bridge(geometries, pairs, settings, rng)

    def align_new(self, Xs: Mapping[int | str, Any]) -> Alignment:
        """Align new rows of fused views along the directions learned in ``fit``.

        Parameters
        ----------
        Xs : dict of array-likes or sparse matrices
            New rows by view, ``{view: X}`` with views by index or by name: two or
            more. They may have different numbers of rows.

        Returns
        -------
        Alignment
            Of those views only, in the order given; the first is the template.
        """
        check_is_fitted(self)
        if not isinstance(Xs, Mapping) or len(Xs) < 2:
            raise ValueError(
                "align_new needs new rows of two or more views as a dict "
                f"{{view: X}}, got {type(Xs).__name__}."
            )
        rows = {}
        for view, X in Xs.items():
            X, index = check_new_rows(X, estimator=self, view=view)
            self._check_matched(index)
            rows[index] = X
        trust, names = self.alignment_.trust, self.view_names_in_
        settings = settings_of(self.effort)
        return align_new_rows(self._space, rows, trust, names, settings)

    def _check_matched(self, view: int) -> None:
        """Refuse a view whose rows could not be matched."""
        if view not in self._space.places:
            name, trust = self.view_names_in_[view], self.alignment_.trust[view]
            matched = ", ".join(self.view_names_in_[i] for i in self._space.places)
            raise ValueError(
                f"{label(name)} could not be aligned (trust {trust:.2f}): it has no "
                f"place in the space that these views share: {matched}."
            )
