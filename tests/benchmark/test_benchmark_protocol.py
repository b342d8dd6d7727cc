import hashlib

import numpy as np
import pytest

from unaligned.benchmark import protocol, published_tables
from unaligned.benchmark.protocol import (
    digest,
    entry_of,
    load_views,
    published_digests,
    row_orders,
    shuffle_views,
)


def drawn(n, n_views, ratio, seed):
    """The shuffle as its description says, without the library."""
    rng = np.random.RandomState(seed)
    objects = rng.permutation(n)
    kept = round(ratio * n)
    return [
        np.concatenate([objects[:kept], rng.permutation(objects[kept:])])
        for _ in range(n_views)
    ]


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("shuffle", [0, 9])
@pytest.mark.parametrize("shape", [(694, 12), (2866, 2), (1797, 4), (10000, 3)])
def test_published_digests_are_those_of_the_described_shuffles(shape, ratio, shuffle):
    orders = np.array(drawn(*shape, ratio, shuffle), dtype="<i8")
    expected = hashlib.sha256(orders.tobytes()).hexdigest()[:16]
    assert published_digests()[*shape, ratio, shuffle] == expected
    assert digest(row_orders(*shape, ratio, shuffle)) == expected


def test_digests_cover_the_papers_datasets_ratios_and_ten_shuffles():
    for table in published_tables()["table3_datasets"].values():
        for ratio in (*protocol.RATIOS, protocol.PAIRED_SHARE):
            for shuffle in range(protocol.N_SHUFFLES):
                for n_views in (table["v"], 2):
                    key = table["n"], n_views, ratio, shuffle
                    assert len(published_digests()[key]) == 16


def test_another_shuffle_than_the_published_one_is_refused(monkeypatch):
    Xs, y = [np.zeros((694, 1))] * 12, np.zeros(694)
    shuffle_views(Xs, y, 0.0, 3)
    wrong = {(694, 12, 0.0, 3): "0" * 16}
    monkeypatch.setattr(protocol, "published_digests", lambda: wrong)
    with pytest.raises(RuntimeError, match="is not the published one"):
        shuffle_views(Xs, y, 0.0, 3)


def test_rows_and_views_are_cut_the_same_way_every_time():
    digits = entry_of("DIGITS")
    assert digits.name == "digits"
    one, again = load_views(digits, 100, (0, 3)), load_views(digits, 100, (0, 3))
    assert [X.shape for X in one.Xs] == [(100, 64), (100, 48)]
    np.testing.assert_array_equal(one.Xs[1], again.Xs[1])
    assert one.n_clusters == 10
    np.testing.assert_allclose(one.Xs[0].mean(axis=0), 0, atol=1e-12)  # centred


@pytest.mark.parametrize(
    ("how", "dtype"), [("standardised", np.float16), ("as it is", np.uint8)]
)
def test_views_are_prepared_in_full_precision(how, dtype):
    X = np.random.RandomState(0).randint(100, size=(50, 4)).astype(dtype)
    prepared = protocol.prepare(X, how)
    assert prepared.dtype == (np.float32 if dtype == np.float16 else np.float64)
    if how == "standardised":
        np.testing.assert_allclose(prepared.std(axis=0, ddof=1), 1, rtol=1e-5)


def test_wide_views_are_reduced_to_the_papers_hundred_dimensions():
    X = np.random.RandomState(0).normal(size=(150, 160))
    reduced = protocol.prepare(X, "100 dimensions")
    singular = np.linalg.svd(X, compute_uv=False)[:100]
    found = np.linalg.svd(reduced, compute_uv=False)
    np.testing.assert_allclose(found[:20], singular[:20], rtol=0.05)
    assert protocol.prepare(X[:, :80], "100 dimensions").shape == (150, 80)


def test_views_without_common_rows_cannot_be_benchmarked(monkeypatch):
    from sklearn.utils import Bunch

    apart = Bunch(Xs=[np.zeros((3, 1)), np.zeros((4, 1))], y=None)
    monkeypatch.setattr(protocol, "load", lambda name: apart)
    with pytest.raises(ValueError, match="no common rows"):
        load_views(entry_of("apart"))
