"""What the deep baselines need of PyTorch, which is imported when it is used.

So that the classes can be looked at where there is no torch, no module imports it at
its top: functions get it from `load_torch`, and formulas use methods of tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.matrices import largest_of, most_to_square
from unaligned.shapes import check_shapes
from unaligned.views import Views, label

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Sequential

__all__ = [
    "FrozenEncoder",
    "Scaling",
    "adam",
    "choose_device",
    "count_weights",
    "draw_batches",
    "encode",
    "freeze",
    "load_torch",
    "measure_scale",
    "scale_views",
    "seeded",
    "to_tensor",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

# Rows that go through a network at once where no gradient is wanted.
ENCODED_AT_ONCE = 8192


def load_torch() -> Any:
    """Import torch, or say how to get it."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            "CPMN, MvCLN, PVC, SMILE and SURE train neural networks and need PyTorch. "
            "Install it with `pip install unaligned[deep]`."
        ) from None
    return torch


def choose_device(device: str | None) -> Any:
    """Device by name; where none is named, a CUDA GPU if there is one."""
    torch = load_torch()
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"device={device!r} cannot be used: torch {torch.__version__} says "
            f"{str(error).splitlines()[0]!r}. Use device='cpu', or None for whatever "
            "there is."
        ) from None
    return chosen


@contextmanager
def seeded(rng: np.random.RandomState, device: Any) -> Iterator[None]:
    """Draw from torch's generators by our seed, and leave them as they were."""
    torch = load_torch()
    used = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(used):
        torch.manual_seed(int(rng.randint(2**31 - 1)))
        yield


def adam(networks: Sequence[Any], learning_rate: float, decay: float = 0.0) -> Any:
    """Adam over the parameters of all networks."""
    parameters = [p for network in networks for p in network.parameters()]
    return load_torch().optim.Adam(
        parameters, lr=learning_rate, weight_decay=decay, fused=True
    )


class Scaling(NamedTuple):
    """How the columns of a view were shifted and scaled."""

    shift: Array
    width: Array

    def apply(self, X: Array, name: str = "X") -> NDArray[np.float32]:
        """Scaled rows, in the single precision of the networks."""
        scaled = (X - self.shift) / self.width
        if (largest := largest_of(scaled)) > most_to_square(X.size, np.float32):
            raise ValueError(
                f"{name} holds values as large as {largest:.3g} after scaling: sums "
                "of their squares do not fit into float32, in which networks compute. "
                "Measure it in larger units, as in X / abs(X).max()."
            )
        return scaled.astype(np.float32)


def measure_scale(X: Array, how: str) -> Scaling:
    """Find the shift and width of a view.

    ``"range"`` brings the whole matrix to [0, 1], ``"minmax"`` every column,
    ``"standard"`` gives columns mean 0 and deviation 1, ``"none"`` leaves them alone.
    What does not vary becomes zero.
    """
    axis = None if how == "range" else 0
    if how == "none":
        return Scaling(np.zeros((), X.dtype), np.ones((), X.dtype))
    if how == "standard":
        shift, width = X.mean(axis=0), X.std(axis=0)
    else:
        shift = X.min(axis=axis)
        width = X.max(axis=axis) - shift
    # A constant column has a width of rounding errors, not of zero.
    constant = width <= 10 * np.finfo(X.dtype).eps * np.abs(X).max(axis=axis)
    return Scaling(np.asarray(shift), np.where(constant, 1, width).astype(X.dtype))


def scale_views(
    views: Views, how: str, device: Any
) -> tuple[list[Scaling], list[Tensor]]:
    """Measure all views, and put them on the device, scaled."""
    scalings = [measure_scale(X, how) for X in views.arrays]
    named = zip(scalings, views.arrays, views.names, strict=True)
    return scalings, [
        to_tensor(scaling.apply(X, label(name)), device) for scaling, X, name in named
    ]


def to_tensor(array: Array, device: Any) -> Tensor:
    """Copy an array to the device."""
    return load_torch().from_numpy(np.ascontiguousarray(array)).to(device)


def encode(encoder: Sequential, X: Tensor) -> NDArray[np.float32]:
    """Latent points of all rows, without dropout and without a gradient."""
    torch = load_torch()
    training = encoder.training
    encoder.eval()
    with torch.no_grad():
        latent = torch.cat([encoder(rows) for rows in X.split(ENCODED_AT_ONCE)])
    encoder.train(training)
    found: NDArray[np.float32] = latent.cpu().numpy()
    return found


class FrozenEncoder(NamedTuple):
    """A trained encoder and the scaling before it, as arrays: it runs without torch."""

    scaling: Scaling
    weights: list[NDArray[np.float32]]
    biases: list[NDArray[np.float32]]
    rectified: bool
    """Whether latent points are cut off at zero, like all hidden ones."""

    def check(self, n_features: int, n_latent: int) -> None:
        """Complain where the layers do not lead from one width to the other."""
        of_scaling = {"shift": self.scaling.shift, "width": self.scaling.width}
        for name, part in of_scaling.items():
            axes = "d" if np.ndim(part) else ""
            check_shapes(of_scaling, {name: axes}, {"d": n_features})
        width = n_features
        for W, b in zip(self.weights, self.biases, strict=True):
            layer = {"weights": W, "biases": b}
            sizes = {"in": width}
            check_shapes(layer, {"weights": "in out", "biases": "out"}, sizes)
            width = sizes["out"]
        if width != n_latent:
            raise ValueError(f"an encoder ends in {width} columns, not in {n_latent}")

    def encode(self, X: Array) -> NDArray[np.float32]:
        """Latent points of rows as they come from the user."""
        H = self.scaling.apply(X)
        for depth, (W, b) in enumerate(zip(self.weights, self.biases, strict=True), 1):
            H = H @ W + b
            if self.rectified or depth < len(self.weights):
                np.maximum(H, 0, out=H)
        return H


def freeze(encoder: Sequential, scaling: Scaling) -> FrozenEncoder:
    """Copy an encoder as it is when in use.

    Dropout falls away then, and batch normalisation, with the statistics it has
    learned, is linear and goes into the layer before it.
    """
    weights: list[NDArray[np.float32]] = []
    biases: list[NDArray[np.float32]] = []
    rectified = False
    for layer in encoder:
        kind = type(layer).__name__
        parts = {
            name: value.detach().cpu().numpy().copy()
            for name, value in layer.state_dict().items()
        }
        rectified = kind == "ReLU" or (rectified and kind == "Dropout")
        if kind == "Linear":
            weights.append(parts["weight"].T)
            biases.append(parts["bias"])
        elif kind == "BatchNorm1d":
            slope = parts["weight"] / np.sqrt(parts["running_var"] + layer.eps)
            weights[-1] = weights[-1] * slope
            biases[-1] = (biases[-1] - parts["running_mean"]) * slope + parts["bias"]
    return FrozenEncoder(scaling, weights, biases, rectified)


def count_weights(widths: list[int], layers: Sequence[int]) -> int:
    """Count the weights of perceptrons from some widths through the same layers.

    Examples
    --------
    >>> count_weights([3, 2], (4, 1))
    28
    """
    shapes = [pairwise((width, *layers)) for width in widths]
    return sum(inputs * outputs for pairs in shapes for inputs, outputs in pairs)


def draw_batches(n: int, size: int, rng: np.random.RandomState) -> list[Indices]:
    """Shuffle n items into batches; a last batch of one joins the one before."""
    order = rng.permutation(n)
    ends = np.arange(size, n, size)
    if ends.size and n - ends[-1] == 1:
        ends = ends[:-1]
    return np.split(order, ends)
