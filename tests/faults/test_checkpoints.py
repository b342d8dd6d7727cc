"""Fits that were stopped go on from their checkpoint, to the very same answer."""

import ctypes
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
import zipfile
from pathlib import Path

import long_fit
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from tests.conftest import heed_ctrl_c, make_blobs
from tests.savuc.related_views import FEW_RIVALS
from unaligned import Alignment, PAVuC, SAVuC, checkpoints
from unaligned.base import ViewClusterer
from unaligned.baselines import VuCG
from unaligned.checkpoints import Course, FitCheckpoint, Terminated
from unaligned.kernels.gpu import Torch
from unaligned.known_pairs import check_aligned
from unaligned.persistence.drafts import begin_draft
from unaligned.persistence.saving import read_whole, write_whole
from unaligned.savuc import growth, recipes
from unaligned.selection.evidence import weigh
from unaligned.views import check_views

SETTINGS = {"n_init": 2, "random_state": 0, "max_iter": 9, "tol": 0}


class Killed(BaseException):
    """What a test does to a fit."""


@pytest.fixture(autouse=True)
def written_at_once(monkeypatch):
    monkeypatch.setattr(checkpoints, "SHARE_FOR_WRITING", np.inf)


@pytest.fixture
def killed_after(monkeypatch):
    """Let fits die once so many checkpoints are written."""

    def kill(n_written, fit, error=Killed):
        keep, written = FitCheckpoint.keep, []

        def keep_and_die(self, *reached):
            keep(self, *reached)
            written.append(1)
            if len(written) == n_written:
                raise error

        with monkeypatch.context() as patch:
            patch.setattr(FitCheckpoint, "keep", keep_and_die)
            with pytest.raises(error) as caught:
                fit()
        return caught.value

    return kill


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def blobs(dtype=np.float64):
    Xs, _ = make_blobs(n=90, widths=(9, 7, 8), spread=1.0)
    rng = np.random.RandomState(0)
    return [X[rng.permutation(90)].astype(dtype) for X in Xs]


def assert_same(found, expected):
    """Everything that a fit leaves behind is the same to the last bit."""
    ours, theirs = vars(found), vars(expected)
    assert ours.keys() == theirs.keys()
    for name in ours.keys() - {"alignment_", "checkpoint", "verbose", "max_iter"}:
        if name.startswith("_"):
            continue
        mine, other = ours[name], theirs[name]
        pairs = zip(mine, other, strict=True) if isinstance(mine, list) else [
            (mine, other)
        ]  # fmt: skip
        for one, another in pairs:
            assert_array_equal(one, another, err_msg=name)
    for one, another in zip(
        found.alignment_.permutations, expected.alignment_.permutations, strict=True
    ):
        assert_array_equal(one, another)


