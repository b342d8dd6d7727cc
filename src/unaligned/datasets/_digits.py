"""Four views of scikit-learn's handwritten digits: no file, no download."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

__all__ = ["load_digits_views"]

Images = NDArray[np.float64]

DESCR = """\
Four views of the 1,797 handwritten digits that come with scikit-learn (8 × 8 pixels):

- pixels (64): the grey values,
- gradients (72): histograms of edge directions, 8 each in 3 × 3 overlapping cells,
- fourier (39): magnitudes of the two-dimensional spectrum, blind to position,
- profiles (48): depth to the first ink from four sides, strokes per row and column.

Row order is the true correspondence; classes are the digits 0 to 9.
"""


def load_digits_views() -> Bunch:
    """Load the digits as four really different views.

    Returns
    -------
    Bunch
        ``Xs`` (list of four arrays with 1,797 rows), ``y``, ``view_names``, ``DESCR``.

    Examples
    --------
    >>> digits = load_digits_views()
    >>> [X.shape[1] for X in digits.Xs]
    [64, 72, 39, 48]
    >>> digits.view_names
    ['pixels', 'gradients', 'fourier', 'profiles']
    """
    digits: Any = load_digits()
    images = digits.images / 16.0
    views = {
        "pixels": images.reshape(len(images), -1),
        "gradients": edge_histograms(images),
        "fourier": spectrum_magnitudes(images),
        "profiles": outline_profiles(images),
    }
    return Bunch(
        Xs=list(views.values()), y=digits.target, view_names=list(views), DESCR=DESCR
    )


def edge_histograms(images: Images) -> Images:
    """Edge strength by direction, in 3 × 3 half-overlapping cells of 4 × 4 pixels."""
    down, right = np.gradient(images, axis=(1, 2))
    strength = np.hypot(down, right)
    turn = np.arctan2(down, right) / (2 * np.pi) % 1
    direction = np.floor(turn * 8).astype(int) % 8
    by_direction = strength[..., None] * (direction[..., None] == np.arange(8))
    cells = [
        by_direction[:, top : top + 4, left : left + 4].sum(axis=(1, 2))
        for top in (0, 2, 4)
        for left in (0, 2, 4)
    ]
    return np.hstack(cells)


def spectrum_magnitudes(images: Images) -> Images:
    """Magnitudes of the 8 × 8 Fourier transform, without the constant one."""
    spectrum = np.abs(np.fft.rfft2(images)).reshape(len(images), -1)
    return spectrum[:, 1:]


def outline_profiles(images: Images) -> Images:
    """Depth to the first ink from each of the four sides, and strokes per line.

    With grey values as the chance that a ray stops, depth is how far it comes on
    average; strokes are the total rise from light to dark along the line.
    """
    lines = [images, images.transpose(0, 2, 1)]  # rows, columns
    sides = [side for line in lines for side in (line, line[:, :, ::-1])]
    depth = [np.cumprod(1 - side, axis=2).sum(axis=2) for side in sides]
    rises = [np.diff(line, axis=2, prepend=0).clip(min=0).sum(axis=2) for line in lines]
    return np.hstack([*depth, *rises])
