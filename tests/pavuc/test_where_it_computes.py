"""The same fit with any number of threads, and on tensors of torch."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tests.conftest import make_blobs, no_gpu
from unaligned import PAVuC
from unaligned.kernels import blocks
from unaligned.kernels.devices import Cores, on_host
from unaligned.kernels.gpu import HostRows, Torch
from unaligned.known_pairs import check_aligned
from unaligned.metrics import clustering_scores
from unaligned.pavuc.iteration import init_state
from unaligned.pavuc.problem import pose, residual_floor
from unaligned.pavuc.solver import solve
from unaligned.pavuc.updates import choosing_order
from unaligned.views import check_views


def states(Xs, device, aligned=None, safeguard=False, matching="greedy", n_iter=4):
    """States after each of a few iterations, from a start that is always the same."""
    views = check_views(Xs)
    n, dtype = views.n_rows[0], views.arrays[0].dtype
    rng = np.random.RandomState(0)
    problem = pose(
        views.arrays,
        check_aligned(aligned, views),
        mu=0.1,
        alpha=1.5,
        matching=matching,
        align=True,
        device=device,
    )
    anchors, graph = rng.uniform(size=(4, 3)), rng.uniform(size=(n, 4))
    start = init_state(problem, anchors.astype(dtype), graph.astype(dtype))
    steps = solve(problem, start, tol=0, safeguard=safeguard)
    return problem, [state for _, (state, _) in zip(range(n_iter), steps, strict=False)]


def noisy(n=250, dtype=np.float64):
    Xs, _ = make_blobs(n=n, spread=1.0)
    return [X.astype(dtype) for X in Xs]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("safeguard", [False, True])
def test_threads_change_no_bit(monkeypatch, kind, dtype, safeguard):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)  # blocks of 64 rows
    monkeypatch.setattr(blocks, "PART_BYTES", 1)
    monkeypatch.setattr(blocks, "TIMES_ITS_SUMS", 0)
    Xs = noisy(dtype=dtype)
    if kind == "sparse":
        Xs = [sparse.csr_array(np.where(np.abs(X) > 1, X, 0)) for X in Xs]
    assert all(len(blocks.row_parts(X, n_sums=1)) == 4 for X in Xs)
    (_, alone), (_, together) = (
        states(Xs, Cores(n_threads), safeguard=safeguard) for n_threads in (1, 3)
    )
    for one, other in zip(alone, together, strict=True):
        assert one.objective == other.objective
        for name in ("graphs", "residuals", "moments", "projections", "permutations"):
            for a, b in zip(getattr(one, name), getattr(other, name), strict=True):
                assert_array_equal(a, b)


def test_a_part_is_whole_blocks_and_covers_its_rows():
    X = np.broadcast_to(np.float32(0), (100_000, 300))
    block = next(blocks.row_blocks(X)).stop
    parts = blocks.row_parts(X, n_sums=3000)
    assert len(parts) > 3
    assert all(part.start % block == 0 for part in parts)
    assert_array_equal(
        np.concatenate([np.arange(100_000)[part] for part in parts]),
        np.arange(100_000),
    )
    # What is summed up per part stays far below what the parts are.
    wide = np.broadcast_to(np.float32(0), (5000, 40_000))
    assert len(blocks.row_parts(wide, n_sums=100 * 40_000)) * 8 * 100 < 5000 * 4 / 2


needs_gpu = pytest.param(
    "cuda", marks=pytest.mark.skipif("no_gpu()", reason="needs a GPU")
)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["cpu", needs_gpu])
class TestTensors:
    """NumPy on cores and tensors of torch give the same, but for rounding."""

    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch")

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"aligned": 100},
            {"safeguard": True},
            {"aligned": {(0, 2): [(3, 7), (8, 1)]}},
        ],
        ids=["plain", "aligned", "safeguard", "pairs"],
    )
    @pytest.mark.parametrize("kind", ["dense", "sparse", "on the host"])
    def test_iterations_agree(self, name, options, kind):
        Xs = noisy()
        device = Torch(name)
        if kind == "sparse":
            Xs = [sparse.csr_array(np.where(np.abs(X) > 1, X, 0)) for X in Xs]
        if kind == "on the host":
            device._room = 0.0
        (_, here), (problem, there) = (
            states(Xs, where, **options) for where in (Cores(), device)
        )
        if kind == "on the host":
            assert all(isinstance(X, HostRows) for X in problem.views)
        for one, other in zip(here, there, strict=True):
            assert_allclose(one.objective, other.objective, rtol=1e-10)
            assert one.template == other.template
            for i, graph in enumerate(other.graphs):
                assert str(graph.device).startswith(name)
                assert_allclose(one.graphs[i], on_host(graph), atol=1e-9)
                assert_array_equal(one.permutations[i], on_host(other.permutations[i]))

    @pytest.mark.parametrize("kind", ["dense", "sparse", "on the host"])
    @pytest.mark.parametrize("width", [1, 7])
    def test_orders_and_floors_agree(self, name, kind, width):
        X = np.random.default_rng(0).normal(size=(300, width)).astype(np.float32)
        X[::7] = X[0]  # equals stay in their sequence
        if kind == "sparse":
            X = sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
        device = Torch(name)
        if kind == "on the host":
            device._room = 0.0
        there = device.put_view(X)
        order = choosing_order(there)
        assert str(order.device).startswith(name)
        assert_array_equal(on_host(order), choosing_order(X))
        floors = residual_floor(X, X.dtype), residual_floor(there, X.dtype)
        assert_allclose(floors[0], floors[1], rtol=1e-5)

    def test_float32_stays_float32(self, name):
        Xs = noisy(dtype=np.float32)
        (_, here), (_, there) = (states(Xs, where) for where in (Cores(), Torch(name)))
        assert {str(G.dtype) for G in there[-1].graphs} == {"torch.float32"}
        assert_allclose(there[-1].objective, here[-1].objective, rtol=1e-4)

    def test_optimal_matching(self, name):
        options = {"matching": "optimal", "n_iter": 1}
        (_, here), (_, there) = (
            states(noisy(), where, **options) for where in (Cores(), Torch(name))
        )
        assert_allclose(here[0].objective, there[0].objective, rtol=1e-6)

    def test_views_may_be_tensors(self, torch, name, blobs):
        Xs, y = blobs
        options = {"n_init": 2, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            expected = PAVuC(3, **options).fit(Xs, aligned="all")
            tensors = [torch.tensor(X, device=name, requires_grad=True) for X in Xs]
            model = PAVuC(3, **options).fit(tensors, aligned="all")
            alone = PAVuC(3, **options).fit(tensors[0])
        assert_array_equal(model.labels_, expected.labels_)
        assert isinstance(model.anchor_graphs_[0], np.ndarray)
        assert_array_equal(
            model.predict(tensors[1], view=1), expected.predict(Xs[1], view=1)
        )
        assert len(alone.predict(tensors[0])) == len(y)
        short = tensors[0].detach().to(torch.bfloat16)
        assert check_views([short]).arrays[0].dtype == np.float32

    def test_the_whole_estimator(self, monkeypatch, name, blobs):
        """With ``device="cuda"``; without a GPU, on tensors of the CPU."""
        monkeypatch.setattr("unaligned.pavuc.estimator.Torch", lambda: Torch(name))
        Xs, y = blobs
        Xs = [X - X.mean(axis=0) for X in Xs]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = PAVuC(3, n_init=3, random_state=0, device="cuda")
            model.fit(Xs, aligned="all")
        for labels in [*model.view_labels_, *model.single_view_labels_]:
            assert clustering_scores(y, labels)["acc"] == 1
        for fitted in (model.anchors_, model.embedding_, model.cluster_centers_):
            assert isinstance(fitted, np.ndarray)
        assert_array_equal(model.predict(Xs[0]), model.labels_)


@pytest.mark.heavy
def test_without_gpu_the_estimator_says_so_at_once(blobs, capsys):
    pytest.importorskip("torch")
    if not no_gpu():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="needs a GPU"):
        PAVuC(3, device="cuda", verbose=1).fit(blobs[0])
    assert "iteration" not in capsys.readouterr().out


@pytest.mark.heavy
@pytest.mark.skipif("no_gpu()", reason="needs a GPU")
def test_a_gpu_without_memory_comes_with_figures():
    torch = pytest.importorskip("torch")
    Xs = [np.random.default_rng(i).normal(size=(20_000, 300)) for i in range(2)]
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1e-4)
    try:
        with pytest.raises(MemoryError, match=r"GB are free, and that is too little"):
            PAVuC(3, max_iter=2, device="cuda").fit(Xs)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
