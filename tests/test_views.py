"""The door: what comes through, and how what does not is turned away."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from unaligned import PAVuC
from unaligned.estimators import ESTIMATORS
from unaligned.views import check_views

GOOD = np.arange(12.0).reshape(4, 3)


def with_entry(value, row=2, column=1):
    X = GOOD.copy()
    X[row, column] = value
    return X


class TestWhatComesThrough:
    @pytest.mark.parametrize(
        "Xs",
        [
            [GOOD, GOOD],
            (GOOD, GOOD),
            {"a": GOOD, "b": GOOD},
            [GOOD.tolist(), GOOD.tolist()],
            [sparse.csr_array(GOOD), sparse.coo_matrix(GOOD)],
            [sparse.csc_array(GOOD), sparse.dok_array(GOOD)],
            [pd.DataFrame(GOOD), pl.DataFrame(GOOD)],
            [GOOD.astype(np.int8), GOOD > 3],
            [GOOD.astype(object), GOOD.astype(np.longdouble)],
            [np.asfortranarray(GOOD), GOOD[::-1][::-1]],
            [np.ma.masked_array(GOOD), GOOD],
        ],
        ids=repr,
    )
    def test_any_kind_of_matrix(self, Xs):
        views = check_views(Xs)
        assert views.n_rows == [4, 4]
        assert {X.dtype for X in views.arrays} == {np.dtype(np.float64)}

    def test_sparse_views_become_csr_and_are_not_densified(self):
        (X,) = check_views([sparse.coo_array(GOOD)]).arrays
        assert X.format == "csr"

    def test_checked_arrays_are_not_copied(self):
        assert check_views([GOOD]).arrays[0] is GOOD

    @pytest.mark.parametrize(
        ("dtypes", "expected"),
        [
            ((np.float32, np.float32), np.float32),
            ((np.float16, np.float32), np.float32),
            ((np.float32, np.float64), np.float64),
            ((np.float32, np.int64), np.float64),
        ],
    )
    def test_float32_survives_only_if_all_views_have_it(self, dtypes, expected):
        views = check_views([GOOD.astype(dtype) for dtype in dtypes])
        assert [X.dtype for X in views.arrays] == [expected] * 2

    def test_one_array_is_one_view(self):
        for X in (GOOD, GOOD.tolist(), pd.DataFrame(GOOD), sparse.dok_array(GOOD)):
            assert len(check_views(X)) == 1

    def test_columns_are_cut_by_view_sizes(self):
        for X in (GOOD, sparse.csr_array(GOOD)):
            assert check_views(X, view_sizes=[1, 2]).widths == [1, 2]

    def test_anything_with_modalities_is_a_dict_of_views(self):
        class Modality:
            obs_names = ()
            X = GOOD

        class Modalities:
            mod = {"rna": Modality(), "atac": Modality()}

        assert check_views(Modalities()).names == ["rna", "atac"]

    def test_huge_numbers_are_welcome_while_their_squares_are_finite(self):
        check_views([np.full((3, 2), 1e150)])


def split_in_two(X):
    """Every entry twice, as the two halves of its value."""
    X = sparse.coo_array(X)
    data, row, col = (
        np.concatenate([part, part]) for part in (X.data / 2, X.row, X.col)
    )
    return sparse.coo_array((data, (row, col)), shape=X.shape)


def split_in_rows(X):
    X = sparse.csr_array(X)
    parts = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2
    return sparse.csr_array(parts, shape=X.shape)


def backwards(X):
    X = sparse.csr_array(X)
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        X.data[start:end] = X.data[start:end][::-1].copy()
        X.indices[start:end] = X.indices[start:end][::-1].copy()
    X.has_sorted_indices = False
    return X


def wide(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


UNUSUAL = [split_in_two, split_in_rows, backwards, wide]


class TestSparseMatrices:
    """However entries are stored, methods see each once, in order."""

    @pytest.mark.parametrize("store", UNUSUAL)
    @pytest.mark.parametrize("cut", [False, True])
    def test_one_form(self, store, cut):
        X = store(np.maximum(GOOD, 0.1))
        before = [
            part.copy() for part in vars(X).values() if isinstance(part, np.ndarray)
        ]
        seen = check_views(X if cut else [X], view_sizes=[3] if cut else None).arrays[0]
        assert seen.format == "csr"
        assert seen.has_canonical_format
        assert seen.indices.dtype == seen.indptr.dtype == np.int32
        np.testing.assert_allclose(seen.toarray(), np.maximum(GOOD, 0.1))
        after = [part for part in vars(X).values() if isinstance(part, np.ndarray)]
        for mine, yours in zip(before, after, strict=True):  # it is the user's
            np.testing.assert_array_equal(mine, yours)

    @pytest.mark.parametrize("store", UNUSUAL)
    @pytest.mark.parametrize("name", ["SAVuC", "PAVuC", "LMVSC", "CMVNMF", "CAMVC"])
    def test_every_method_that_takes_them(self, name, store, blobs):
        Xs = [np.maximum(X, 0) for X in blobs[0]]
        few = {"n_init": 1, "effort": "quick", "max_iter": 3, "random_state": 0}
        cls = ESTIMATORS[name]
        model = cls(3, **{n: few[n] for n in few.keys() & cls._get_param_names()})
        usual = model.fit([sparse.csr_array(X) for X in Xs], aligned=30).view_labels_
        found = model.fit([store(X) for X in Xs], aligned=30).view_labels_
        np.testing.assert_array_equal(found, usual)
        if hasattr(model, "predict"):
            rows = model.predict(store(Xs[1]), 1), model.predict(Xs[1], 1)
            np.testing.assert_array_equal(*rows)


class TestWhatIsTurnedAway:
    """Every complaint names the view, the value and the way out."""

    @pytest.mark.parametrize(
        ("Xs", "message"),
        [
            (
                [GOOD, with_entry(np.nan)],
                r"view 1 contains NaN or infinity: 1 NaN and 0 infinite .* row 2, "
                "column 1. Impute",
            ),
            (
                {"text": with_entry(-np.inf, 3, 0)},
                r"view 'text' .* 0 NaN and 1 infinite .* row 3, column 0",
            ),
            (
                [sparse.csr_array(with_entry(np.nan, 1, 2))],
                "view 0 .* 1 NaN .* row 1, column 2",
            ),
            ([GOOD, GOOD[0]], r"view 1 is 1-D with shape \(3,\). .*reshape\(-1, 1\)"),
            ([GOOD[0], GOOD[1]], "list of 2 1-D arrays.*np.vstack"),
            ([GOOD, GOOD[None]], r"view 1 is 3-D with shape \(1, 4, 3\)"),
            (GOOD[None], r"3-D array of shape \(1, 4, 3\).*list\(Xs\)"),
            ([GOOD, np.array(3.0)], r"view 1 is 0-D"),
            (np.array(3.0), r"Xs is a 0-D array of shape \(\), not 2-D"),
            (GOOD[None, None], r"Xs is a 4-D array of shape \(1, 1, 4, 3\), not 2-D"),
            ([], "holds no view"),
            ({}, "holds no view"),
            ([GOOD, GOOD[:, :0]], r"view 1 has no columns: its shape is \(4, 0\)"),
            ([GOOD[:0], GOOD], r"view 0 has no rows: its shape is \(0, 3\)"),
            ([GOOD, GOOD * 1j], r"view 1 is complex \(complex128\).*X.real"),
            (
                [GOOD, np.array([["a", "b"]] * 4)],
                r"view 1 holds .*'a'.* row 0, column 0",
            ),
            (
                [GOOD, np.array([["1", "2"]] * 4)],
                r"view 1 holds .*'1'.* not a number. Encode",
            ),
            ([GOOD, np.array([[1.0, None]] * 4)], "view 1 contains NaN .* 4 NaN"),
            (
                [pd.DataFrame({"x": [1, 2], "name": ["Ann", "Bob"]})],
                "view 0 holds 'Ann' .* row 0, column 1.*unaligned.prepare",
            ),
            (
                [pd.DataFrame({"when": [datetime.datetime(2020, 1, 1)] * 3})],
                "view 0 holds .* not a number",
            ),
            ([GOOD, np.array([[{}, 1]] * 4)], r"view 1 holds {} \(dict\)"),
            ([GOOD, [[1, 2], [3]]], "view 1 is not a rectangular table"),
        ],
    )
    def test_with_a_reason(self, Xs, message):
        with pytest.raises(ValueError, match=message):
            check_views(Xs)

    @pytest.mark.parametrize(
        ("X", "told"),
        [
            (None, "None"),
            (7, "of type int"),
            (True, "of type bool"),
            ("views.csv", "of type str"),
            (b"views", "of type bytes"),
            ({1, 2}, "of type set"),
            (object(), "of type object"),
            ((X for X in [GOOD]), "of type generator"),
            (iter([GOOD]), "of type list_iterator"),
            (zip([GOOD], [GOOD], strict=True), "of type zip"),
            ({"a": GOOD}.values(), "of type dict_values"),
        ],
    )
    def test_what_is_no_data_at_all(self, X, told):
        unread = told.split()[-1] in (
            "generator",
            "list_iterator",
            "zip",
            "dict_values",
        )
        hint = r".* Make a list of it first: list\(...\)\.$" if unread else r".*\.$"
        with pytest.raises(TypeError, match=f"^Xs is {told}. Give a list,{hint}"):
            check_views(X)
        if not isinstance(X, int):  # of numbers an array can be made
            with pytest.raises(
                TypeError, match=f"^view 0 is {told}. A view is a{hint}"
            ):
                check_views([X, X])
        with pytest.raises(TypeError, match=f"^view 'a' is {told}. A view is a{hint}"):
            check_views({"a": X})
        model = PAVuC(2, max_iter=1, tol=9, n_init=1, random_state=0).fit([GOOD, GOOD])
        with pytest.raises(TypeError, match=f"^X is {told}. A view is a{hint}"):
            model.predict(X)

    def test_new_rows_of_many_axes(self):
        model = PAVuC(2, max_iter=1, tol=9, n_init=1, random_state=0).fit([GOOD, GOOD])
        with pytest.raises(
            ValueError, match=r"^X is a 3-D array of shape .* columns.$"
        ):
            model.predict(GOOD[None])

    @pytest.mark.parametrize("part", ["indices", "indptr"])
    def test_a_damaged_sparse_matrix(self, part):
        """Compiled code would read what is not there."""
        X = sparse.csr_array(GOOD)
        getattr(X, part)[1] = 10**6
        with pytest.raises(ValueError, match="view 0 is a damaged sparse matrix"):
            check_views([X])

    def test_unequal_row_counts(self):
        with pytest.raises(
            ValueError,
            match=r"PAVuC .*view 0: 4, view 1: 3. Keep 3 rows .*accepts unequal counts",
        ):
            PAVuC(2).fit([GOOD, GOOD[:3]])

    def test_sparse_views_where_columns_must_be_centred(self):
        with pytest.raises(TypeError, match=r"view 'b' is a sparse matrix.*toarray"):
            check_views({"a": GOOD, "b": sparse.csr_array(GOOD)}, accept_sparse=False)

    @pytest.mark.parametrize(
        ("view_sizes", "message"),
        [
            ([1, 1], r"adds up to 2 columns, but the array has 3"),
            ([0, 3], "must list the columns"),
            ([1.5, 1.5], "must list the columns"),
            ([[1, 2]], "must list the columns"),
        ],
    )
    def test_view_sizes_that_do_not_fit(self, view_sizes, message):
        with pytest.raises(ValueError, match=message):
            check_views(GOOD, view_sizes=view_sizes)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ([0, 1, 10**400], "beyond float64. Measure it in larger units"),
            (np.full(3, "2020-01-01", dtype="M8[s]"), "datetime64.* not a number"),
        ],
    )
    def test_new_rows_of_an_only_view(self, row, message):
        model = PAVuC(2, max_iter=1, tol=9, n_init=1, random_state=0).fit(GOOD)
        with pytest.raises(ValueError, match=message):
            model.predict(np.array([row]))

    def test_view_sizes_beside_a_list(self):
        with pytest.raises(ValueError, match="already holds 2 views"):
            check_views([GOOD, GOOD], view_sizes=[3, 3])


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 5)),
        elements=st.sampled_from([0.0, 1.0, np.nan, np.inf, -np.inf]),
    )
)
def test_the_count_of_bad_values_is_right(X):
    bad = ~np.isfinite(X)
    if not bad.any():
        check_views([X])
        return
    row, column = np.argwhere(bad)[0]
    message = (
        f"{np.isnan(X).sum()} NaN and {np.isinf(X).sum()} infinite .*"
        f"first at row {row}, column {column}"
    )
    for view in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match=message):
            check_views([view])
