"""Columns that give rows away, against a loop that leaves out one row at a time."""

import numpy as np
from sklearn.linear_model import Ridge

from unaligned.disclosure.giveaway import find_giveaway
from unaligned.kernels.scaling import standardize
from unaligned.savuc.bridge_regression import fit_ridge


def make_tables(n=60):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, 5))
    Y = X[:, :3] @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(n, 4))
    Y[:, 3] = rng.normal(size=n)
    return X, Y


def test_rows_are_looked_up_with_their_own_pair_left_out():
    X, Y = make_tables()
    found = find_giveaway(X, Y, np.ones(60), np.random.RandomState(0))
    x, y = standardize(X), standardize(Y)
    chosen = fit_ridge(x, y)
    told = np.empty_like(y)
    for row in range(60):
        rest = np.delete(np.arange(60), row)
        # The penalty is in units of all rows, which are those of the whole fit.
        unit = np.sum((x - x.mean(axis=0)) ** 2) / x.shape[1]
        model = Ridge(chosen.penalty * unit).fit(x[rest], y[rest])
        told[row] = model.predict(x[[row]])[0]
    np.testing.assert_allclose(chosen.left_out, told, atol=1e-6)
    scale = np.sqrt(np.mean((told - y) ** 2, axis=0))

    def share(columns):
        far = ((told[:, None] - y[None]) / scale)[:, :, columns]
        return np.mean(np.argmin((far**2).sum(axis=2), axis=1) == np.arange(60))

    assert found.linked == share([0, 1, 2, 3])
    for column in range(4):
        rest = [c for c in range(4) if c != column]
        assert found.without[column] == share(rest)


def test_noise_gives_nothing_away():
    X, Y = make_tables(200)
    found = find_giveaway(X, Y, np.ones(200), np.random.RandomState(0))
    assert found.explained[3] < 0.05 < 0.5 < found.explained[:3].min()
    assert found.without[3] >= found.linked - 0.02
    assert found.without[:3].min() < found.linked
