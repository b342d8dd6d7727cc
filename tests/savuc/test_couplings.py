from dataclasses import replace

import numpy as np
import ot
import pytest
from related_views import QUICK

from unaligned.savuc import anchors, couplings
from unaligned.savuc.anchors import Anchors


def make_anchors(seed, size=8, width=4):
    rng = np.random.RandomState(seed)
    means = rng.normal(size=(size, width)).astype(np.float32)
    distances = np.linalg.norm(means[:, None] - means[None], axis=2).astype(np.float32)
    masses = rng.dirichlet(np.full(size, 5)).astype(np.float32)
    quantiles = np.quantile(distances, np.linspace(0, 1, 6), axis=1).T
    return Anchors(distances / distances.mean(), masses, means, quantiles)


def permuted(anchors, order):
    return Anchors(
        anchors.distances[order][:, order],
        anchors.masses[order],
        anchors.means[order],
        anchors.signatures[order],
    )


@pytest.fixture
def pair():
    return make_anchors(0), make_anchors(1, size=6)


def random_plans(size, one, other, seed=0):
    shape = size, len(one.masses), len(other.masses)
    noise = np.random.RandomState(seed).normal(size=shape)
    plans = np.exp(2 * noise).astype(np.float32)
    return couplings.sinkhorn(plans, one.masses, other.masses, 50)


def masses(pair):
    return [anchors.masses for anchors in pair]


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


@pytest.mark.parametrize("temperature", [0.2, 1.0])
def test_gromov_wasserstein_steps_never_raise_their_cost(
    pair, monkeypatch, temperature
):
    # With margins kept, and Euclidean distances, the cost is concave: no step is too
    # long. Ten rounds of Sinkhorn do not keep them, so more are made here.
    sinkhorn = couplings.sinkhorn
    monkeypatch.setattr(
        couplings, "sinkhorn", lambda plans, a, b, n_iter: sinkhorn(plans, a, b, 3000)
    )
    one, other = (
        replace(anchors, masses=anchors.masses / anchors.masses.sum(dtype=float))
        for anchors in pair
    )
    settings = replace(QUICK, keeping_temperature=temperature)
    plans = random_plans(3, one, other).astype(np.float64)
    costs = [[gromov_wasserstein_cost(plan, one, other) for plan in plans]]
    for _ in range(12):
        plans = couplings.keep_distances(plans, one, other, 1, settings)
        np.testing.assert_allclose(plans.sum(axis=2), [one.masses] * 3, atol=1e-4)
        costs.append([gromov_wasserstein_cost(plan, one, other) for plan in plans])
    assert (np.diff(costs, axis=0) < 1e-4).all()
    assert (np.array(costs[-1]) < np.array(costs[0]) - 0.01).all()


def test_gromov_wasserstein_steps_as_they_are_lower_their_cost():
    for seeds in ((0, 1), (2, 3), (4, 5)):
        one, other = make_anchors(seeds[0]), make_anchors(seeds[1], size=6)
        plans = random_plans(5, one, other)
        moved = couplings.keep_distances(plans.copy(), one, other, 30, QUICK)
        for before, after in zip(plans, moved, strict=True):
            cost = gromov_wasserstein_cost(before, one, other)
            assert gromov_wasserstein_cost(after, one, other) < cost


def test_a_step_is_the_gradient_by_hand(pair):
    one, other = pair
    (plan,) = random_plans(1, one, other)
    gap = one.distances[:, :, None, None] - other.distances[None, None]
    cost = np.einsum("ijkl,jl->ik", gap**2, plan.astype(float))
    kernel = plan * np.exp(-cost / QUICK.keeping_temperature)
    a, b = one.masses.astype(float), other.masses.astype(float)
    for _ in range(10):
        kernel *= (a / kernel.sum(axis=1))[:, None]
        kernel *= b / kernel.sum(axis=0)
    (found,) = couplings.keep_distances(plan[None].copy(), one, other, 1, QUICK)
    np.testing.assert_allclose(found, kernel, atol=1e-4)


def test_learning_raises_the_correlations(pair):
    one, other = pair
    plans = random_plans(5, one, other)
    *_, before = couplings.correlate(plans, one.means, other.means, QUICK)
    learned, after = couplings.learn(plans.copy(), one, other, QUICK)
    assert (after > before).all()
    *_, again = couplings.correlate(learned, one.means, other.means, QUICK)
    np.testing.assert_allclose(after, again, rtol=1e-5)
    np.testing.assert_allclose(learned.sum(axis=1), [other.masses] * 5, atol=1e-4)


@pytest.mark.parametrize("n_correlations", [1, 2, 50])
@pytest.mark.parametrize("widths", [(4, 4), (3, 5), (5, 3)])
def test_correlations_and_directions_are_those_of_a_decomposition(
    widths, n_correlations
):
    one, other = (make_anchors(i, 8, width) for i, width in enumerate(widths))
    settings = replace(QUICK, n_correlations=n_correlations)
    plans = random_plans(3, one, other)
    to_one, to_other, fitness = couplings.correlate(
        plans, one.means, other.means, settings
    )
    r = min(n_correlations, *widths)
    for i, plan in enumerate(plans):
        cross = one.means.T.astype(float) @ plan @ other.means
        U, s, Vt = np.linalg.svd(cross)
        U, s, Vt = U[:, :r], s[:r], Vt[:r]
        assert fitness[i] == pytest.approx(s.sum(), rel=1e-2)
        # Directions times correlations, up to the sign of each pair of them.
        np.testing.assert_allclose(to_one[i] @ to_one[i].T, U * s**2 @ U.T, atol=1e-3)
        both = to_one[i] @ to_other[i].T
        np.testing.assert_allclose(both, U * s**2 @ Vt, atol=1e-3)


