"""Error and seconds of imputation, on cells that were hidden.

Tables that scikit-learn ships, and one of related columns that is drawn. The error is
in standard deviations of the column, one for the mean of a column.
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from unaligned.kernels.factor_imputation import impute_by_factors

SHARES = (0.03, 0.1, 0.3)


def drawn(n: int, d: int, r: int, noise: float) -> np.ndarray:
    """Columns that r factors and noise make up."""
    rng = np.random.RandomState(0)
    signal = rng.normal(size=(n, r)) @ rng.normal(size=(r, d))
    return signal / signal.std(axis=0) + noise * rng.normal(size=(n, d))


def main() -> None:
    """Print a line for every table and share of hidden cells."""
    tables = {
        "drawn, 800 x 12": drawn(800, 12, 6, 0.3),
        "drawn, 300 x 60": drawn(300, 60, 6, 0.6),
        "breast cancer": load_breast_cancer().data,
        "wine": load_wine().data,
        "diabetes": load_diabetes().data,
    }
    methods = {
        "factors": impute_by_factors,
        "iterative": IterativeImputer(random_state=0).fit_transform,
    }
    warnings.simplefilter("ignore")
    for share in SHARES:
        for name, X in tables.items():
            gaps = np.random.RandomState(1).uniform(size=X.shape) < share
            holed = np.where(gaps, np.nan, X)
            line = f"{share:4.0%} hidden, {name:16}"
            for method, impute in methods.items():
                start = time.process_time()
                off = (impute(holed) - X) / X.std(axis=0)
                seconds = time.process_time() - start
                error = np.sqrt(np.mean(off[gaps] ** 2))
                line += f"  {method} {error:.3f} ({seconds:.2f} s)"
            print(line, flush=True)


if __name__ == "__main__":
    main()
