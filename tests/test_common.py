"""scikit-learn's own checks, on every estimator, and how many of them there were."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from unaligned import PAVuC


@parametrize_with_checks([PAVuC(max_iter=3, n_init=1)])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_no_check_was_lost():
    # Counted from the parametrisation itself, so that it holds under xdist too.
    (mark,) = [m for m in test_sklearn_checks.pytestmark if m.name == "parametrize"]
    checks = list(mark.args[1])
    assert len(checks) >= 45
    assert not [check for check in checks if getattr(check, "marks", ())]
