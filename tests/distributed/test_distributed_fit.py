"""The distributed PAVuC does what the one in memory does."""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from same_fit import SETTINGS, assert_same_fit, chunked, fit
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import unaligned
from tests.conftest import make_blobs
from unaligned.datasets import load_digits_views, unalign
from unaligned.distributed import PAVuC
from unaligned.kernels import blocks
from unaligned.matrices import ROOM_FOR_SUMS

da = pytest.importorskip("dask.array", reason="needs the extra 'dask'")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.heavy


@pytest.fixture
def small_parts(monkeypatch):
    """Let a few hundred rows be many parts of many blocks, here and in memory."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**13)
    monkeypatch.setattr(blocks, "PART_BYTES", 2**15)


def views_of(name, dtype):
    if name == "digits":
        digits = load_digits_views()
        Xs, k = [X - X.mean(axis=0) for X in digits.Xs], 10
    else:
        Xs, k = make_blobs(n=1500, k=4, widths=(7, 12), seed=3, spread=1.0)[0], 4
    data = unalign(Xs, ratio=0.1, random_state=0)
    return [np.ascontiguousarray(X, dtype=dtype) for X in data.Xs], data.n_aligned, k


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("digits", (211, 400)),
        ("digits", (10_000,)),
        ("blobs", (1000, 64)),
        ("blobs", (1,)),
    ],
)
def test_float32_has_every_bit_of_memory(small_parts, name, rows):
    # The greedy matching is chaotic: one bit of float32 anywhere, and most rows have
    # other partners a few iterations on. So there must be none.
    Xs, p, k = views_of(name, np.float32)
    expected = fit(unaligned.PAVuC, Xs, p, n_clusters=k)
    found = fit(PAVuC, chunked(Xs, *rows), p, n_clusters=k)
    assert_same_fit(found, expected, graph_gap=0)


@pytest.mark.parametrize("rows", [(211, 400), (10_000,)])
@pytest.mark.parametrize("name", ["digits", "blobs"])
def test_float64_has_the_labels_and_permutations_of_memory(small_parts, name, rows):
    # The sums of the start are added in another order, which is seen in last bits.
    Xs, p, k = views_of(name, np.float64)
    expected = fit(unaligned.PAVuC, Xs, p, n_clusters=k)
    found = fit(PAVuC, chunked(Xs, *rows), p, n_clusters=k)
    assert_same_fit(found, expected, graph_gap=1e-11)


def test_no_choice_hangs_on_the_last_bits_of_float64(small_parts):
    """The closest choices are farther apart than sums in another order can be."""
    Xs, p, k = views_of("blobs", np.float64)
    model = fit(PAVuC, chunked(Xs, 211), p, n_clusters=k)
    t = model.template_
    i = 1 - t
    column_of_row = np.argsort(model.alignment_.permutations[i])
    order = np.argsort(-Xs[i].var(axis=1), kind="stable")
    free = np.arange(len(order)) >= p
    margins = []
    for row in order[order >= p]:
        scores = np.where(
            free, model.anchor_graphs_[t] @ model.anchor_graphs_[i][row], -1
        )
        best = scores[column_of_row[row]]
        worse = scores[scores < best - 1e-12]
        assert best >= scores.max() - 1e-12
        margins.append(best - worse.max(initial=-1))
        free[column_of_row[row]] = False
    assert min(margins) > 1e-9


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_local_schedulers(small_parts, scheduler):
    Xs, p, k = views_of("blobs", np.float32)
    expected = fit(unaligned.PAVuC, Xs, p, n_clusters=k)
    with dask.config.set(scheduler=scheduler):
        found = fit(PAVuC, chunked(Xs, 300), p, n_clusters=k)
    assert_same_fit(found, expected, graph_gap=0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"align": False},
        {"mu": 0.0},
        {"matching": "optimal"},
        {"n_anchors": 6, "latent_dim": 3},
    ],
)
def test_parameters_mean_the_same(small_parts, parameters):
    Xs, p, _ = views_of("blobs", np.float32)
    Xs = [X[:400] for X in Xs]
    expected = fit(unaligned.PAVuC, Xs, min(p, 50), **parameters)
    found = fit(PAVuC, chunked(Xs, 130, 90), min(p, 50), **parameters)
    assert_same_fit(found, expected, graph_gap=0)
    assert_array_equal(found.matching_loss_, np.zeros(found.n_iter_))


def test_given_start_single_view_and_cut_columns(blobs):
    Xs, _ = blobs
    rng = np.random.RandomState(0)
    start = rng.uniform(size=(3, 3)), rng.uniform(size=(3, 60))
    both = np.hstack(Xs[:2])
    for Xs, sizes in ((both, [5, 4]), (both, None)):
        expected = fit(unaligned.PAVuC, Xs, init=start, view_sizes=sizes)
        X = da.from_array(Xs, chunks=(20, 3))
        found = fit(PAVuC, X, init=start, view_sizes=sizes)
        assert_same_fit(found, expected, graph_gap=1e-12)


def test_names_and_integers_and_frames(blobs):
    dd = pytest.importorskip("dask.dataframe", reason="needs dask's data frames")
    pd = pytest.importorskip("pandas")
    Xs = [np.rint(10 * X).astype(np.int16) for X in blobs[0][:2]]
    expected = fit(unaligned.PAVuC, {"a": Xs[0], "b": Xs[1]})
    frame = dd.from_pandas(pd.DataFrame(Xs[1]), npartitions=3)
    found = fit(PAVuC, {"a": da.from_array(Xs[0], chunks=17), "b": frame})
    assert found.view_names_in_ == ["a", "b"]
    assert_same_fit(found, expected, graph_gap=1e-12)


def test_unknown_chunks_are_counted_and_the_array_stays_as_it_was(blobs):
    Xs = [da.from_array(X, chunks=(17, -1)) for X in blobs[0]]
    unknown = [X[da.ones(60, chunks=17, dtype=bool)] for X in Xs]
    found = fit(PAVuC, unknown)
    assert np.isnan(unknown[0].shape[0])
    assert_same_fit(found, fit(unaligned.PAVuC, blobs[0]), graph_gap=1e-12)


# --- Labels of new rows ------------------------------------------------------------


def test_predict_is_lazy_and_the_same(blobs):
    Xs, _ = blobs
    model = fit(PAVuC, chunked(Xs, 25))
    expected = fit(unaligned.PAVuC, Xs)
    for view, X in enumerate(Xs):
        labels = model.predict(da.from_array(X, chunks=(19, 2)), view=view)
        assert isinstance(labels, da.Array)
        assert labels.dtype == np.intp
        assert labels.chunks == ((19, 19, 19, 3),)
        assert_array_equal(labels.compute(), expected.predict(X, view=view))
        assert_array_equal(model.predict(X, view=view), labels)
    with pytest.raises(ValueError, match="has 4 columns, but view 0 had 5"):
        model.predict(da.zeros((3, 4)), view=0)
    with pytest.raises(ValueError, match="none of the 3 views"):
        model.predict(da.zeros((3, 5)), view=7)


def test_tasks_of_predict_do_not_carry_the_training_rows(small_parts):
    Xs, p, k = views_of("blobs", np.float32)
    model = fit(PAVuC, chunked(Xs, 300), p, n_clusters=k)
    assert len(pickle.dumps(model._labeller())) < 8000 < len(pickle.dumps(model))


# --- Conventions and complaints ----------------------------------------------------


def test_parameters_and_attributes_are_those_of_memory(blobs):
    mine, theirs = PAVuC().get_params(), unaligned.PAVuC().get_params()
    assert mine == theirs | {"matching_memory": None}
    model = fit(PAVuC, chunked(blobs[0], 25), random_state=3)
    again = clone(model).fit(chunked(blobs[0], 30))
    assert_array_equal(again.labels_, model.labels_)
    expected = vars(fit(unaligned.PAVuC, blobs[0])).keys()
    assert {name for name in expected if name.endswith("_")} <= vars(model).keys()
    assert [len(labels) for labels in model.single_view_labels_] == [60] * 3


def test_progress_names_the_first_pass_and_the_iterations(blobs, capsys):
    fit(PAVuC, chunked(blobs[0], 25), max_iter=2, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[PAVuC] first pass over 3 blocks of 3 views"
    assert [line.split(":")[0] for line in lines[1:]] == [
        "[PAVuC] iteration 1",
        "[PAVuC] iteration 2",
    ]


def test_an_interrupted_pass_leaves_the_iteration_before(blobs):
    reads = []

    def interrupt(block):
        reads.append(1)
        if len(reads) == 2 * 3 + 2:  # first pass and two iterations, then in a third
            raise KeyboardInterrupt
        return block

    Xs = [da.from_array(X, chunks=(60, -1)) for X in blobs[0]]
    Xs[1] = Xs[1].map_blocks(interrupt, meta=Xs[1]._meta)
    Xs[1] = da.concatenate([Xs[1][:30], Xs[1][30:]])  # reads twice, to fail half-way
    model = PAVuC(3, **SETTINGS)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(Xs)
    expected = fit(PAVuC, chunked(blobs[0], 60), max_iter=model.n_iter_)
    assert model.n_iter_ >= 1
    assert_same_fit(model, expected, graph_gap=0)
    assert_array_equal(model.anchors_, expected.anchors_)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_found_and_counted(small_parts, bad):
    X = np.ones((2000, 6))
    X[1500, 4] = X[1700, 2] = bad
    views = {"a": da.ones((2000, 3), chunks=100), "b": da.from_array(X, chunks=300)}
    counts = "2 NaN and 0" if np.isnan(bad) else "0 NaN and 2"
    with pytest.raises(
        ValueError, match=f"view 'b' .*{counts} infinite.*row 1500, column 4"
    ):
        fit(PAVuC, views)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.99, -1.01, 1e10])
def test_numbers_whose_squares_overflow_are_refused_as_in_memory(
    small_parts, dtype, share
):
    rng = np.random.default_rng(0)
    Xs = [rng.normal(size=(2000, 4)).astype(dtype) for _ in range(2)]
    most = np.sqrt(float(np.finfo(dtype).max) / ROOM_FOR_SUMS / Xs[1].size)
    Xs[1][150, 2] = share * most
    if share == 0.99:
        assert np.isfinite(fit(PAVuC, chunked(Xs, 300)).objective_).all()
        return
    with pytest.raises(ValueError, match="view 1 holds values as large as") as caught:
        fit(unaligned.PAVuC, Xs)
    with pytest.raises(ValueError, match=re.escape(str(caught.value))):
        fit(PAVuC, chunked(Xs, 300))


@pytest.mark.parametrize(
    ("Xs", "error", "words"),
    [
        ([np.ones((5, 2))], TypeError, "view 0 is a ndarray.*from_array.*open_views"),
        (np.ones((5, 2)), TypeError, "Xs is a ndarray"),
        ([da.ones((5, 2)), da.ones((4, 2))], ValueError, "view 0: 5, view 1: 4"),
        ([da.ones((5, 2, 2))], ValueError, "3-D with shape"),
        ([da.ones((5, 0))], ValueError, "has no columns"),
        ([da.ones((5, 2), dtype=complex)], ValueError, "is complex"),
        ([da.from_array(np.full((5, 2), "a"))], ValueError, "does not hold numbers"),
        (
            [da.ones((5, 2)).map_blocks(sparse.csr_array, dtype=float)],
            TypeError,
            "sparse chunks.*toarray",
        ),
    ],
)
def test_complaints_name_the_view_and_a_way_out(Xs, error, words):
    with pytest.raises(error, match=words):
        fit(PAVuC, Xs, n_clusters=2)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"safeguard": True}, "safeguard=False, or use"),
        ({"n_clusters": "auto"}, "select_n_clusters"),
        ({"matching_memory": 0}, "matching_memory"),
        ({"device": "cuda"}, "'device' parameter of PAVuC must be"),
    ],
)
def test_complaints_about_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        fit(PAVuC, [da.ones((5, 2))], **parameters)


def test_the_code_of_the_guide_runs():
    page = Path(__file__).parents[2] / "docs" / "distributed.md"
    code = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)
    assert len(code) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        names = {}
        exec("\n".join(code), names)
    assert names["tight"].matching_loss_.any()
    assert "matched within buckets" in str(names["caught"][0].message)
