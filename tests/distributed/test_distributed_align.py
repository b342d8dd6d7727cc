"""Views on dask are aligned as in memory, whatever the chunks and the files."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partly_shared import partly_shared
from same_fit import chunked

import unaligned
from unaligned.distributed import align, open_views, searching
from unaligned.kernels import blocks
from unaligned.savuc.config import EFFORTS

pytest.importorskip("dask.array", reason="needs the extra 'dask'")
pytestmark = pytest.mark.heavy

# Few starts, rivals and splits, which take most of the time of small fits.
FAST = replace(
    EFFORTS["quick"], n_starts=20, n_rivals=2, n_rival_rows=0, n_splits=4, n_folds=3
)


def found_by(views, seed=0, **options):
    return align(views, effort=FAST, random_state=seed, **options)


def assert_same(one, other):
    assert one.verdict == other.verdict
    assert one.template == other.template
    assert_array_equal(one.trust, other.trust)
    for i in range(one.n_views):
        assert_array_equal(one.permutations[i], other.permutations[i])
        assert_array_equal(one.confidence[i], other.confidence[i])


@pytest.fixture(scope="module")
def shared():
    Xs, partner = partly_shared()
    return Xs, partner, found_by(chunked(Xs, 400))


def test_rows_find_their_partners_or_none(shared):
    _, partner, found = shared
    assert found.verdict == ["objects", "objects"]
    rows, there = found.permutations[1], partner >= 0
    assert np.mean(rows[there] == partner[there]) > 0.9
    assert np.mean(rows[~there] < 0) > 0.8
    assert set(found.unmatched(0)) == set(np.flatnonzero(rows < 0))


def test_memory_finds_the_same_partners(shared):
    Xs, _, found = shared
    in_memory = unaligned.align(Xs, effort=FAST, random_state=0)
    assert in_memory.verdict == found.verdict
    sure = found.confidence[1] > 0.9
    assert sure.sum() > 200
    same = found.permutations[1][sure] == in_memory.permutations[1][sure]
    assert same.mean() > 0.93  # which matches all rows, partner or not


@pytest.mark.parametrize("rows", [(37, 400), (1000, 3)])
def test_chunks_change_nothing(shared, monkeypatch, rows):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**12)
    monkeypatch.setattr(blocks, "PART_BYTES", 2**13)
    Xs, _, _ = shared
    assert_same(found_by(chunked(Xs, *rows)), found_by(chunked(Xs, 400)))


def test_files_of_any_kind_give_the_same(shared, tmp_path):
    zarr = pytest.importorskip("zarr", reason="needs zarr")
    pd = pytest.importorskip("pandas", reason="needs the extra 'io'")
    pytest.importorskip("pyarrow", reason="needs the extra 'io'")
    Xs, _, found = shared
    np.save(tmp_path / "a.npy", Xs[0])
    stored = zarr.create_array(tmp_path / "b.zarr", shape=Xs[1].shape, dtype="f4")
    stored[:] = Xs[1]
    table = pd.DataFrame(Xs[1]).add_prefix("column ")
    table.to_parquet(tmp_path / "b.parquet")
    for name in ("b.zarr", "b.parquet"):
        views = open_views({"a": tmp_path / "a.npy", "b": tmp_path / name})
        again = found_by(views)
        assert_same(again, found)
        assert again.view_names == ["a", "b"]


def test_samples_stand_for_many_rows(shared, monkeypatch):
    Xs, partner = partly_shared(n=1200, seed=1)
    for name, value in {"MANY": 600, "N_THIN": 400, "N_BESIDE": 600}.items():
        monkeypatch.setattr(searching, name, value)
    monkeypatch.setattr(searching, "N_SAMPLES", 1)  # of four searches each
    found = found_by(chunked(Xs, 400))
    assert found.verdict == ["objects", "objects"]
    there = partner >= 0
    assert np.mean(found.permutations[1][there] == partner[there]) > 0.9


def test_unrelated_views_are_refused(shared):
    Xs, _, _ = shared
    rng = np.random.RandomState(0)
    strange = np.column_stack([rng.permutation(column) for column in Xs[1].T])
    found = found_by(chunked([Xs[0], strange], 200))
    assert found.verdict == ["objects", "none"]
    assert np.all(found.permutations[1] == -1)
    assert found.trust[1] < 0.5


def test_views_apart_from_the_first_are_a_group_of_their_own(shared):
    Xs, partner, _ = shared
    rng = np.random.RandomState(0)
    strange = np.column_stack([rng.permutation(column) for column in Xs[1].T])
    found = found_by(chunked([strange, *Xs], 200))
    assert found.template == 1
    assert found.verdict == ["none", "objects", "objects"]
    there = partner >= 0
    assert np.mean(found.permutations[2][there] == partner[there]) > 0.9


def test_known_pairs_stay(shared):
    Xs, partner, _ = shared
    rows = np.flatnonzero(partner >= 0)[:30]
    pairs = np.column_stack([rows, partner[rows]])
    found = found_by(chunked(Xs, 200), aligned={(0, 1): pairs})
    assert_array_equal(found.permutations[1][rows], partner[rows])
    assert np.all(found.confidence[1][rows] == 1)
    assert found.known[1] == pytest.approx(30 / 400)


def test_known_pairs_of_samples():
    rows, partners = np.array([2, 5, 9]), np.array([3, 4, 8])
    known = np.array([1, 5, 9, 2]), np.array([4, 8, 3, 7])
    found = searching.known_among(known, rows, partners)
    assert_array_equal(found, [[1, 2], [2, 0]])
    assert searching.known_among((known[0][:1], known[1][:1]), rows, partners) is None
    assert searching.known_among(None, rows, partners) is None


def test_known_rows_are_drawn_first():
    drawn = searching.draw_rows(100, 20, np.arange(50, 58), np.random.RandomState(0))
    assert len(np.unique(drawn)) == 20
    assert_array_equal(np.sort(drawn), drawn)
    assert set(range(50, 58)) < set(drawn)


def test_what_is_no_dask_array_is_refused(shared):
    Xs, _, _ = shared
    with pytest.raises(TypeError, match="takes dask"):
        align(Xs)


def test_memory_is_asked_for_before_anything_is_read(shared, monkeypatch):
    monkeypatch.setattr("unaligned.kernels.memory.available_bytes", lambda: 1e3)
    with pytest.raises(MemoryError, match="fewer rows"):
        found_by(chunked(shared[0], 200))
