"""All estimators, by name."""

from typing import Any

from unaligned import baselines
from unaligned.pavuc import PAVuC
from unaligned.savuc import SAVuC

__all__ = ["ESTIMATORS", "estimator_named"]

ESTIMATORS: dict[str, Any] = {
    "SAVuC": SAVuC,
    "PAVuC": PAVuC,
    **{name: getattr(baselines, name) for name in baselines.__all__},
}


def estimator_named(name: str) -> Any:
    """Class of the estimator that is called so, in capital or small letters.

    Examples
    --------
    >>> estimator_named("savuc").__name__
    'SAVuC'
    """
    by_name = {known.lower(): known for known in ESTIMATORS}
    if not isinstance(name, str) or name.lower() not in by_name:
        raise ValueError(
            f"method={name!r} is not known; the methods are {', '.join(ESTIMATORS)}."
        )
    return ESTIMATORS[by_name[name.lower()]]
