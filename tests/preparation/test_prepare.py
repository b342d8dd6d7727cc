"""``unaligned.prepare``: what becomes of the columns of a table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import unaligned
from unaligned import prepare
from unaligned.datasets import read_view
from unaligned.preparation.kinds import are_counts, as_days, is_spread_evenly


@pytest.fixture
def people():
    rng = np.random.RandomState(0)
    n = 300
    age, iron = rng.multivariate_normal([40, 5], [[81, 8], [8, 1]], n).T
    return pd.DataFrame(
        {
            "customer_id": [f"c{i}" for i in range(n)],
            "store_id": rng.randint(1, 9, n),
            "number": rng.permutation(90_000)[:n],
            "line": np.arange(n),
            "age": age,
            "iron": iron,
            "income": rng.lognormal(10, 1, n).round(),
            "empty": np.nan,
            "country": "NL",
            "one": 1,
            "smoker": rng.choice(["no", "yes"], n),
            "region": rng.choice(["N", "S", "W"], n),
            "remark": [f"remark {i % 200}" for i in range(n)],
            "since": pd.date_range("2020-01-01", periods=n),
        }
    )


def notes_by_column(view):
    return {note.column: (note.action, note.why) for note in view.notes}


def test_every_column_has_its_note(people):
    view = prepare(people)
    notes = notes_by_column(view)
    assert set(notes) == set(people.columns)
    assert notes["age"] == ("used", "")
    dropped = {
        "customer_id": "names the rows",
        "store_id": "ids by their name",
        "number": "as ids are; id_column= names rows by one",
        "line": "counts the rows",
        "empty": "empty",
        "one": "the same in all rows",
        "country": "the same in all rows",
        "remark": "many different values",
        "since": "dates",
    }
    for column, why in dropped.items():
        assert notes[column][0] == "dropped", column
        assert why in notes[column][1]
    names = ["age", "iron", "income", "smoker=yes", "region=N", "region=S", "region=W"]
    assert view.feature_names == names
    assert view.X.shape == (300, 7)
    assert view.row_ids[:2] == ["c0", "c1"]
    np.testing.assert_array_equal(view.X[:, 3], people["smoker"] == "yes")
    np.testing.assert_array_equal(view.X[:, 0], people["age"])
    assert "7 of" not in view.summary()
    assert view.summary().startswith("5 of 14 columns are used")


def test_what_is_asked_for_is_done(people):
    view = prepare(
        people,
        categorical="drop",
        dates="number",
        transform="none",
        keep=["number", "region"],
        exclude=["iron"],
    )
    notes = notes_by_column(view)
    assert notes["iron"] == ("dropped", "excluded")
    assert notes["smoker"] == ("dropped", "categories")
    assert notes["number"] == ("used", "")
    assert notes["income"] == ("used", "")
    assert view.feature_names[:3] == ["number", "age", "income"]
    assert view.feature_names[-1] == "since"
    days = view.X[:, -1]
    np.testing.assert_array_equal(np.diff(days), 1)


@pytest.mark.parametrize("order", "CF")
def test_two_values_are_as_skewed_after_a_logarithm_as_before(order):
    draw = np.random.RandomState(0)
    for n_of_one in range(1, 13):
        X = draw.normal(size=(280, 3)) @ draw.normal(size=(3, 30))
        X[:, ::2] = np.arange(280)[:, None] >= 280 - n_of_one
        X[:, ::2] *= draw.uniform(0.01, 9, size=15)
        X[:, ::2] += draw.uniform(0, 2) * (n_of_one % 2)
        table = pd.DataFrame(np.asarray(X, order=order), copy=False)
        view = prepare(table)
        actions = {note.action for note in view.notes[::2]}
        assert actions == {"used"}


def test_skewed_amounts_lose_their_skew(people):
    from scipy.stats import skew

    view = prepare(people)
    income = view.X[:, view.feature_names.index("income")]
    np.testing.assert_allclose(income, np.log(people["income"]))
    assert abs(skew(income)) < 1 < skew(people["income"])
    people.loc[:9, "income"] = 0
    median = np.median(people["income"][10:])
    income = prepare(people[["age", "income"]]).X[:, 1]
    np.testing.assert_allclose(income, np.log1p(people["income"] / median))


@pytest.mark.parametrize("labels", [[0, 1, 1], ["a", "b", "a"]])
def test_what_was_excluded_when_a_file_was_read_is_no_feature(tmp_path, labels):
    from unaligned.datasets import read_view, read_views

    file = tmp_path / "people.csv"
    people = {"age": [31.5, 25, 40], "label": labels}
    pd.DataFrame(people).to_csv(file, index=False)
    for view in (
        read_view(file, exclude=["label"]),
        read_views([file], exclude=["label"]).view(0),
    ):
        found = prepare(view)
        assert found.feature_names == ["age"]
        assert notes_by_column(found)["label"] == ("dropped", "excluded")


def test_a_logarithm_that_changes_no_skew_is_not_taken():
    # The skewness of two values is that of their shares, up to rounding.
    rows = np.random.RandomState(0).normal(size=(280, 4))
    for value in (2.0, 0.3, 7.1, 1e5):
        rows[:, 3] = 0
        rows[5, 3] = value
        for X in (rows, np.asfortranarray(rows)):
            assert not prepare(pd.DataFrame(X)).recipe.scales


def test_missing_values_are_counted_and_expected_from_other_columns(people):
    rng = np.random.RandomState(1)
    gaps = rng.permutation(300)[:30]
    holed = people.copy()
    holed.loc[gaps, "age"] = np.nan
    holed.loc[5, ["age", "iron", "income"]] = np.nan
    view = prepare(holed[["age", "iron", "income"]])
    assert np.isfinite(view.X).all()
    assert view.n_imputed == int(holed[["age", "iron", "income"]].isna().sum().sum())
    assert f"{view.n_imputed} values are missing" in view.remarks[0]
    assert "in age, iron" in view.remarks[0]
    assert view.empty_rows.tolist() == [5]
    assert "1 row is more than half empty: 5." in view.remarks[1]
    imputed, true = view.X[gaps, 0], people["age"].to_numpy()[gaps]
    assert np.corrcoef(imputed, true)[0, 1] > 0.7
    missing = {note.column: note.n_missing for note in view.notes}
    assert missing["age"] == holed["age"].isna().sum()
    iterative = prepare(holed[["age", "iron", "income"]], impute="iterative")
    assert np.corrcoef(iterative.X[gaps, 0], imputed)[0, 1] > 0.95
    with pytest.raises(
        ValueError, match=r"values are missing .* impute='none' forbids"
    ):
        prepare(holed, impute="none")


def test_mostly_empty_columns_are_left_out(people):
    holed = people[["age", "iron"]].copy()
    holed.loc[:160, "age"] = np.nan
    view = prepare(holed)
    assert view.feature_names == ["iron"]
    assert notes_by_column(view)["age"] == ("dropped", "more than half empty")
    with pytest.raises(ValueError, match=r"No column is left to use.*age"):
        prepare(holed[["age"]])


@pytest.fixture
def counts():
    rng = np.random.RandomState(0)
    depth = rng.lognormal(0, 0.5, 80)
    X = rng.poisson(depth[:, None] * rng.gamma(1, 2, 60))
    X[3] = 0
    return X


@pytest.mark.parametrize("kind", [np.float64, np.float32, int])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_counts_are_scaled_by_depth(counts, kind, as_sparse):
    X = counts.astype(kind)
    view = prepare(sparse.csr_array(X) if as_sparse else X)
    depth = counts.sum(axis=1)
    scaled = counts * (np.median(depth[depth > 0]) / np.maximum(depth, 1))[:, None]
    assert sparse.issparse(view.X) == as_sparse
    found = view.X.toarray() if as_sparse else view.X
    np.testing.assert_allclose(found, np.log1p(scaled), rtol=1e-5)
    assert found.dtype == (np.float32 if kind is np.float32 else np.float64)
    assert "The numbers are counts" in view.remarks[0]
    raw = prepare(X, transform="none")
    np.testing.assert_array_equal(raw.X, X)


def test_what_is_no_matrix_of_counts():
    rng = np.random.RandomState(0)
    from sklearn.datasets import load_digits

    assert not are_counts(load_digits().data)
    assert not are_counts(rng.randint(1, 6, size=(200, 40)).astype(float))  # answers
    assert not are_counts(rng.randint(0, 2, size=(200, 40)).astype(float))
    assert not are_counts(rng.normal(size=(200, 40)))
    assert not are_counts(rng.poisson(3.0, size=(200, 12)).astype(float))  # narrow
    rounded = rng.normal(100 * np.arange(1, 31), 20, size=(200, 30)).round()
    assert not are_counts(rounded)  # measurements


def test_one_row_is_too_few(people):
    with pytest.raises(ValueError, match="n_samples=1 rows"):
        prepare(people[:1])
    assert prepare(people[:1], like=prepare(people)).shape[0] == 1


def test_ids_are_told_from_amounts():
    rng = np.random.RandomState(0)
    for seed in range(20):
        rng = np.random.RandomState(seed)
        assert is_spread_evenly(rng.permutation(100_000)[:400] + 1000)
        incomes = np.unique(rng.lognormal(10, 0.6, 400).round())
        assert not is_spread_evenly(incomes)
        assert not is_spread_evenly(rng.randint(18, 90, 400))


def test_dates_in_several_spellings():
    def days(*texts):
        return as_days(np.array(texts, dtype=object))

    assert days("1970-01-03", None).tolist()[0] == 2
    assert days("03.01.1970", "25.01.1970").tolist() == [2, 24]
    assert days("01/31/1970", "02/01/1970").tolist() == [30, 31]
    assert days("01/02/1970", "02/01/1970") is None  # which is the month?
    assert days("hello", "1970-01-01") is None
    assert days("", None) is None


def test_matrices_come_back_as_they_are():
    X = np.random.RandomState(0).normal(size=(50, 4))
    X[:, 2] = 7  # predict() would need the same columns
    view = prepare(X)
    assert view.X is X
    assert view.feature_names is None
    assert view.summary() == "4 of 4 columns are used."


def test_files_and_data_frames_agree(people, tmp_path):
    holed = people.mask(np.random.RandomState(2).uniform(size=people.shape) < 0.03)
    holed["customer_id"] = people["customer_id"]
    expected = prepare(holed)
    holed.to_csv(tmp_path / "people.csv", index=False)
    holed.to_parquet(tmp_path / "people.parquet", index=False)
    frames = [pl.from_pandas(holed)]
    files = [read_view(tmp_path / f"people.{end}") for end in ("csv", "parquet")]
    for other in (*frames, *files):
        view = prepare(other)
        assert view.feature_names == expected.feature_names
        assert view.row_ids == expected.row_ids
        np.testing.assert_allclose(view.X, expected.X, atol=1e-8)
        assert view.remarks == expected.remarks
        assert notes_by_column(view) == notes_by_column(expected)


def test_estimators_take_what_was_prepared(people):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), index=[f"r{i}" for i in range(60)])
    frame.iloc[3, 1] = np.nan
    view = prepare(frame)
    labels = (
        unaligned.PAVuC(2, random_state=0, max_iter=3, n_init=1)
        .fit([view, view])
        .labels_
    )
    same = (
        unaligned.PAVuC(2, random_state=0, max_iter=3, n_init=1)
        .fit([view.X, view.X])
        .labels_
    )
    np.testing.assert_array_equal(labels, same)
    unaligned.PAVuC(2, random_state=0, max_iter=3, n_init=1).fit(view)
    with pytest.raises(ValueError, match=r"1 NaN.*unaligned\.prepare"):
        unaligned.PAVuC(2).fit([frame, frame])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"impute": "mean"}, "impute='mean' must be one of 'low-rank', 'iterative'"),
        ({"keep": ["wealth"]}, "keep names 'wealth', which is no column"),
        ({"layer": "counts"}, "say what to read of an AnnData"),
    ],
)
def test_complaints_name_the_way_out(people, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        prepare(people, **options)


def test_infinity_is_no_missing_value():
    X = np.ones((5, 2))
    X[2, 1] = np.inf
    with pytest.raises(ValueError, match=r"1 infinite .* row 2, column 1"):
        prepare(X)


class Cells:
    """Of an AnnData, what is read here."""

    def __init__(self, X):
        self.X = X
        self.obs_names = [f"cell{i}" for i in range(len(X))]
        self.var_names = [f"gene{i}" for i in range(X.shape[1])]
        self.obsm, self.layers = {"X_pca": X[:, :2] - 0.5}, {"counts": X + 1}


def test_anndata_by_representation_and_layer(counts):
    cells = Cells(counts.astype(float))
    assert prepare(cells).row_ids[1] == "cell1"
    assert prepare(cells).feature_names[0] == "gene0"
    pca = prepare(cells, use_rep="X_pca")
    np.testing.assert_array_equal(pca.X, cells.obsm["X_pca"])
    assert pca.feature_names is None
    layer = prepare(cells, layer="counts", transform="none")
    np.testing.assert_array_equal(layer.X, cells.X + 1)
    with pytest.raises(ValueError, match="obsm holds 'X_pca'"):
        prepare(cells, use_rep="X_umap")
    with pytest.raises(ValueError, match="layers are 'counts'"):
        prepare(cells, layer="raw")
    with pytest.raises(ValueError, match="not both"):
        prepare(cells, use_rep="X_pca", layer="counts")


class TestNewRows:
    def test_of_the_same_table_are_the_rows_of_the_view(self, people):
        people.loc[:9, "income"] = 0
        view = prepare(people, dates="number")
        again = prepare(people[50:60], like=view)
        assert again.feature_names == view.feature_names
        np.testing.assert_allclose(again.X, view.X[50:60])
        assert again.row_ids == [f"c{row}" for row in range(50, 60)]

    def test_counts_are_scaled_to_the_depth_of_the_view(self, counts):
        view = prepare(counts)
        np.testing.assert_allclose(prepare(counts[:5], like=view).X, view.X[:5])
        as_sparse = prepare(sparse.csr_array(counts[:5]), like=view).X
        np.testing.assert_allclose(as_sparse.toarray(), view.X[:5])

    def test_gaps_are_expected_from_the_rows_of_the_view(self, people):
        view = prepare(people[["age", "iron", "income"]])
        holed = people[["age", "iron", "income"]].copy()[:20]
        holed.loc[:9, "iron"] = np.nan
        holed.loc[12, "income"] = 0  # none was zero, and zero has no logarithm
        again = prepare(holed, like=view)
        assert np.isfinite(again.X).all()
        assert np.corrcoef(again.X[:10, 1], people["iron"][:10])[0, 1] > 0.6
        np.testing.assert_array_equal(again.X[10:, 1], people["iron"][10:20])

    def test_order_of_columns_does_not_matter_and_lacking_ones_are_named(self, people):
        view = prepare(people)
        turned = people[people.columns[::-1]]
        np.testing.assert_allclose(prepare(turned, like=view).X, view.X)
        with pytest.raises(ValueError, match="no column of numbers 'age'"):
            prepare(people.drop(columns="age"), like=view)
        with pytest.raises(ValueError, match="no column 'smoker' of text"):
            prepare(people.drop(columns="smoker"), like=view)

    def test_a_model_labels_them(self, people):
        view = prepare(people)
        model = unaligned.SAVuC(2, effort="quick", random_state=0).fit([view])
        new = prepare(people[:40], like=view)
        assert len(model.predict(new, view=0)) == 40