CASES = {
    "float64": (PAVuC, {}, np.float64),
    "float32": (PAVuC, {}, np.float32),
    "more anchors than directions": (PAVuC, {"n_anchors": 6, "latent_dim": 3}, None),
    "safeguard": (PAVuC, {"safeguard": True, "n_anchors": 6}, None),
    "optimal": (PAVuC, {"matching": "optimal"}, None),
    "without alignment": (PAVuC, {"align": False}, None),
    "sparse": (PAVuC, {}, sparse.csr_array),
    "VuCG": (VuCG, {"max_iter": 6}, np.float32),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_goes_on_to_the_same_answer(case, path, killed_after, capsys):
    cls, parameters, kind = CASES[case]
    Xs = [kind(X) for X in blobs()] if kind is sparse.csr_array else blobs(kind or "d")
    parameters = {"n_clusters": 3, **SETTINGS, **parameters}
    expected = cls(**parameters).fit(Xs, aligned=9)
    for n_written in (1, 3):  # killed twice, and the second time after going on
        model = cls(**parameters, checkpoint=path)
        killed_after(n_written, lambda model=model: model.fit(Xs, aligned=9))
    model = cls(**parameters, checkpoint=str(path), verbose=1).fit(Xs, aligned=9)
    assert f"goes on after iteration 4, from {path}" in capsys.readouterr().out
    assert_same(model, expected)
    assert list(path.parent.iterdir()) == []  # nothing is left of a fit that is done


def four_views():
    """Views of one set of objects, one of them sparse; one that has nothing to do."""
    rng = np.random.RandomState(0)
    objects = rng.normal(size=(60, 6)) + 8 * rng.randint(3, size=(60, 1))
    Xs = [objects @ rng.normal(size=(6, 5)) for _ in range(2)]
    return [*Xs, rng.normal(size=(50, 4)), sparse.csr_array(objects @ np.eye(6, 5))]


def test_an_alignment_goes_on_to_the_same_answer(
    path, killed_after, monkeypatch, capsys
):
    """Known pairs make groups of two and three views; the fourth is refused."""
    known = {(0, 1): [[i, i] for i in range(60)], (0, 3): [[i, i] for i in range(40)]}
    monkeypatch.setattr(recipes, "N_STARTS", 1)
    tried = []

    def counted(state, pair, *arguments, search=growth.search_step):
        tried.append(tuple(group.views for group in pair))
        return search(state, pair, *arguments)

    monkeypatch.setattr(growth, "search_step", counted)

    def fit(**parameters):
        model = SAVuC(3, effort="quick", **parameters)
        return model.fit(four_views(), aligned=known)

    np.random.seed(3)  # noqa: NPY002  it is what no seed draws from
    expected = fit()
    whole, tried[:] = list(tried), []
    np.random.seed(3)  # noqa: NPY002
    for n_written in (1, 2):
        killed_after(n_written, lambda: fit(checkpoint=path))
    model = fit(checkpoint=path, verbose=1)
    told = capsys.readouterr().out
    assert f"[SAVuC] goes on after what was done, from {path}" in told
    assert tried == whole  # none was tried twice
    assert any(len(one) > 1 for one, _ in whole)  # a group was searched, too
    assert_same(model, expected)
    assert_array_equal(model.alignment_.trust, expected.alignment_.trust)
    assert list(path.parent.iterdir()) == []


def test_what_was_settled_before_is_not_done_again(path, killed_after, monkeypatch):
    """The number of clusters and the pairs that were found are in the checkpoint."""
    Xs, found = blobs(), check_aligned(30, check_views(blobs()))
    model = PAVuC("auto", init="structure", **SETTINGS, checkpoint=path)
    with monkeypatch.context() as patch:
        evidence = weigh(np.array([3, 4]), np.array([[0, 1]]), np.array([[1, 0]]))
        counted = evidence.n_clusters, evidence
        patch.setattr(ViewClusterer, "_count_clusters", lambda *_: counted)
        patch.setattr(PAVuC, "_learn_pairs", lambda *_: found)
        killed_after(1, lambda: model.fit(Xs))

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(PAVuC, "_learn_pairs", never)
    monkeypatch.setattr(ViewClusterer, "_count_clusters", never)
    model.fit(Xs)
    assert model.n_clusters_ == 4
    assert model.clusters_evidence_.alternatives == (3,)
    for rows in model.alignment_.permutations:
        assert_array_equal(rows[:30], np.arange(30))


def test_what_align_found_is_in_the_checkpoint(path, killed_after, monkeypatch):
    Xs, rows, sure = blobs()[:2], np.arange(90), np.full(90, 0.6)
    found = Alignment(0, [rows] * 2, [np.ones(90), sure], np.array([1, 0.9]))
    monkeypatch.setattr(
        PAVuC, "_learn_pairs", lambda _, views, pairs, rng: pairs.with_found(found)
    )
    model = PAVuC(3, init="structure", **SETTINGS, checkpoint=path)
    killed_after(1, lambda: model.fit(Xs, aligned=10))
    model.fit(Xs, aligned=10)
    again, other = model.alignment_, 1 - model.template_
    assert again.verdict == ["objects", "objects"]
    assert again.trust[other] == 0.9
    assert again.known[other] == 10 / 90
    assert_array_equal(again.confidence[other], np.where(rows < 10, 1, sure))


def test_no_seed_is_needed_to_go_on(path, killed_after):
    model = PAVuC(3, **SETTINGS | {"random_state": None}, checkpoint=path)
    killed_after(3, lambda: model.fit(blobs()))
    before = read_whole(path, "checkpoint", dict)
    model.fit(blobs())
    assert_array_equal(model.objective_[:3], before["objectives"])


def test_a_kill_while_labels_are_made_costs_an_iteration(path, monkeypatch):
    def die(*_):
        raise Killed

    model = PAVuC(3, **SETTINGS, checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(PAVuC, "_describe", die)
        with pytest.raises(Killed):
            model.fit(blobs())
    assert read_whole(path, "checkpoint", dict)["n_iter"] == 8
    assert_same(model.fit(blobs()), PAVuC(3, **SETTINGS).fit(blobs()))


def test_max_iter_may_be_raised_on_the_way(path, killed_after):
    killed_after(4, lambda: PAVuC(3, **SETTINGS, checkpoint=path).fit(blobs()))
    longer = SETTINGS | {"max_iter": 12}
    with pytest.raises(ValueError, match="iteration 4, and max_iter=4 leaves nothing"):
        PAVuC(3, **SETTINGS | {"max_iter": 4}, checkpoint=path).fit(blobs())
    model = PAVuC(3, **longer, checkpoint=path).fit(blobs())
    assert_same(model, PAVuC(3, **longer).fit(blobs()))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mu": 0.2}, "mu"),
        ({"n_clusters": 4, "tol": 1e-3}, "n_clusters, tol"),
        ({"Xs": [X + (i == 1) for i, X in enumerate(blobs())]}, "view 1"),
        ({"Xs": blobs(np.float32)}, "view 0, view 1, view 2"),
        ({"Xs": blobs()[:2]}, "aligned, view 2"),
        ({"aligned": {(0, 1): [(3, 4)]}}, "aligned"),
        ({"cls": VuCG}, "the estimator"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(path, killed_after, change, told):
    killed_after(2, lambda: PAVuC(3, **SETTINGS, checkpoint=path).fit(blobs()))
    before = path.read_bytes()
    Xs, aligned = change.pop("Xs", blobs()), change.pop("aligned", None)
    cls = change.pop("cls", PAVuC)
    model = cls(**{"n_clusters": 3, **SETTINGS, **change}, checkpoint=path)
    with pytest.raises(
        ValueError, match=f"is of another fit: not the same are {told}.*delete"
    ):
        model.fit(Xs, aligned=aligned)
    assert path.read_bytes() == before


def test_the_checkpoint_of_another_version_is_refused(path, killed_after, monkeypatch):
    killed_after(1, lambda: PAVuC(3, **SETTINGS, checkpoint=path).fit(blobs()))
    monkeypatch.setattr(checkpoints, "__version__", "99")
    with pytest.raises(ValueError, match="not the same are the version of unaligned"):
        PAVuC(3, **SETTINGS, checkpoint=path).fit(blobs())


@pytest.mark.parametrize(
    ("cls", "part"), [(PAVuC, "anchors"), (VuCG, "memberships"), (SAVuC, "start")]
)
def test_a_checkpoint_without_what_came_later_is_of_an_earlier_version(
    path, killed_after, cls, part
):
    def fit():
        few = {"effort": "quick"} if cls is SAVuC else SETTINGS
        return cls(3, **few | {"random_state": 0}, checkpoint=path).fit(blobs())

    killed_after(1, fit)
    content = read_whole(path, "checkpoint", dict)
    without = {name: x for name, x in content["state"].items() if name != part}
    earlier = content | {"state": without}, {**content}
    del earlier[1]["found"]
    for before in earlier:
        write_whole(path, "checkpoint", before)
        with pytest.raises(ValueError, match=r"another version.*Go on with"):
            fit()


def test_other_files_are_refused_and_left_alone(path, killed_after):
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    path.write_text("mine")
    with pytest.raises(ValueError, match=r"is not a checkpoint that .*Name another"):
        model.fit(blobs())
    assert path.read_text() == "mine"
    PAVuC(3, **SETTINGS).fit(blobs()).save(path)
    with pytest.raises(ValueError, match="it holds a 'unaligned model'"):
        model.fit(blobs())
    write_whole(path, "checkpoint", {"n_iter": 1})
    with pytest.raises(ValueError, match="is damaged"):
        model.fit(blobs())
    path.unlink()
    killed_after(1, lambda: model.fit(blobs()))
    whole = path.read_bytes()
    for end in (10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(ValueError, match="is not a checkpoint"):
            model.fit(blobs())


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


def test_nothing_in_a_checkpoint_is_executed(path, killed_after, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    killed_after(1, lambda: model.fit(blobs()))
    hostile = path.with_name("hostile")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(hostile, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "arrays/0.npy":
                header = b"\x93NUMPY\x01\x00v\x00" + (
                    b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
                ).ljust(117) + b"\n"  # fmt: skip
                content = header + pickle.dumps(Bomb())
            new.writestr(name, content)
    hostile.replace(path)
    with pytest.raises(ValueError, match="is not a checkpoint"):
        model.fit(blobs())
    assert not Path("exploded").exists()


def test_a_place_where_nothing_can_be_written_is_named_at_once(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        PAVuC(3, checkpoint=tmp_path).fit(blobs())
    with pytest.raises(ValueError, match="nowhere does not exist"):
        PAVuC(3, checkpoint=tmp_path / "nowhere" / "fit").fit(blobs())
    with pytest.raises(ValueError, match="'checkpoint' parameter of PAVuC must be"):
        PAVuC(3, checkpoint=7).fit(blobs())


def test_a_full_disk_does_not_end_a_fit(path, monkeypatch):
    written = []

    def write(where, *content):
        if written:
            raise OSError(28, "No space left on device")
        written.append(write_whole(where, *content))

    monkeypatch.setattr(checkpoints, "write_whole", write)
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(blobs())
    told = [str(warning.message) for warning in caught]
    assert sum("cannot be written any more (No space" in line for line in told) == 1
    assert len(written) == 1
    assert_same(model, PAVuC(3, **SETTINGS).fit(blobs()))
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("part", "value", "complaint"),
    [
        ("n_iter", -(10**12), "iterations"),
        ("seed", -1, "seed"),
        ("n_clusters", 10**9, "clusters"),
        ("n_clusters", 2, "2 clusters, not 3"),
        ("objectives", [np.inf], "objectives"),
        ("identities", [np.full(90, -1)], "pairs is not of 3 views"),
        ("identities", [np.full(90, 5)] * 3, "two partners"),
        ("state", [], "state"),
        ("identity", [], "of which fit"),
        ("identity", {1: np.ones(3)}, "of which fit"),
    ],
)
def test_a_checkpoint_that_no_fit_has_written(
    path, killed_after, part, value, complaint
):
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    killed_after(1, lambda: model.fit(blobs()))
    content = read_whole(path, "checkpoint", dict)
    write_whole(path, "checkpoint", content | {part: value})
    with pytest.raises(ValueError, match=complaint) as error:
        model.fit(blobs())
    assert "Delete it to start anew" in str(error.value)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("graphs", [np.ones((3, 3))] * 3),  # compiled code would read beyond them
        ("permutations", [np.full(90, 10**9)] * 3),
        ("permutations", [np.zeros(90, int)] * 3),
        ("anchors", np.full((3, 3), np.nan)),
        ("template", 3),
        ("objective", np.nan),
    ],
)
def test_a_state_that_no_fit_has_reached(path, killed_after, part, value):
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    killed_after(1, lambda: model.fit(blobs()))
    content = read_whole(path, "checkpoint", dict)
    content["state"][part] = value
    write_whole(path, "checkpoint", content)
    with pytest.raises(ValueError, match="is damaged"):
        model.fit(blobs())


def test_a_first_step_that_fails_is_put_down_to_the_checkpoint(path, killed_after):
    model = SAVuC(3, random_state=0, effort=FEW_RIVALS, checkpoint=path)
    killed_after(1, lambda: model.fit(blobs()))
    content = read_whole(path, "checkpoint", dict)
    content["state"]["groups"] = [{"views": (99,), "rows": {}}]
    write_whole(path, "checkpoint", content)
    with pytest.raises(ValueError, match=r"cannot go on from it"):
        model.fit(blobs())


def test_what_a_kill_left_half_written_goes(path, killed_after):
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    killed_after(1, lambda: model.fit(blobs()))
    os.close(begin_draft(path.parent, path).lock)
    path.with_name(".fit.checkpoint.0a1b.part").write_text("not ours")
    model.fit(blobs())
    left = [path.name for path in path.parent.iterdir()]
    assert left == [".fit.checkpoint.0a1b.part"]


def test_writing_takes_a_small_share_of_the_time(path, monkeypatch):
    """An iteration of 3 s, and 5 s to write: after 50 s it is written again."""
    clock = [0.0]
    monkeypatch.setattr(checkpoints, "SHARE_FOR_WRITING", 0.1)
    monkeypatch.setattr(checkpoints.time, "perf_counter", lambda: clock[0])
    written = []

    def write(_, __, content):
        clock[0] += 5
        written.append(content["n_iter"])

    monkeypatch.setattr(checkpoints, "write_whole", write)
    monkeypatch.setattr(PAVuC, "_plain_state", lambda *_: {})
    views = check_views(blobs())
    pairs = checkpoints.KnownPairs([np.full(90, -1)] * 3)
    checkpoint = FitCheckpoint(PAVuC(checkpoint=path), views, pairs)
    for iteration in range(1, 61):
        clock[0] += 3
        checkpoint.keep(Course(0, 3, [], n_iter=iteration), state=None)
    assert written == [1, 18, 35, 52]


# --- Being stopped -----------------------------------------------------------------


def test_ctrl_c_without_a_checkpoint_keeps_the_last_iteration(monkeypatch):
    solve, model = PAVuC._solve, PAVuC(3, **SETTINGS)

    def interrupted(self, *problem):
        steps = solve(self, *problem)
        yield from (next(steps) for _ in range(4))
        raise KeyboardInterrupt

    monkeypatch.setattr(PAVuC, "_solve", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(blobs())
    assert caught.value.__notes__ == [
        "PAVuC keeps what it had after iteration 4 of 9: it is fitted and can be used."
    ]
    monkeypatch.undo()
    expected = PAVuC(3, **SETTINGS | {"max_iter": 4}).fit(blobs())
    assert_same(model, expected)
    assert_array_equal(model.predict(blobs()[0]), expected.predict(blobs()[0]))


def test_ctrl_c_before_the_first_iteration_leaves_no_labels(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(PAVuC, "_solve", interrupted)
    model = PAVuC(3, **SETTINGS)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(blobs())
    assert not hasattr(model, "labels_")
    assert not hasattr(caught.value, "__notes__")


def stop(path, number):
    """Stop a fit with a checkpoint by a signal; return code, stdout and stderr."""
    with subprocess.Popen(
        [sys.executable, long_fit.__file__, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    ) as process:
        lines = iter(process.stdout.readline, "")
        assert any("iteration 5:" in line for line in lines)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_fit_that_is_stopped_says_how_to_go_on(path, number):
    code, out, err = stop(path, number)
    kept = read_whole(path, "checkpoint", dict)["n_iter"]
    sentence = (
        f"the checkpoint {path} has iteration {kept}, and the same fit goes on from "
        "there."
    )
    if number == signal.SIGTERM:
        assert code == 143
        assert err == f"PAVuC was terminated; {sentence}\n"
    else:
        assert "KeyboardInterrupt" in err
        assert sentence in err
    assert out.endswith("cleaned up\n")
    told = [int(n) for n in re.findall(r"iteration (\d+):", out)]
    assert (max(told) if told else 5) - kept in (0, 1)
    expected = long_fit.model(None, max_iter=kept + 2).fit(long_fit.views())
    found = long_fit.model(path, max_iter=kept + 2).fit(long_fit.views())
    assert_same(found, expected)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_who_has_a_way_with_sigterm_keeps_it(path, killed_after):
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        killed_after(1, lambda: model.fit(blobs()))
        signal.raise_signal(signal.SIGTERM)
        assert heard == [1]
    finally:
        signal.signal(signal.SIGTERM, before)
    model.fit(blobs())
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_termination_that_is_lost_in_a_callback_of_c_is_heeded(path, monkeypatch):
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    views = check_views(blobs())
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    terminate = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGTERM))

    def solver():
        yield 1
        terminate()
        yield 2
        yield 3

    steps = solver()
    with FitCheckpoint(model, views, check_aligned(None, views)) as checkpoint:
        assert [checkpoint.next_iterate(steps, None) for _ in range(2)] == [1, 2]
        assert len(lost) == 1
        with pytest.raises(Terminated):
            checkpoint.next_iterate(steps, None)


def test_a_thread_can_fit_with_a_checkpoint(path, killed_after):
    model = PAVuC(3, **SETTINGS, checkpoint=path)
    killed_after(2, lambda: model.fit(blobs()))
    thread = threading.Thread(target=model.fit, args=(blobs(),))
    thread.start()
    thread.join()
    assert_same(model, PAVuC(3, **SETTINGS).fit(blobs()))


@pytest.mark.heavy
def test_tensors_go_through_the_file_and_back_to_their_device(
    path, killed_after, monkeypatch
):
    pytest.importorskip("torch", reason="needs the extra 'gpu'")
    monkeypatch.setattr("unaligned.pavuc.estimator.Torch", lambda: Torch("cpu"))
    parameters = {**SETTINGS, "device": "cuda"}
    Xs = blobs(np.float32)
    expected = PAVuC(3, **parameters).fit(Xs)
    model = PAVuC(3, **parameters, checkpoint=path)
    killed_after(3, lambda: model.fit(Xs))
    assert_same(model.fit(Xs), expected)


# --- Out of core -------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_distributed_fit_goes_on_however_views_are_chunked(
    path, killed_after, dtype
):
    da = pytest.importorskip("dask.array", reason="needs the extra 'dask'")
    from unaligned import distributed

    def chunked(Xs, rows):
        return [da.from_array(X, chunks=(rows, -1)) for X in Xs]

    Xs = blobs(dtype)
    expected = distributed.PAVuC(3, **SETTINGS).fit(chunked(Xs, 30), aligned=9)
    model = distributed.PAVuC(3, **SETTINGS, checkpoint=path)
    killed_after(3, lambda: model.fit(chunked(Xs, 30), aligned=9))
    kept = shutil.copy(path, path.with_name("kept"))
    assert_same(model.fit(chunked(Xs, 30), aligned=9), expected)
    shutil.copy(kept, path)
    other = model.fit(chunked(Xs, 17), aligned=9)
    assert_array_equal(other.labels_, expected.labels_)
    shutil.copy(kept, path)
    with pytest.raises(ValueError, match="not the same are view 2"):
        model.fit(chunked([*Xs[:2], Xs[2] + 1], 30), aligned=9)
