import numpy as np
import pytest

from unaligned.kernels import neighbors
from unaligned.kernels.scaling import unit_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "n_columns", "k"), [(1, 1, 1), (50, 30, 1), (50, 30, 7), (9, 40, 40)]
)
def test_agrees_with_sorting_the_whole_table(monkeypatch, n, n_columns, k, dtype):
    monkeypatch.setattr(neighbors, "BLOCK_ENTRIES", 100)  # several blocks
    rng = np.random.RandomState(0)
    rows = rng.normal(size=(n, 4)).astype(dtype)
    columns = rng.normal(size=(n_columns, 4)).astype(dtype)
    table = rows @ columns.T
    expected = np.argsort(-table, axis=1, kind="stable")[:, :k]
    indices, products = neighbors.top_products(rows, columns, k)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(
        products, np.take_along_axis(table, expected, axis=1), rtol=1e-5
    )
    assert products.dtype == dtype


def test_the_table_of_products_is_never_whole(monkeypatch):
    sizes, select = [], neighbors._select_compiled

    def measure(table, *rest):
        sizes.append(table.shape)
        select(table, *rest)

    monkeypatch.setattr(neighbors, "_select_compiled", measure)
    monkeypatch.setattr(neighbors, "BLOCK_ENTRIES", 100)
    neighbors.top_products(np.ones((10, 2)), np.ones((30, 2)), 1)
    assert sizes == [(3, 30), (3, 30), (3, 30), (1, 30)]
    sizes.clear()
    neighbors.top_products(np.ones((2, 2)), np.ones((101, 2)), 1)
    assert sizes == [(1, 101)] * 2  # a row is the least there is


@pytest.mark.parametrize("k", [1, 12])
def test_many_columns_are_taken_some_at_a_time(monkeypatch, k):
    rng = np.random.RandomState(0)
    rows, columns = rng.normal(size=(7, 4)), rng.normal(size=(95, 4)).round(1)
    expected = neighbors.top_products(rows, columns, k)
    monkeypatch.setattr(neighbors, "MOST_COLUMNS", 10)
    found = neighbors.top_products(rows, columns, k)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])


@pytest.mark.parametrize("most", [2, 5])  # columns at a time
@pytest.mark.parametrize("k", [1, 3])
def test_ties_go_to_the_smaller_column(monkeypatch, k, most):
    monkeypatch.setattr(neighbors, "MOST_COLUMNS", most)
    indices, _ = neighbors.top_products(np.ones((2, 1)), np.ones((5, 1)), k)
    np.testing.assert_array_equal(indices, [[*range(k)]] * 2)


def directions(n, seed=0, m=6):
    points = np.random.RandomState(seed).normal(size=(n, m)).astype(np.float32)
    return unit_rows(points)


@pytest.mark.parametrize(
    ("n", "n_columns", "k"), [(1, 1, 1), (50, 900, 7), (9, 40, 40)]
)
def test_rows_that_see_all_cells_find_the_same(n, n_columns, k):
    rows, columns = directions(n), directions(n_columns, seed=1)
    assert int(np.sqrt(n_columns)) <= neighbors.N_SEEN
    found = neighbors.likely_top_products(rows, columns, k)
    for one, other in zip(found, neighbors.top_products(rows, columns, k), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert found[1].dtype == np.float32


def test_rows_that_see_some_cells_find_nearly_the_same(monkeypatch):
    monkeypatch.setattr(neighbors, "BLOCK_ENTRIES", 1000)  # several blocks
    rows, columns = directions(500), directions(4000, seed=1)
    monkeypatch.setattr(neighbors, "N_SEEN", 6)  # of 63
    indices, products = neighbors.likely_top_products(rows, columns, 10)
    exact, _ = neighbors.top_products(rows, columns, 10)
    found = np.mean([np.isin(*pair) for pair in zip(exact, indices, strict=True)])
    assert 0.9 < found < 1
    table = rows @ columns.T
    np.testing.assert_allclose(
        products, np.take_along_axis(table, indices, axis=1), rtol=1e-4
    )
    assert (np.diff(products, axis=1) <= 0).all()
    assert all(len({*row}) == 10 for row in indices.tolist())


def test_rows_that_see_too_few_columns_look_at_all(monkeypatch):
    monkeypatch.setattr(neighbors, "N_SEEN", 1)
    columns = directions(100, seed=1)
    columns[:60] = columns[0]  # a cell of many, and many of few
    found = neighbors.likely_top_products(columns, columns, 30)
    table = columns @ columns.T
    np.testing.assert_allclose(found[1][60:], -np.sort(-table)[60:, :30], rtol=1e-4)


def test_more_neighbours_than_columns_are_refused():
    with pytest.raises(ValueError, match="k=3 must be between 1 and the 2 columns"):
        neighbors.top_products(np.ones((2, 1)), np.ones((2, 1)), 3)


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tensors_of_torch_find_the_same(monkeypatch, dtype):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(neighbors, "BLOCK_ENTRIES", 100)
    rng = np.random.RandomState(1)
    # Small whole numbers: products are exact, and ties are everywhere.
    rows, columns = (rng.randint(3, size=(n, 3)).astype(dtype) for n in (50, 30))
    expected = neighbors.top_products(rows, columns, 7)
    found = neighbors.top_products(torch.tensor(rows), torch.tensor(columns), 7)
    for one, other in zip(expected, found, strict=True):
        assert isinstance(other, torch.Tensor)
        np.testing.assert_array_equal(one, other.numpy())
        assert other.numpy().dtype == one.dtype
