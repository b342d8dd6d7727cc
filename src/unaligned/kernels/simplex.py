"""Projection onto the probability simplex."""

from typing import Any

from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from unaligned.kernels.devices import is_on_gpu
from unaligned.kernels.nvrtc import CudaModule, compiled

__all__ = ["project_simplex"]

ROWS_PER_BLOCK = 8  # of threads on a GPU, each of them a warp


def project_simplex(points: NDArray[Any]) -> NDArray[Any]:
    """Euclidean projection of every row onto {g : g ≥ 0, Σ g = 1}.

    The projection is ``max(h - θ, 0)`` with the one shift θ that makes the row sum to
    one. Sorting the row finds it: θ is the shift of the longest run of largest entries
    that all stay positive.

    Parameters
    ----------
    points : array of shape (n, m)
        Floating-point rows, of NumPy or on any device of torch; the result is of the
        same kind. An entry of −∞ becomes zero: so a row is projected onto a face. It
        needs one entry that is finite.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> project_simplex(np.array([[0.5, 0.5], [3.0, 1.0], [0.2, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ],
           [0.6, 0.4]])
    """
    if is_on_gpu(points):
        return project_on_gpu(points)  # type: ignore[no-any-return]
    xp = array_namespace(points)
    m = points.shape[1]
    descending = xp.sort(points, axis=1, descending=True, stable=False)
    excess = xp.cumulative_sum(descending, axis=1) - 1
    size = xp.arange(1, m + 1, dtype=points.dtype, device=device(points))
    # Entry j of a sorted row stays positive exactly while it exceeds its own shift.
    support = xp.count_nonzero(descending * size > excess, axis=1)[:, None]
    shift = xp.take_along_axis(excess, support - 1, axis=1) / size[support - 1]
    projected: NDArray[Any] = (points - shift).clip(min=0)
    return projected


def project_on_gpu(points: Any, module: CudaModule | None = None) -> Any:
    """Project rows of a tensor on a GPU by one kernel: its sums are in float64."""
    import torch

    n, m = points.shape
    points = points.contiguous()
    projected = torch.empty_like(points)
    module = module or compiled("simplex.cu", str(points.dtype))
    project = module.launcher(
        "project",
        *(points, projected, n, m),
        blocks=-(-n // ROWS_PER_BLOCK),
        threads=32 * ROWS_PER_BLOCK,
    )
    if n > 0:
        project()
    return projected
