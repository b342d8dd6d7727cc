"""LabelFreeSearch: the best of many settings, by a criterion that needs no labels."""

import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import (
    BaseEstimator,
    ClusterMixin,
    MetaEstimatorMixin,
    _fit_context,
    clone,
)
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from unaligned.parameters import POSITIVE_INT
from unaligned.persistence.saving import SavingMixin
from unaligned.progress import say
from unaligned.selection.checkpoint import Checkpoint
from unaligned.selection.criteria import CRITERIA, Criterion

__all__ = ["LabelFreeSearch"]

# Fitted attributes of the best estimator that the search has too.
HANDED_ON = (
    "alignment_",
    "best_view_",
    "feature_names_in_",
    "labels_",
    "n_features_in_",
    "n_views_",
    "template_",
    "view_labels_",
    "view_names_in_",
)


class Task(NamedTuple):
    """One fit of a search."""

    candidate: int
    repeat: int
    parameters: dict[str, Any]
    model: Any
    key: str
    """The same for the same fit on the same data, in any run."""


class Outcome(NamedTuple):
    """What a fit was worth."""

    score: float
    seconds: float
    error: Exception | None = None


def _has_predict(search: Any) -> bool:
    return hasattr(search.estimator, "predict")


class LabelFreeSearch(SavingMixin, ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Try settings of an estimator and keep those that a label-free criterion prefers.

    What scikit-learn's ``GridSearchCV`` is where labels are known, this is where none
    are. Every candidate meets the same seeds; the best is the one of largest mean
    score, and its best-scored fit is kept.

    Parameters
    ----------
    estimator : estimator
        Any of the library's. It is cloned, never fitted itself.
    param_grid : dict or list of dicts
        Names of parameters and the values to try, as for ``GridSearchCV``.
    criterion : {"predictability", "recovery", "stability"} or callable, \
default="predictability"
        What to go by, larger being better: how well views predict the
        clusters of a model (see `predictability`); how much of a self-split it finds
        again (see `self_split_recovery`); how far clusters stay the same on subsamples
        (see `stability`); or a function of the fitted model, the views and ``aligned``
        that returns a number.
    n_repeats : int, default=1
        Fits per candidate, with different seeds.
    checkpoint : path, default=None
        File that gets a line per fit. A search that was stopped goes on from there,
        and one with a larger grid computes only what is new.
    n_jobs : int, default=None
        Processes side by side, as in joblib. None: one.
    random_state : int, RandomState instance or None, default=0
        Where the seeds of the fits come from. An int, so that runs can be repeated
        and checkpoints found again.
    verbose : int, default=0
        Whether to print a line per fit.

    Attributes
    ----------
    best_params_ : dict
        The candidate of largest mean score.
    best_score_ : float
    best_index_ : int
        Where it is in ``results_``.
    best_estimator_ : estimator
        Its best-scored fit.
    results_ : dict of lists and ndarrays
        One entry per candidate, ready for ``pandas.DataFrame(search.results_)``:
        ``params``, ``param_…`` for every parameter, ``mean_score``, ``std_score``,
        ``rank_score`` (1 is best), ``repeat0_score``, … and ``mean_seconds``.
    labels_, view_labels_, alignment_, template_
        Those of ``best_estimator_``.

    Notes
    -----
    A candidate whose fit fails scores NaN and is passed over, with a warning.

    Examples
    --------
    >>> from unaligned import PAVuC
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.selection import LabelFreeSearch
    >>> digits = load_digits_views()
    >>> data = unalign([X[:200] for X in digits.Xs], random_state=0)
    >>> search = LabelFreeSearch(PAVuC(10, tol=1e-3), {"mu": [0.1, 1.0]})
    >>> search.fit(data.Xs).best_params_
    {'mu': 1.0}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "set_params"])],
        "param_grid": [dict, list],
        "criterion": [StrOptions(set(CRITERIA)), callable],
        "n_repeats": [POSITIVE_INT],
        "checkpoint": [str, os.PathLike, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        criterion: str | Criterion = "predictability",
        n_repeats: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.criterion = criterion
        self.n_repeats = n_repeats
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, Xs: Any, y: Any = None, *, aligned: Any = None) -> "LabelFreeSearch":
        """Fit all candidates, and keep the best.

        Parameters
        ----------
        Xs : views
            As for the estimator's ``fit``.
        y : ignored
            Present for scikit-learn's conventions.
        aligned : None, "all", int, boolean mask or dict, default=None
            As for the estimator's ``fit``.

        Returns
        -------
        self : estimator
        """
        candidates = list(ParameterGrid(self.param_grid))
        tasks = self._tasks(candidates, Xs, aligned)
        scores, seconds = np.full((2, len(candidates), self.n_repeats), np.nan)
        errors = []
        for task, outcome in self._outcomes(tasks, Xs, aligned):
            at = task.candidate, task.repeat
            scores[at], seconds[at] = outcome.score, outcome.seconds
            if outcome.error is not None:
                errors.append((at, outcome.error))
        _tell_failures(sorted(errors, key=lambda error: error[0]), candidates, scores)

        self.results_ = tabulate(candidates, scores, seconds)
        self.best_index_ = int(np.nanargmax(self.results_["mean_score"]))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.results_["mean_score"][self.best_index_])
        repeat = int(np.argmax(scores[self.best_index_]))
        best = tasks[self.best_index_ * self.n_repeats + repeat].model
        self.best_estimator_ = best.fit(Xs, aligned=aligned)
        self._hand_on()
        return self

    def _hand_on(self) -> None:
        """Take over what the best estimator found."""
        for name in HANDED_ON:
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    def _restore_state(self, state: dict[str, Any]) -> None:
        found = {name: x for name, x in state.items() if name not in HANDED_ON}
        super()._restore_state(found)
        if "best_estimator_" in found:  # a file could say otherwise than its best
            self._hand_on()
        elif found:
            raise ValueError(f"it has {min(found)}, but no best_estimator_")

    def fit_predict(self, Xs: Any, y: Any = None, *, aligned: Any = None) -> Any:
        """Fit and return ``labels_``, the labels of the rows of the first view.

        Parameters
        ----------
        Xs, y, aligned
            As in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.fit(Xs, y, aligned=aligned).labels_

    @available_if(_has_predict)
    def predict(self, X: Any, view: int | str = 0) -> NDArray[np.intp]:
        """Label new rows of one view with ``best_estimator_``.

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
        return np.asarray(self.best_estimator_.predict(X, view))

    def _tasks(self, candidates: list[Any], Xs: Any, aligned: Any) -> list[Task]:
        """All fits, candidate by candidate; every candidate meets the same seeds."""
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_repeats)
        name_of = self._naming(Xs, aligned)
        tasks = []
        for candidate, parameters in enumerate(candidates):
            for repeat, seed in enumerate(seeds):
                model = clone(self.estimator).set_params(random_state=int(seed))
                model.set_params(**parameters)
                key = name_of(model)
                tasks.append(Task(candidate, repeat, parameters, model, key))
        return tasks

    def _naming(self, Xs: Any, aligned: Any) -> Callable[[Any], str]:
        """Way to give a fit a key by which a checkpoint knows it again."""
        if self.checkpoint is None:
            return lambda model: ""
        try:
            setting = joblib.hash([self.criterion, Xs, aligned])
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"A checkpoint cannot tell criterion={self.criterion!r} from another "
                "one. Use a function that is defined at the top of a module."
            ) from error

        def name_of(model: Any) -> str:
            parameters = sorted(model.get_params().items())
            return str(joblib.hash([setting, type(model).__name__, parameters]))

        return name_of

    def _outcomes(
        self, tasks: list[Task], Xs: Any, aligned: Any
    ) -> Iterator[tuple[Task, Outcome]]:
        """Outcome of every fit: found in the checkpoint, or computed and put there."""
        checkpoint = Checkpoint(self.checkpoint)
        known = checkpoint.read()
        for task in tasks:
            if task.key in known:
                found = known[task.key]
                yield task, Outcome(found["score"], found["seconds"])
        missing = [task for task in tasks if task.key not in known]
        done = len(tasks) - len(missing)
        if self.verbose and done:
            say(f"[LabelFreeSearch] {done}/{len(tasks)} found in {self.checkpoint}")

        judge = self.criterion
        if isinstance(judge, str):
            judge = CRITERIA[judge]
        run = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        for at, outcome in run(
            delayed(evaluate)(at, task.model, judge, Xs, aligned)
            for at, task in enumerate(missing)
        ):
            task, done = missing[at], done + 1
            setting = describe(task.parameters)
            if self.verbose:
                say(
                    f"[LabelFreeSearch] {done}/{len(tasks)} {setting}: score "
                    f"{outcome.score:.4g} ({outcome.seconds:.1f} s)"
                )
            if outcome.error is None:
                checkpoint.append(task.key, setting, outcome.score, outcome.seconds)
            yield task, outcome

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def evaluate(
    at: int, model: Any, criterion: Callable[..., float], Xs: Any, aligned: Any
) -> tuple[int, Outcome]:
    """Fit a clone of a model and judge it; ``at`` comes back with the outcome."""
    start = time.perf_counter()
    score, error = np.nan, None
    try:
        with warnings.catch_warnings():
            # The best is fitted once more, and complains then if there is reason to.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = clone(model).fit(Xs, aligned=aligned)
            score = float(criterion(fitted, Xs, aligned))
    except Exception as problem:
        error = problem
    return at, Outcome(score, time.perf_counter() - start, error)


