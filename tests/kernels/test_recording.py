"""Work that is recorded gives what it gives without, on a GPU and on a tape."""

from typing import NamedTuple

import numpy as np
import pytest
from cuda_on_cpu import ModuleOnCpu
from scipy import sparse
from test_matching_cuda import LAUNCHERS as MATCHING
from test_simplex import LAUNCHERS as SIMPLEX

from tests.conftest import make_blobs, no_gpu  # noqa: F401 - for `skipif`
from unaligned.kernels import matching, matching_cuda, procrustes, simplex
from unaligned.kernels.devices import on_host
from unaligned.kernels.gpu import Torch
from unaligned.kernels.recording import Recordings, holds, is_recording
from unaligned.known_pairs import check_aligned
from unaligned.pavuc import iteration
from unaligned.pavuc.problem import pose
from unaligned.views import check_views

pytestmark = pytest.mark.heavy


@pytest.fixture(autouse=True)
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def cuda(torch):
    from tape import stand_in

    return stand_in()


class Pair(NamedTuple):
    sums: list
    product: object
    name: str


def of_two(calls):
    """Sums and product of two tensors, if the sums are positive."""

    def function(one, other):
        calls.append(is_recording())
        sums = [one + other[0], one - other[0]]
        if holds((sums[0] > 0).all()):
            return Pair(sums, one * other[0], "positive")
        return Pair(sums, one * 0, "not")

    return function


def test_a_function_is_called_then_recorded_then_replayed(torch, cuda):
    calls, recordings = [], Recordings(cuda)
    kept = []
    for i in range(4):
        one, other = torch.full((3,), float(i)), [torch.tensor([1.0, 2.0, 3.0])]
        found = recordings.call("a", of_two(calls), one, other)
        assert found.sums[0].tolist() == [i + 1, i + 2, i + 3]
        assert found.product.tolist() == [i, 2 * i, 3 * i]
        kept.append(found)
    assert calls == [False, True]
    assert not is_recording()
    # A later replay leaves what an earlier one gave.
    assert [pair.product[0].item() for pair in kept] == [0, 1, 2, 3]


def test_what_was_assumed_is_checked_at_every_replay(torch, cuda):
    calls, recordings = [], Recordings(cuda)
    names = [
        recordings.call(
            "a", of_two(calls), torch.full((2,), value), [torch.ones(2)]
        ).name
        for value in (1.0, 1.0, -5.0, 1.0)
    ]
    assert names == ["positive", "positive", "not", "positive"]
    assert calls == [False, True, False]


def test_each_name_has_its_recording(torch, cuda):
    recordings = Recordings(cuda)
    for value in range(3):
        for power in (2, 3):
            found = recordings.call(
                power, lambda x, power=power: x**power, torch.tensor(float(value))
            )
            assert found == value**power
    assert len(cuda.tapes) == 2


