"""scikit-learn's own checks, on every estimator, and how many of them there were."""

from collections import Counter

from sklearn.utils.estimator_checks import parametrize_with_checks

from unaligned import PAVuC, SAVuC, baselines

# They need torch, and some of them pairs; tests/baselines/test_deep.py brings both.
DEEP = {"PVC", "MvCLN", "SURE", "SMILE", "CPMN"}
OURS = [PAVuC, SAVuC]
BASELINES = [getattr(baselines, name) for name in baselines.__all__ if name not in DEEP]


def quick(cls):
    """An estimator that does not take longer than a check needs."""
    few = {"max_iter": 3, "n_init": 1, "effort": "quick", "n_restarts": 1}
    return cls(**{k: v for k, v in few.items() if k in cls().get_params()})


@parametrize_with_checks([quick(cls) for cls in OURS])
def test_sklearn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks([quick(cls) for cls in BASELINES])
def test_sklearn_checks_of_baselines(estimator, check):
    check(estimator)


def test_no_check_was_lost():
    # Counted from the parametrisation itself, so that it holds under xdist too.
    marks = test_sklearn_checks.pytestmark + test_sklearn_checks_of_baselines.pytestmark
    checks = [case for m in marks if m.name == "parametrize" for case in m.args[1]]
    assert not [check for check in checks if getattr(check, "marks", ())]
    counts = Counter(type(estimator).__name__ for estimator, _ in checks)
    assert set(counts) == {cls.__name__ for cls in OURS + BASELINES}
    assert counts["PAVuC"] >= 45
    assert min(counts.values()) >= 40
