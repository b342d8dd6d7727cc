"""The doors, on everything that could be brought to them.

What was generated is known to be sound or not, by how it was made: sound views come
through with their numbers, all others are turned away with a ValueError or TypeError.
"""

import datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from unaligned import PAVuC
from unaligned.known_pairs import check_aligned
from unaligned.matrices import ROOM_FOR_SUMS
from unaligned.views import Views, check_new_rows, check_views

# Sound numbers of every type, as they are to come through: small, and exact in each.
TYPES = ["f8", "f4", "f2", "i8", "i4", "u1", "u8", "?", ">f8", ">f4", ">i2", "O", "g"]
FORMS = ["array", "list", "tuples", "frame", "csr", "csc", "coo", "lil", "dok", "bsr"]
FORMS += ["fortran", "backwards", "read-only", "masked array"]
# Entries that no view may have.
BAD_FLOATS = [np.nan, np.inf, -np.inf, 1e308, -1e200, 5e153]
BAD_OBJECTS = [None, "text", "", b"x", [1], {}, 1j, 10**400, Decimal("nan")]
BAD_OBJECTS += [datetime.date(2020, 1, 1), object(), float("nan")]


def dressed(X, form):
    """The same numbers in another form."""
    if form in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        native = X.astype(float) if X.dtype.kind in "Og" or X.dtype == "f2" else X
        native = native.astype(native.dtype.newbyteorder("="))
        return getattr(sparse, f"{form}_array")(native)
    if form == "list":
        return X.tolist()
    if form == "tuples":
        return tuple(map(tuple, X.tolist()))
    if form == "frame":
        pd = pytest.importorskip("pandas", reason="needs the extra 'io'")
        native = X if X.dtype.kind == "O" else X.astype(X.dtype.newbyteorder("="))
        return pd.DataFrame(native if X.dtype.kind != "g" else X.astype(float))
    if form == "fortran":
        return np.asfortranarray(X)
    if form == "backwards":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if form == "read-only":
        X = X.copy()
        X.flags.writeable = False
    if form == "masked array":
        return np.ma.masked_array(X)
    return X


@st.composite
def sound_numbers(draw, n=None):
    n = n or draw(st.integers(1, 6))
    d = draw(st.integers(1, 4))
    numbers = draw(st.lists(st.integers(0, 9), min_size=n * d, max_size=n * d))
    return np.reshape(numbers, (n, d)).astype(draw(st.sampled_from(TYPES)))


@st.composite
def spoilt_view(draw, n):
    """A view that must be turned away."""
    X = draw(sound_numbers(n))
    at = draw(st.integers(0, X.size - 1))
    match draw(st.sampled_from(["float", "object", "mask", "sparse", "shape", "kind"])):
        case "float":
            X = X.astype(float)
            X.flat[at] = draw(st.sampled_from(BAD_FLOATS))
            form = draw(st.sampled_from(["array", "list", "frame", "fortran"]))
            return dressed(X, form)
        case "object":
            X = X.astype(object)
            X[at // X.shape[1], at % X.shape[1]] = draw(st.sampled_from(BAD_OBJECTS))
            return X
        case "mask":
            mask = np.zeros(X.shape, dtype=bool)
            mask.flat[at] = True
            return np.ma.masked_array(X.astype(float), mask)
        case "sparse":
            X = X.astype(float)
            X.flat[at] = draw(st.sampled_from(BAD_FLOATS))
            return dressed(X, draw(st.sampled_from(["csr", "csc", "coo", "dok"])))
        case "shape":
            return draw(
                st.sampled_from(
                    [
                        X[:0],
                        X[:, :0],
                        X[None],
                        [*X.tolist(), []],
                        sparse.csr_array((n, 0)),
                        sparse.csr_array((0, 3)),
                    ]
                )
            )
        case "kind":
            kind = draw(st.sampled_from(["U3", "S3", "M8[s]", "m8[s]", "c16", "V8"]))
            return X.astype("i8").astype(kind)


COLLECTIONS = {
    "list": list,
    "tuple": tuple,
    "dict": lambda Xs: {f"view {i}": X for i, X in enumerate(Xs)},
    "numbered": lambda Xs: dict(enumerate(Xs)),
}
collections = st.sampled_from(sorted(COLLECTIONS))


@settings(max_examples=300)
@given(data=st.data(), n_views=st.integers(1, 3), kind=collections)
def test_sound_views_come_through_with_their_numbers(data, n_views, kind):
    plain = [data.draw(sound_numbers()) for _ in range(n_views)]
    Xs = [dressed(X, data.draw(st.sampled_from(FORMS))) for X in plain]
    views = check_views(COLLECTIONS[kind](Xs))
    assert len({X.dtype for X in views.arrays}) == 1
    assert views.arrays[0].dtype in (np.float32, np.float64)
    for X, through in zip(plain, views.arrays, strict=True):
        dense = through.toarray() if sparse.issparse(through) else through
        assert dense.dtype.isnative
        np.testing.assert_array_equal(dense, X.astype(float))


@settings(max_examples=450)
@given(data=st.data(), n_views=st.integers(1, 3), kind=collections, n=st.integers(1, 5))
def test_one_spoilt_view_is_turned_away(data, n_views, kind, n):
    Xs = [data.draw(sound_numbers(n)) for _ in range(n_views)]
    at = data.draw(st.integers(0, n_views - 1))
    Xs[at] = data.draw(spoilt_view(n))
    with pytest.raises((ValueError, TypeError)) as caught:
        check_views(COLLECTIONS[kind](Xs))
    assert len(str(caught.value)) > 20


@settings(max_examples=120)
@given(data=st.data(), n=st.integers(1, 5), fitting=st.booleans())
def test_one_array_is_no_exception(data, n, fitting):
    estimator = PAVuC(1) if fitting else None
    X = data.draw(sound_numbers(n))
    sound = check_views(
        dressed(X, data.draw(st.sampled_from(FORMS))), estimator=estimator
    )
    dense = sound.arrays[0]
    dense = dense.toarray() if sparse.issparse(dense) else dense
    np.testing.assert_array_equal(dense, X.astype(float))
    spoilt = data.draw(spoilt_view(n))
    if getattr(spoilt, "dtype", np.dtype(float)).kind in "SU":
        return  # scikit-learn reads numbers in text
    with pytest.raises((ValueError, TypeError)):
        check_views(spoilt, estimator=estimator)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=4)
    | st.tuples(inner, inner)
    | st.dictionaries(st.integers() | st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=350)