def describe(parameters: dict[str, Any]) -> str:
    """Tell the settings of a candidate in one line."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def tabulate(
    candidates: list[dict[str, Any]],
    scores: NDArray[np.float64],
    seconds: NDArray[np.float64],
) -> dict[str, Any]:
    """Results of all candidates, by column."""
    names = sorted({name for candidate in candidates for name in candidate})
    means = scores.mean(axis=1)
    return {
        "params": candidates,
        **{f"param_{name}": [c.get(name) for c in candidates] for name in names},
        **{f"repeat{r}_score": column for r, column in enumerate(scores.T)},
        "mean_score": means,
        "std_score": scores.std(axis=1),
        "rank_score": rankdata(np.nan_to_num(-means, nan=np.inf), "min").astype(int),
        "mean_seconds": seconds.mean(axis=1),
    }


def _tell_failures(
    errors: list[tuple[tuple[int, int], Exception]],
    candidates: list[dict[str, Any]],
    scores: NDArray[np.float64],
) -> None:
    """Warn of fits that failed; where no candidate is left, raise the first error."""
    if np.isfinite(scores.mean(axis=1)).any():
        for (candidate, _), error in errors:
            warnings.warn(
                f"The candidate {describe(candidates[candidate])} is passed over, "
                f"since its fit failed: {error}",
                FitFailedWarning,
                stacklevel=4,
            )
    elif errors:
        raise errors[0][1]
    else:
        raise ValueError(
            "The criterion gave no finite number for any candidate. Use another one: "
            f"{', '.join(CRITERIA)} or a function of your own."
        )
