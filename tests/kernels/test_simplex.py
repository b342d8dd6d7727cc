import numpy as np
import pytest
from cuda_on_cpu import ModuleOnCpu
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from unaligned.kernels.simplex import project_on_gpu, project_simplex

points = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 8)),
    elements=st.floats(-1e3, 1e3),
)


def by_quadratic_program(h):
    """Nearest point of the simplex, found by a solver that knows nothing of sorting."""
    m = len(h)
    result = minimize(
        lambda g: 0.5 * np.sum((g - h) ** 2),
        np.full(m, 1 / m),
        jac=lambda g: g - h,
        bounds=[(0, None)] * m,
        constraints={"type": "eq", "fun": lambda g: g.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return result.x


@given(points)
def test_rows_lie_on_the_simplex(h):
    g = project_simplex(h)
    assert (g >= 0).all()
    np.testing.assert_allclose(g.sum(axis=1), 1, atol=1e-9)


@given(points)
def test_is_the_nearest_point_by_the_optimality_conditions(h):
    # g is nearest if and only if h − g is constant on the support of g and no larger
    # elsewhere.
    g = project_simplex(h)
    gap = h - g
    for row_gap, row in zip(gap, g, strict=True):
        shift = row_gap[row > 0]
        np.testing.assert_allclose(shift, shift[0], atol=1e-9)
        assert (row_gap <= shift.max() + 1e-9).all()


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_a_quadratic_program(seed):
    rng = np.random.RandomState(seed)
    h = rng.normal(scale=rng.choice([0.1, 1, 3]), size=rng.randint(1, 9))
    np.testing.assert_allclose(
        project_simplex(h[None])[0], by_quadratic_program(h), atol=1e-6
    )


@given(points)
def test_leaves_simplex_points_where_they_are(h):
    g = project_simplex(h)
    np.testing.assert_allclose(project_simplex(g), g, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keeps_the_dtype(dtype):
    assert project_simplex(np.zeros((2, 3), dtype)).dtype == dtype


@pytest.mark.parametrize("seed", range(5))
def test_entries_of_minus_infinity_leave_a_face_to_project_onto(seed):
    rng = np.random.RandomState(seed)
    h, face = rng.normal(size=6), np.array([0, 2, 3])
    barred = np.full((1, 6), -np.inf)
    barred[0, face] = h[face]
    expected = np.zeros(6)
    expected[face] = by_quadratic_program(h[face])
    np.testing.assert_allclose(project_simplex(barred)[0], expected, atol=1e-6)


LAUNCHERS = """
#include "simplex.cu"

extern "C" void launch_project(
    int blocks, int threads, const SCALAR *points, SCALAR *projected, int n_rows, int m)
{
    cuda_on_cpu::launch(blocks, threads, [=] {
        project(points, projected, n_rows, m);
    });
}
"""


@pytest.mark.heavy
@pytest.mark.parametrize(("scalar", "dtype"), [("float", "f4"), ("double", "f8")])
def test_the_kernel_for_gpus_finds_the_same_points(tmp_path, scalar, dtype):
    torch = pytest.importorskip("torch")
    module = ModuleOnCpu(tmp_path, LAUNCHERS, {"SCALAR": scalar})
    rng = np.random.default_rng(0)
    for n, m in ((19, 5), (9, 70), (1, 1), (3, 32)):
        h = rng.normal(scale=rng.choice([0.01, 1, 30]), size=(n, m)).astype(dtype)
        h[::2, 1:2] = -np.inf
        h[1:2, 3:] = h[1:2, :1]  # ties
        found = project_on_gpu(torch.tensor(h), module).numpy()
        atol = 40 * np.finfo(dtype).eps
        np.testing.assert_allclose(found, project_simplex(h), atol=atol)
    assert project_on_gpu(torch.empty(0, 4), module).shape == (0, 4)
