"""Maps: the rows of every view in two dimensions, in seconds for any number of rows."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from threadpoolctl import threadpool_limits

from unaligned.alignment import Alignment
from unaligned.kernels.procrustes import polar_factor
from unaligned.progress import say
from unaligned.views import check_views

__all__ = ["THE_VIEWS", "draw_joint", "draw_maps", "map_view", "rows_to_draw"]

Array = NDArray[Any]

N_LANDMARKS = 1500  # rows that t-SNE places; others are interpolated
N_DIRECTIONS = 50  # principal directions that t-SNE uses
N_NEAREST = 3  # landmarks that a row is interpolated from
ROWS_AT_ONCE = 4096  # standardised at a time, to save memory

# What a fitted estimator may hold of each view, the most informative first.
THE_VIEWS = "the views"
KEPT_PER_VIEW = {
    "_views": THE_VIEWS,
    "anchor_graphs_": "the weights that the fit put between rows and anchors",
    "latents_": "the latent coordinates that the fit gave the rows of each view",
    "places_": "the places of the rows of each view in the space of the template",
    "memberships_": "the memberships that the fit gave the rows of each view",
    "view_graphs_": "the graph that the fit learned between the rows of each view",
}


def rows_to_draw(model: Any, Xs: Any = None) -> tuple[list[Any], str]:
    """Find the rows that the map of each view is made from.

    Parameters
    ----------
    model : fitted estimator or Alignment
    Xs : views, optional
        The views the model was fitted on. None: what the model kept of each view; if it
        kept nothing of single views, its common embedding in each view's row order.

    Returns
    -------
    rows : list of matrices
        One per view, in the view's own row order.
    what : str
        What they are, in words.
    """
    if Xs is not None:
        return _check_again(model, Xs), THE_VIEWS
    for name, what in KEPT_PER_VIEW.items():
        kept = getattr(model, name, None)
        if kept is not None:
            # Several graphs of one view are put side by side.
            return [np.hstack(X) if isinstance(X, list) else X for X in kept], what
    if getattr(model, "embedding_", None) is not None:
        common = np.asarray(model.embedding_)
        orders = [np.argsort(rows) for rows in model.alignment_.permutations]
        return [common[order] for order in orders], "the embedding common to all views"
    raise ValueError(
        f"{type(model).__name__} holds nothing that a map of its views could be made "
        "from. Pass the views: Xs=..."
    )


def _check_again(model: Any, Xs: Any) -> list[Any]:
    """Check that these are the views that the model was fitted on."""
    views = check_views(Xs, view_sizes=getattr(model, "view_sizes", None))
    if isinstance(model, Alignment):
        n_views = model.n_views
        n_rows = {model.template: len(model.permutations[model.template])}
    else:
        n_views = len(model.view_labels_)
        n_rows = {i: len(labels) for i, labels in enumerate(model.view_labels_)}
    if len(views) != n_views:
        raise ValueError(
            f"Xs holds {len(views)} views, but {type(model).__name__} knows {n_views}. "
            "Pass the views it was fitted on."
        )
    for i, n in n_rows.items():
        if views.n_rows[i] != n:
            raise ValueError(
                f"View {i} of Xs has {views.n_rows[i]} rows, but it had {n} when "
                f"{type(model).__name__} saw it. Pass the views it was fitted on."
            )
    return views.arrays


def draw_maps(rows: list[Any], alignment: Alignment, verbose: int = 0) -> list[Array]:
    """Draw a map of every view, rotated to the template's if the view is trusted.

    The orientation of a map has no meaning. So the maps of trusted views are rotated
    and mirrored until matched rows are as near to each other as possible.

    Parameters
    ----------
    rows : list of matrices
        One per view.
    alignment : Alignment
    verbose : int, default=0
        Whether to print a line per view.

    Returns
    -------
    list of ndarray of shape (n_rows of the view, 2)
        float32, centred, in units of the map's radius.
    """

    def draw(i: int) -> Array:
        drawn = map_view(rows[i])
        if verbose:
            say(f"[report] map of view {alignment.view_names[i]} drawn")
        return drawn

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor() as pool:
        maps = list(pool.map(draw, range(len(rows))))
    for (t, i), pairs in alignment.trusted_pairs().items():
        maps[i] = rotate(maps[i], maps[t], pairs)
    return maps


def draw_joint(rows: list[Any], alignment: Alignment) -> list[Array | None]:
    """Draw one map of all views that are matched row by row.

    Matched rows have one place. The map is made from the principal coordinates of all
    views side by side, each scaled to the same variance. A row without a partner is
    interpolated between the most similar rows of its view.

    Parameters
    ----------
    rows : list of matrices
        One per view.
    alignment : Alignment

    Returns
    -------
    list of ndarray of shape (n_rows of the view, 2), or None
        None for views that are not matched.
    """
    places: list[Array | None] = [None] * len(rows)
    template = alignment.template
    matched = [i for i in alignment.matched() if (alignment.permutations[i] >= 0).any()]
    if len(matched) < 2 or template not in matched:
        return places
    points, sides = {}, []
    for i in matched:
        some = np.random.RandomState(0).permutation(rows[i].shape[0])[:N_LANDMARKS]
        points[i] = principal_coordinates(rows[i], np.sort(some))
        partner = alignment.permutations[i]
        side = np.where(partner[:, None] >= 0, points[i][partner], 0)
        sides.append(side / max(float(np.sqrt(np.mean(side**2))), 1e-12))
    joint = map_view(np.hstack(sides), scaled=True)
    for i in matched:
        partner = alignment.permutations[i]
        at = np.flatnonzero(partner >= 0)
        placed = np.empty((len(points[i]), 2), dtype=np.float32)
        placed[partner[at]] = joint[at]
        rest = np.setdiff1d(np.arange(len(placed)), partner)
        if len(rest):
            known = points[i][partner[at]]
            placed[rest] = _interpolate(points[i][rest], known, joint[at])
        places[i] = placed
    return places


def map_view(X: Any, scaled: bool = False) -> Array:
    """Place the rows of a view in the plane, similar rows near each other.

    t-SNE of fifty principal directions places up to 1,500 rows, chosen by a fixed seed.
    Every other row is interpolated between the three of them that are most similar.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    scaled : bool, default=False
        Whether columns are used as they are, and not standardised.

    Returns
    -------
    ndarray of shape (n, 2)
        float32, centred, in units of the map's radius.

    Examples
    --------
    >>> import numpy as np
    >>> map_view(np.eye(30)).shape
    (30, 2)
    """
    rng = np.random.RandomState(0)
    n = X.shape[0]
    landmarks = np.sort(rng.permutation(n)[:N_LANDMARKS])
    points = principal_coordinates(X, landmarks, scaled)
    if len(landmarks) < 10 or not points.any():
        return _to_unit(points[:, :2])
    tsne = TSNE(
        init="pca",
        perplexity=min(20, (len(landmarks) - 1) / 3),
        max_iter=400,
        angle=0.8,
        random_state=0,
    )
    # One thread adds up in one order, so that the same rows give the same map.
    with threadpool_limits(limits=1, user_api="openmp"):
        placed = tsne.fit_transform(points[landmarks])
    if len(landmarks) < n:
        placed = _interpolate(points, points[landmarks], placed)
    return _to_unit(placed)


def principal_coordinates(
    X: Any, landmarks: NDArray[np.intp], scaled: bool = False
) -> Array:
    """Standardised rows in the principal directions of some of them, float32.

    Rows that are ``scaled`` are taken as they are.
    """
    known = X[landmarks]
    # A sparse view is neither centred nor standardised.
    pca: Any
    if sparse.issparse(X):
        scaler, pca = None, TruncatedSVD
    else:
        scaler, pca = StandardScaler(with_std=not scaled).fit(known), PCA
        known = scaler.transform(known)
    width = min(N_DIRECTIONS, min(known.shape) - (pca is TruncatedSVD))
    pca = pca(max(width, 1), random_state=0)
    # Constant columns and repeated rows have no variance; warnings are not needed.
    with np.errstate(invalid="ignore", divide="ignore"):
        pca.fit(known)

    def place(some: Any) -> Any:
        return pca.transform(some if scaler is None else scaler.transform(some))

    blocks = gen_batches(X.shape[0], ROWS_AT_ONCE)
    points = np.vstack([place(X[block]) for block in blocks])
    points = np.pad(points, ((0, 0), (0, max(0, 2 - points.shape[1]))))
    return points.astype(np.float32)


def rotate(drawn: Array, template: Array, pairs: NDArray[np.intp]) -> Array:
    """Rotate or mirror a map so that matched rows are near those of the template."""
    theirs, own = template[pairs[:, 0]], drawn[pairs[:, 1]]
    own, theirs = own - own.mean(axis=0), theirs - theirs.mean(axis=0)
    return drawn @ polar_factor(own.T @ theirs)


def _interpolate(points: Array, landmarks: Array, placed: Array) -> Array:
    """Mean place of the landmarks nearest to each point, weighted by nearness."""
    mean = KNeighborsRegressor(
        min(N_NEAREST, len(landmarks)),
        weights=lambda distances: 1 / np.maximum(distances, 1e-6) ** 2,
    )
    return np.asarray(mean.fit(landmarks, placed).predict(points))


def _to_unit(placed: Array) -> Array:
    """Centre a map, and scale its farthest row to length one."""
    centred = placed - (placed.max(axis=0) + placed.min(axis=0)) / 2
    radius = np.linalg.norm(centred, axis=1).max()
    return (centred / (radius or 1)).astype(np.float32)