def test_unit_stack_scales_rows_and_leaves_zeros():
    rows = np.random.RandomState(0).normal(size=(2, 5, 3)).astype(np.float32)
    rows[1, 2] = 0
    expected = rows / np.maximum(np.linalg.norm(rows, axis=2), 1e-9)[:, :, None]
    np.testing.assert_allclose(couplings.unit_stack(rows), expected, rtol=1e-5)


def test_signatures_that_are_the_same_are_coupled():
    one = make_anchors(0, size=12)
    order = np.random.RandomState(3).permutation(12)
    other = permuted(one, order)
    noise = np.ones((1, 1, 1), np.float32)  # the first slice counts nothing
    settings = replace(QUICK, learning_temperature=1e-4)
    (plan,) = couplings.signature_couplings(one, other, noise, settings)
    np.testing.assert_array_equal(plan.argmax(axis=0), order)


def test_the_search_finds_a_hidden_permutation():
    one = make_anchors(0, size=20)
    order = np.random.RandomState(3).permutation(20)
    settings = replace(QUICK, n_starts=30, n_candidates=2)
    plans = couplings.couple_centres(
        one, permuted(one, order), settings, np.random.RandomState(0)
    )
    assert 1 <= len(plans) <= 2
    # Anchors that lie close together share their mass; most find their own image.
    assert np.mean(plans[0].argmax(axis=0) == order) >= 0.6


def test_what_is_kept_of_distances_is_what_lowers_the_cost(pair):
    one, other = pair
    plans = couplings.sinkhorn(random_plans(6, one, other), *masses(pair), 3000)
    costs = [gromov_wasserstein_cost(plan, one, other) for plan in plans]
    kept = couplings.distances_kept(plans, one, other)
    # All other terms of the cost depend on the margins alone.
    np.testing.assert_allclose(costs + 2 * kept, costs[0] + 2 * kept[0], rtol=1e-4)


def test_crossing_finds_couplings_that_keep_more_of_the_distances():
    gains = []
    for seed in range(5):
        one, other = (make_anchors(2 * seed + i, size=30) for i in range(2))
        plans = random_plans(10, one, other, seed)
        plans = couplings.keep_distances(plans, one, other, 50, QUICK)
        kept = couplings.distances_kept(plans, one, other)
        crossed = couplings.cross(plans, one, other, QUICK, np.random.RandomState(0))
        np.testing.assert_array_equal(crossed[:10], plans)
        assert len(crossed) == 15
        np.testing.assert_allclose(crossed.sum(axis=1), [other.masses] * 15, atol=1e-4)
        best_first = couplings.distances_kept(crossed[10:], one, other)
        assert (np.diff(best_first) <= 0).all()
        # As many steps from new starts, for comparison.
        others = random_plans(30, one, other, seed + 100)
        others = couplings.keep_distances(others, one, other, 50, QUICK)
        more = couplings.distances_kept(others, one, other).max()
        gains.append(best_first[0] - max(kept.max(), more))
    assert np.mean(gains) > 0
    assert min(gains) > -1e-3


def test_distances_between_many_rows_are_those_of_their_largest_eigenvalues(
    monkeypatch,
):
    one, other = (make_anchors(seed, size=30) for seed in (0, 1))
    plans = random_plans(3, one, other)
    distances = one.distances, plans, other.distances
    expected = 3 * np.einsum("ij,bjk,kl->bil", *distances)
    np.testing.assert_allclose(
        couplings.between(one, other, np.float32(3))(plans), expected, 1e-4
    )
    # Points of four columns: few eigenvalues hold what their distances say.
    monkeypatch.setattr(couplings, "N_EIGENVECTORS", 12)
    monkeypatch.setattr(anchors, "N_EIGENVECTORS", 12)
    found = couplings.between(one, other, np.float32(3))(plans)
    assert np.abs(found - expected).max() < 0.1 * expected.std()
    factors = one.factors
    values = np.linalg.eigvalsh(one.distances.astype(float))
    rest = np.sort(np.abs(values))[:-12]
    left = one.distances - factors[0] @ factors[1]
    assert np.linalg.norm(left) == pytest.approx(np.linalg.norm(rest), rel=1e-3)


def test_rows_find_a_hidden_permutation():
    one = make_anchors(0, size=80)
    one = replace(one, masses=np.full(80, 1 / 80, dtype=np.float32))
    order = np.random.RandomState(3).permutation(80)
    found = couplings.couple_rows(
        one, permuted(one, order), QUICK, np.random.RandomState(0)
    )
    assert len(found) == QUICK.n_starts // couplings.STARTS_OF_ROWS
    right = [np.mean(plan.argmax(axis=0) == order) for plan in found]
    assert max(right) > 0.9
    strangers = replace(make_anchors(1, size=80), masses=one.masses)
    astray = couplings.couple_rows(one, strangers, QUICK, np.random.RandomState(0))
    assert max(np.mean(plan.argmax(axis=0) == order) for plan in astray) < 0.2


def test_the_search_gives_the_same_for_the_same_random_numbers(pair):
    one, again = (
        couplings.couple_centres(*pair, QUICK, np.random.RandomState(5))
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, again)


def test_only_distinct_couplings_survive_the_fittest_first():
    plans = np.random.RandomState(0).uniform(size=(4, 3, 3)).astype(np.float32) ** 8
    twice = np.concatenate([plans, plans * 1.001])
    kept = couplings.distinct(twice, np.arange(8.0))
    np.testing.assert_array_equal(kept, plans[::-1] * np.float32(1.001))
