"""What estimators share that take rows they were not fitted on."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from unaligned.views import check_new_rows, check_views

__all__ = ["NewRowsMixin", "SharedSpaceMixin"]


class NewRowsMixin(ABC):
    """For methods that can label rows they were not fitted on."""

    def predict(self, X: Any, view: int | str = 0) -> NDArray[np.intp]:
        """Label new rows of one view.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features of that view)
        view : int or str, default=0
            The view that the rows belong to, by index or by name.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        X, index = check_new_rows(X, estimator=self, view=view)
        return self._predict_rows(X, index)

    @abstractmethod
    def _predict_rows(self, X: Any, view: int) -> NDArray[np.intp]:
        """Labels of checked new rows of a view."""


class SharedSpaceMixin(ABC):
    """For methods that place rows of several views in one space, in float32."""

    def transform(self, X: Any, view: int | str = 0) -> NDArray[np.float32]:
        """Place rows of one view in the space that the views share.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features of that view)
        view : int or str, default=0
            The view that the rows belong to, by index or by name.

        Returns
        -------
        ndarray of shape (n_rows, n_directions)
            Rows of one object lie close together, whichever view they come from.
        """
        check_is_fitted(self)
        X, index = check_new_rows(X, estimator=self, view=view)
        return self._place_rows(X, index)

    def fit_transform(
        self: Any, Xs: Any, y: Any = None, *, aligned: Any = None
    ) -> NDArray[np.float32]:
        """Fit, and place the rows of the template view.

        Parameters
        ----------
        Xs, y, aligned
            As in `fit`.

        Returns
        -------
        ndarray of shape (rows of the template, n_directions)
        """
        self.fit(Xs, y, aligned=aligned)
        views = check_views(Xs, view_sizes=self.view_sizes)
        rows: NDArray[np.float32] = self._place_rows(
            views.arrays[self.template_], self.template_
        )
        return rows

    @abstractmethod
    def _place_rows(self, X: Any, view: int) -> NDArray[np.float32]:
        """Coordinates of checked rows of a view."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.transformer_tags = TransformerTags(preserves_dtype=["float32"])
        return tags
