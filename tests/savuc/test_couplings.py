import numpy as np
import ot
import pytest

from unaligned.savuc import couplings
from unaligned.savuc.couplings import Anchors, Effort


def make_anchors(seed, size=8):
    rng = np.random.RandomState(seed)
    means = rng.normal(size=(size, 4)).astype(np.float32)
    distances = np.linalg.norm(means[:, None] - means[None], axis=2).astype(np.float32)
    masses = rng.dirichlet(np.full(size, 5)).astype(np.float32)
    return Anchors(distances / distances.mean(), masses, means)


@pytest.fixture
def pair():
    return make_anchors(0), make_anchors(1, size=6)


def gromov_wasserstein_cost(plan, one, other):
    """Σ (C_ij − C'_kl)² T_ik T_jl, by four sums."""
    gap = one.distances[:, :, None, None] - other.distances[None, None]
    return np.einsum("ijkl,ik,jl->", gap**2, plan, plan)


def test_sinkhorn_reaches_its_margins_and_is_pots(pair):
    one, other = pair
    kernel = np.random.RandomState(0).uniform(0.1, 1, size=(2, 8, 6))
    plans = couplings.sinkhorn(kernel.copy(), one.masses, other.masses, 500)
    np.testing.assert_allclose(plans.sum(axis=2), [one.masses] * 2, atol=1e-6)
    np.testing.assert_allclose(plans.sum(axis=1), [other.masses] * 2, atol=1e-6)
    for plan, K in zip(plans, kernel, strict=True):
        a, b = (
            m.astype(float) / m.sum(dtype=float) for m in (one.masses, other.masses)
        )
        np.testing.assert_allclose(plan, ot.sinkhorn(a, b, -np.log(K), 1.0), atol=1e-6)


def test_gromov_wasserstein_steps_lower_their_cost(pair):
    one, other = pair
    plans = couplings.random_couplings(5, one, other, np.random.RandomState(0))
    moved = couplings.keep_distances(plans.copy(), one, other, 30)
    for before, after in zip(plans, moved, strict=True):
        assert gromov_wasserstein_cost(after, one, other) < gromov_wasserstein_cost(
            before, one, other
        )


def test_learning_raises_the_correlations(pair):
    one, other = pair
    plans = couplings.random_couplings(5, one, other, np.random.RandomState(0))
    _, before = couplings.learn(plans, one, other, 0)
    _, after = couplings.learn(plans, one, other, 10)
    assert (after > before).all()


def test_correlations_are_singular_values(pair):
    one, other = pair
    plans = couplings.random_couplings(3, one, other, np.random.RandomState(0))
    _, fitness = couplings.learn(plans, one, other, 0)
    for plan, found in zip(plans, fitness, strict=True):
        cross = one.means.T.astype(float) @ plan @ other.means
        values = np.linalg.svd(cross, compute_uv=False)
        assert found == pytest.approx(
            values[: couplings.N_CORRELATIONS].sum(), rel=0.01
        )


def test_the_search_finds_a_hidden_permutation():
    one = make_anchors(0, size=20)
    order = np.random.RandomState(3).permutation(20)
    other = Anchors(one.distances[order][:, order], one.masses[order], one.means[order])
    plans, fitness = couplings.search_couplings(
        one, other, Effort(1, 60, 2, 40, 3, 0), np.random.RandomState(0)
    )
    assert (np.diff(fitness) <= 0).all()
    # Anchors that lie close together share their mass; most find their own image.
    assert np.mean(plans[0].argmax(axis=0) == order) >= 0.6


def test_only_distinct_couplings_survive_the_fittest_first():
    plans = np.random.RandomState(0).uniform(size=(4, 3, 3)).astype(np.float32) ** 8
    twice = np.concatenate([plans, plans * 1.001])
    kept, fitness = couplings.distinct(twice, np.arange(8.0))
    assert len(kept) == 4
    np.testing.assert_array_equal(fitness, [7, 6, 5, 4])


def test_children_keep_the_margins(pair):
    one, other = pair
    rng = np.random.RandomState(0)
    plans = couplings.random_couplings(5, one, other, rng)
    children = couplings.cross(plans, one, other, 7, rng)
    np.testing.assert_allclose(children.sum(axis=1), [other.masses] * 7, atol=1e-5)
    np.testing.assert_allclose(children.sum(axis=2), [one.masses] * 7, atol=1e-3)


def test_an_anchor_nobody_was_sampled_for_speaks_through_its_neighbours():
    rows = np.arange(6.0)[:, None]
    D = np.abs(rows - rows.T)
    found = couplings.anchor_distances(
        D, np.array([0, 0, 0, 1, 1, 1]), rows, np.array([[1.0], [4.0], [5.5]])
    )
    assert found.shape == (3, 3)
    assert found[0, 2] > found[1, 2]
    np.testing.assert_allclose(found.mean(), 1)
