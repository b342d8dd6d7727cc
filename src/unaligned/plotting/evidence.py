"""Display of the evidence on the number of clusters."""

from typing import Any

from unaligned.plotting.axes import get_axes
from unaligned.plotting.fits import fitted_attribute
from unaligned.selection.evidence import ClusterEvidence

__all__ = ["ClusterEvidenceDisplay"]


class ClusterEvidenceDisplay:
    """Scores of numbers of clusters, and which of them may be right.

    Parameters
    ----------
    evidence : ClusterEvidence
        Of a fit with ``n_clusters="auto"``, or of
        `unaligned.selection.select_n_clusters`.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        Modularity, and agreement of recipes.
    interval_ : matplotlib patch
        Numbers that may be right.
    chosen_ : matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from unaligned.selection.evidence import weigh
    >>> scores = np.array([[0.4, 0.9, 0.5]])
    >>> evidence = weigh(np.array([2, 3, 4]), scores, scores / 2)
    >>> display = ClusterEvidenceDisplay(evidence).plot()
    >>> display.ax_.get_title()
    '3 clusters (3 to 3)'
    """

    def __init__(self, evidence: ClusterEvidence) -> None:
        self.evidence = evidence

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> "ClusterEvidenceDisplay":
        """Draw the evidence of an estimator fitted with ``n_clusters="auto"``.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.
        **kwargs
            For `matplotlib.axes.Axes.plot`.

        Returns
        -------
        ClusterEvidenceDisplay
        """
        evidence = fitted_attribute(estimator, "clusters_evidence_", "such evidence")
        if evidence is None:
            raise ValueError(
                f"The number of clusters, {estimator.n_clusters_}, was given. Fit with "
                'n_clusters="auto" for evidence on it.'
            )
        return cls(evidence).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "ClusterEvidenceDisplay":
        """Draw the curve, the interval, and the chosen number.

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
        found = self.evidence
        low, high = found.interval
        curves = {
            "modularity": found.scores,
            "agreement of recipes": found.agreement.mean(axis=0),
        }
        self.lines_ = []
        for name, scores in curves.items():
            style = {"marker": ".", "label": name} | kwargs
            self.lines_ += self.ax_.plot(found.candidates, scores, **style)
        color = self.lines_[0].get_color()
        self.interval_ = self.ax_.axvspan(low, high, color=color, alpha=0.12, lw=0)
        self.chosen_ = self.ax_.axvline(found.n_clusters, color=color, ls="--", lw=1)
        self.ax_.set_xscale("log")
        shown = sorted({found.n_clusters, low, high, *found.alternatives})
        self.ax_.set_xticks(shown, [str(number) for number in shown])
        self.ax_.minorticks_off()
        title = f"{found.n_clusters} clusters ({low} to {high})"
        self.ax_.set(
            xlabel="number of clusters",
            ylabel="score",
            title=f"flat evidence, {title}" if found.flat else title,
        )
        self.ax_.legend()
        return self