@given(Xs=ANYTHING, sizes=ANYTHING)
def test_anything_at_all_is_views_or_is_not(Xs, sizes):
    try:
        views = check_views(Xs, view_sizes=sizes)
    except (ValueError, TypeError):
        return
    assert all(X.ndim == 2 and np.isfinite(X).all() for X in views.arrays)
    if sizes is not None:
        assert views.widths == list(sizes)


@settings(max_examples=350)
@given(
    aligned=ANYTHING
    | st.dictionaries(
        st.tuples(st.integers(-1, 2), st.integers(-1, 2))
        | st.tuples(st.text(), st.none()),
        st.lists(st.tuples(st.integers(-2, 6), st.integers(-2, 6)), max_size=4)
        | ANYTHING,
        max_size=3,
    ),
    n_rows=st.lists(st.integers(1, 5), min_size=1, max_size=3),
)
def test_known_pairs_are_one_to_one_or_refused(aligned, n_rows):
    views = Views([np.zeros((n, 1)) for n in n_rows], [*"abc"][: len(n_rows)])
    try:
        known = check_aligned(aligned, views)
    except (ValueError, TypeError):
        return
    assert [len(ids) for ids in known.identities] == n_rows
    for ids in known.identities:
        named = ids[ids >= 0]
        assert len(set(named)) == len(named)
    if isinstance(aligned, dict):
        for (i, j), pairs in aligned.items():
            i, j = ("abc".index(v) if isinstance(v, str) else v for v in (i, j))
            found = {
                (int(a), int(b)) for a, b in zip(*known.between(i, j), strict=True)
            }
            assert {(a, b) for a, b in pairs} <= found


@settings(max_examples=100)
@given(data=st.data(), n=st.integers(1, 5), view=ANYTHING)
def test_new_rows_are_checked_like_the_first(data, n, view):
    model = PAVuC(1)
    model.view_names_in_, model.n_features_per_view_ = ["a", "b"], [2, 3]
    X = data.draw(sound_numbers(n) | spoilt_view(n) | ANYTHING)
    view = data.draw(st.sampled_from(["a", "b", 0, 1, -1]) | st.just(view))
    try:
        rows, index = check_new_rows(X, estimator=model, view=view)
    except (ValueError, TypeError):
        return
    assert rows.shape[1] == [2, 3][index]
    assert np.isfinite(rows.data if sparse.issparse(rows) else rows).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"]
)
def test_numbers_may_be_as_large_as_their_squares_allow(dtype, make):
    n, d = 4, 3
    most = np.sqrt(float(np.finfo(dtype).max) / ROOM_FOR_SUMS / (n * d))
    below, above = dtype(0.99 * most), dtype(1.01 * most)
    check_views([make(np.full((n, d), -below))])
    with pytest.raises(ValueError, match=f"do not fit into {np.dtype(dtype).name}"):
        check_views([make(np.full((n, d), above))])


def test_masked_values_are_missing_values():
    X = np.ma.masked_greater(np.arange(6.0).reshape(3, 2), 4)
    with pytest.raises(ValueError, match=r"1 NaN .* row 2, column 1"):
        check_views([X, np.eye(3)])


def test_two_views_of_one_name_are_confused_by_nobody():
    with pytest.raises(ValueError, match="Two views are called '1'"):
        check_views({1: np.eye(2), "1": np.eye(2)})


def test_dates_are_no_numbers_even_alone():
    dates = np.array([["2020-01-01"], ["2021-01-01"]], dtype="M8[ns]")
    for Xs in (dates, [dates]):
        with pytest.raises(ValueError, match="which is not a number"):
            check_views(Xs)


def test_no_complaint_repeats_a_whole_document():
    X = np.array([["word " * 10_000, 1.0]], dtype=object)
    with pytest.raises(ValueError, match="'word word") as caught:
        check_views([X])
    assert len(str(caught.value)) < 500


def test_a_number_that_overflows_is_infinite_without_a_warning():
    with pytest.raises(ValueError, match="1 infinite"):
        check_views([np.array([[np.longdouble("1e4000"), 1]])])
