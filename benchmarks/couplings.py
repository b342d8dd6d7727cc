"""SAVuC's Gromov–Wasserstein steps against POT's: ``python -m benchmarks.couplings``.

Both improve the same random couplings of two views' anchors, with as many steps and
scalings in each. Prints the CPU seconds, and the mean cost reached per coupling.
"""

import time

import numpy as np
import ot

from unaligned.datasets import load_digits_views
from unaligned.savuc.anchors import centres
from unaligned.savuc.config import Settings
from unaligned.savuc.couplings import keep_distances, sinkhorn
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.starts import prepare_view

N_COUPLINGS, N_STEPS, N_SCALINGS = 75, 50, 10
SETTINGS = Settings()


def cost(plans, one, other):
    """Mean Gromov–Wasserstein cost of couplings with the anchors' masses as margins."""
    constant = (one.distances**2 @ one.masses)[:, None] + other.distances**2 @ (
        other.masses
    )
    moved = one.distances @ plans @ other.distances
    return float(np.mean(np.sum((constant - 2 * moved) * plans, axis=(1, 2))))


def by_pot(plans, one, other):
    """Solve all problems as one batch of POT's."""
    size = len(plans)
    result = ot.solve_gromov_batch(
        np.repeat(one.distances[None], size, axis=0),
        np.repeat(other.distances[None], size, axis=0),
        reg=SETTINGS.keeping_temperature,
        a=np.repeat(one.masses[None], size, axis=0),
        b=np.repeat(other.masses[None], size, axis=0),
        T_init=plans,
        symmetric=True,
        max_iter=N_STEPS,
        max_iter_inner=N_SCALINGS,
        tol=0.0,
        tol_inner=0.0,
    )
    return result.plan


def anchors_of(X, rng):
    """Centres of a view."""
    geometry = read_geometry(X, SETTINGS.n_directions, rng)
    view = prepare_view(geometry, SETTINGS, rng)
    return centres(geometry, view.whitened, view.sketch, SETTINGS, rng)


def main():
    """Compare on two views of the digits."""
    rng = np.random.RandomState(0)
    digits = load_digits_views()
    one, other = (anchors_of(digits.Xs[i], rng) for i in (0, 3))
    noise = 2 * rng.randn(N_COUPLINGS, len(one.masses), len(other.masses))
    plans = np.exp(noise.astype(np.float32))
    sinkhorn(plans, one.masses, other.masses, 20)
    keep_distances(plans[:2].copy(), one, other, 1, SETTINGS)  # compile first
    for name, solve in (
        ("ours", lambda start: keep_distances(start, one, other, N_STEPS, SETTINGS)),
        ("POT's", lambda start: by_pot(start, one, other)),
    ):
        start = time.process_time()
        found = solve(plans.copy())
        seconds = time.process_time() - start
        off = np.abs(found.sum(axis=2) - one.masses).sum(axis=1).mean()
        print(
            f"{name:6} {seconds:6.2f} CPU s, cost {cost(found, one, other):.4f}, "
            f"rows off their masses by {off:.1e}"
        )
    print(f"start         cost {cost(plans, one, other):.4f}")


if __name__ == "__main__":
    main()
