"""Displays of a fit: its objective and its view weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unaligned.plotting.axes import get_axes

__all__ = ["ConvergenceDisplay", "WeightsDisplay", "fitted_attribute"]

Array = NDArray[Any]


class ConvergenceDisplay:
    """The objective over the iterations of a fit.

    Parameters
    ----------
    objective : ndarray of shape (n_iterations,)
    name : str, default=None
        Name of the method, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> display = ConvergenceDisplay(np.array([3.0, 2.0, 1.5])).plot()
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    def __init__(self, objective: Array, *, name: str | None = None) -> None:
        self.objective = objective
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None, **kwargs: Any
    ) -> "ConvergenceDisplay":
        """Draw the objective of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.
        name : str, default=None
            Name in the legend. None: that of the estimator's class.
        **kwargs
            For `matplotlib.axes.Axes.plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        objective = fitted_attribute(estimator, "objective_", "objective")
        name = type(estimator).__name__ if name is None else name
        return cls(objective, name=name).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "ConvergenceDisplay":
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        **kwargs
            For `matplotlib.axes.Axes.plot`.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        iterations = np.arange(1, len(self.objective) + 1)
        marker = "o" if len(iterations) == 1 else None
        style = {"label": self.name, "marker": marker} | kwargs
        (self.line_,) = self.ax_.plot(iterations, self.objective, **style)
        self.ax_.set(xlabel="iteration", ylabel="objective")
        if self.name is not None:
            self.ax_.legend()
        return self


class WeightsDisplay:
    """The weight of every view.

    Parameters
    ----------
    weights : ndarray of shape (n_views,)
    view_names : list of str
    template : int, default=None
        The view whose bar is labelled as template.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self, weights: Array, view_names: list[str], *, template: int | None = None
    ) -> None:
        self.weights = weights
        self.view_names = view_names
        self.template = template

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> "WeightsDisplay":
        """Draw the view weights of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib Axes, default=None
        **kwargs
            For `matplotlib.axes.Axes.barh`.

        Returns
        -------
        WeightsDisplay
        """
        weights = fitted_attribute(estimator, "view_weights_", "weights for its views")
        names = estimator.alignment_.view_names
        return cls(weights, names, template=estimator.template_).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "WeightsDisplay":
        """Draw a bar per view, the first at the top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        **kwargs
            For `matplotlib.axes.Axes.barh`.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        places = np.arange(len(self.weights))
        names = [
            f"{name} (template)" if i == self.template else name
            for i, name in enumerate(self.view_names)
        ]
        self.bars_ = self.ax_.barh(places, self.weights, **kwargs)
        self.ax_.set_yticks(places, names)
        self.ax_.invert_yaxis()
        self.ax_.set(xlabel="weight")
        return self


def fitted_attribute(estimator: Any, attribute: str, what: str) -> Any:
    """Get a fitted attribute that not all methods have."""
    check_is_fitted(estimator, "alignment_")
    if not hasattr(estimator, attribute):
        raise ValueError(
            f"{type(estimator).__name__} has no {attribute}: this method has no {what}."
        )
    return getattr(estimator, attribute)