def test_nobody_looks_at_what_is_recorded(torch, cuda):
    def looking(x):
        return x * 2 if float(x) > 0 else x

    recordings = Recordings(cuda)
    recordings.call("a", looking, torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="not permitted"):
        recordings.call("a", looking, torch.tensor(1.0))
    assert not is_recording()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Kernels of an iteration, for the CPU."""
    pytest.importorskip("torch")
    from tape import Noted

    macros = {"SCALAR": "double", "WARPS": 1, "BLOCK_ROWS": 16}
    sources = {"matching.cu": MATCHING, "simplex.cu": SIMPLEX}
    return {
        name: Noted(ModuleOnCpu(tmp_path_factory.mktemp("c"), source, macros, 2**15))
        for name, source in sources.items()
    }


@pytest.fixture
def as_on_a_gpu(monkeypatch, kernels, torch):
    """Compute as a GPU does, in one thread of the CPU."""
    for module in (matching, simplex, procrustes):
        monkeypatch.setattr(module, "is_on_gpu", torch.is_tensor)
    for module in (matching_cuda, simplex):
        monkeypatch.setattr(module, "compiled", lambda name, *_, **__: kernels[name])
    small = {"BLOCK_ROWS": 16, "WARPS": 1, "SPARE_ROUNDS": 0}
    threads = {"RESOLVING_THREADS": 64, "PACKING_THREADS": 32}
    for name, value in {**small, **threads}.items():
        monkeypatch.setattr(matching_cuda, name, value)
    device = Torch("cpu")
    device.n_threads = 1
    return device


TEMPLATES = [0, 0, 0, 2, 2, 0, 2]  # called, recorded, replayed; of the iterations


def states(device, aligned=None, kind="dense", templates=TEMPLATES, n=24):
    """States of some iterations."""
    Xs, _ = make_blobs(n=n, spread=1.0)
    if kind == "sparse":
        Xs = [sparse.csr_array(np.where(np.abs(X) > 1, X, 0)) for X in Xs]
    views = check_views(Xs)
    rng = np.random.RandomState(0)
    problem = pose(
        views.arrays,
        check_aligned(aligned, views),
        mu=0.1,
        alpha=1.5,
        matching="greedy",
        align=True,
        device=device,
    )
    anchors, graph = rng.uniform(size=(4, 3)), rng.uniform(size=(n, 4))
    state = iteration.init_state(problem, anchors, graph)
    found = []
    for template in templates:
        weights = np.roll([0.5, 0.3, 0.2], template)
        state = iteration.one_iteration(problem, state._replace(weights=weights))
        found.append(state)
    return found


def check_same(some, others):
    for one, other in zip(some, others, strict=True):
        assert one.template == other.template
        assert one.objective == other.objective
        np.testing.assert_array_equal(one.weights, other.weights)
        for name in ("graphs", "residuals", "moments", "projections", "permutations"):
            for a, b in zip(getattr(one, name), getattr(other, name), strict=True):
                np.testing.assert_array_equal(on_host(a), on_host(b))


@pytest.mark.parametrize(
    ("aligned", "kind"),
    [(None, "dense"), (5, "sparse"), ({(0, 2): [(3, 7), (8, 1)]}, "dense")],
)
def test_replayed_iterations_are_the_same_to_the_last_bit(
    as_on_a_gpu, cuda, monkeypatch, aligned, kind
):
    device = as_on_a_gpu
    plain = states(device, aligned, kind)
    monkeypatch.setattr(device, "_recordings", Recordings(cuda))
    check_same(plain, states(device, aligned, kind))
    assert len(cuda.tapes) == 2  # one for each template


def test_a_matching_that_is_not_done_is_done_without_the_recording(
    as_on_a_gpu, cuda, monkeypatch
):
    device, templates = as_on_a_gpu, [0, 0, 0]
    plain = states(device, templates=templates)
    # So few are recorded that not all rows can choose.
    monkeypatch.setattr(
        matching_cuda._Matching,
        "launch_rounds",
        too_few_rounds(matching_cuda._Matching.launch_rounds),
    )
    monkeypatch.setattr(device, "_recordings", Recordings(cuda))
    check_same(plain, states(device, templates=templates))
    assert len(cuda.tapes) == 1


def too_few_rounds(launch_rounds):
    def launch(self, done):
        if is_recording():
            self.shortlist()
            self.resolve()
        else:
            yield from launch_rounds(self, done)

    return launch


def test_an_ill_conditioned_target_is_seen_after_the_replay(as_on_a_gpu, cuda, torch):
    recordings = Recordings(cuda)
    rng = np.random.RandomState(0)
    good = rng.normal(size=(6, 4))
    bad = good * np.array([1, 1, 1, 1e-9])

    def factor(target):
        return procrustes.polar_factors([target])[0]

    for target in (good, good, bad, good):
        found = recordings.call("a", factor, torch.tensor(target))
        left, _, right = np.linalg.svd(target, full_matrices=False)
        np.testing.assert_allclose(on_host(found), left @ right, atol=1e-6)


def test_large_views_and_those_on_the_host_are_not_recorded(as_on_a_gpu, monkeypatch):
    device = as_on_a_gpu
    monkeypatch.setattr(device, "repeat", None)
    with monkeypatch.context() as patch:
        patch.setattr(iteration, "MOST_ROWS_TO_RECORD", 23)
        states(device, templates=[0])
    device._room = 0.0
    states(device, templates=[0])


@pytest.mark.skipif("no_gpu()", reason="needs a GPU")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("aligned", [None, 20])
def test_on_a_gpu_replayed_iterations_are_the_same(aligned, kind):
    recorded = states(Torch(), aligned, kind, n=3000)
    check_same(recorded, states(Torch(record=False), aligned, kind, n=3000))
