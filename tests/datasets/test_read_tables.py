"""Tables of text and Parquet files, against what pandas wrote into them."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unaligned.datasets import DataFileError, read_view, read_views
from unaligned.datasets.readers import contents, delimited

pa = pytest.importorskip("pyarrow", reason="needs the extra 'io'")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'io'")


@pytest.fixture
def csv(tmp_path):
    """A function that writes text into a file and reads it as a view."""

    def write_and_read(text, name="table.csv", **options):
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(content)
        return read_view(tmp_path / name, **options)

    return write_and_read


@pytest.fixture(params=["pyarrow", "numpy"])
def either(request, monkeypatch):
    """Both ways of reading text, with pyarrow and without."""
    if request.param == "numpy":
        monkeypatch.setattr(delimited, "has_pyarrow", lambda: False)
    return request.param


def test_header_ids_numbers_and_text(csv, either):
    view = csv('id,x,"y, z",kind\na,1,2.5,"u\nv"\nb,-3e2,4,w\n')
    np.testing.assert_array_equal(view.X, [[1, 2.5], [-300, 4]])
    assert view.name == "table"
    assert view.row_ids == ["a", "b"]
    assert view.feature_names == ["x", "y, z"]
    assert list(view.other_columns) == ["kind"]
    if either == "pyarrow":  # NumPy knows no line breaks in fields
        assert list(view.other_columns["kind"]) == ["u\nv", "w"]


def test_numbers_alone(csv, either):
    view = csv("1,2\n3,4\n5,6\n")
    np.testing.assert_array_equal(view.X, [[1, 2], [3, 4], [5, 6]])
    assert view.row_ids is view.feature_names is None


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("x,y\n1,2\n3,4\n", ["x", "y"]),
        ("a,1,2\nb,3,4\n", None),
        (",0,1\n0,1,2\n1,3,4\n", ["0", "1"]),  # pandas, columns without names
        ("0,1,2\n.5,.2,.1\n", ["0", "1", "2"]),
        ('"x" "y"\n"r1" 1 2\n"r2" 3 4\n', ["x", "y"]),  # R, write.table
        ("x,y\n1,2,\n3,4,\n", ["x", "y"]),  # a delimiter at the end of every line
        ("\n\nx,y\n\n1,2\n3,4\n", ["x", "y"]),
        ("x\n1\n2\n", ["x"]),
    ],
)
def test_header_is_detected(csv, text, features):
    assert csv(text).feature_names == features


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("id,x\n7,1\n007,2\n", ["7", "007"]),
        ("x,Sample ID\n1,a\n2,b\n", ["a", "b"]),
        ("patient_id,x\n1,5\n2,6\n", ["1", "2"]),
        ("name,x\nann,5\nbob,6\n", ["ann", "bob"]),
        ("name,x\nann,5\nann,6\n", None),  # text that occurs twice is no id
        ("x,y\n1,5\n2,6\n", None),
        ('"",x\nr1,5\nr2,6\n', ["r1", "r2"]),
        ("id,x\n=1+1,5\n@SUM(A1),6\n", ["=1+1", "@SUM(A1)"]),  # text, as it stands
    ],
)
def test_ids_are_detected(csv, text, ids):
    assert csv(text).row_ids == ids


def test_ids_can_be_named_or_denied(csv):
    text = "id,x,y\na,1,2\nb,3,4\n"
    assert csv(text, id_column="y").row_ids == ["2", "4"]
    assert csv(text, id_column=1).row_ids == ["1", "3"]
    assert csv(text, id_column=0).row_ids == ["a", "b"]
    view = csv(text, id_column=False)
    assert view.row_ids is None
    assert list(view.other_columns["id"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("x;y\n1,5;2\n3,25;4\n", "t.csv"),
        ("x\ty\n1.5\t2\n3.25\t4\n", "t.tsv"),
        ("x|y\n1.5|2\n3.25|4\n", "t.txt"),
        ("x y\n1.5 2\n3.25 4\n", "t.txt"),
        ("x,y\r\n1.5,2\r\n3.25,4\r\n", "t.csv"),
        ("\ufeffx,y\n1.5,2\n3.25,4\n", "t.csv"),
        (gzip.compress(b"x,y\n1.5,2\n3.25,4\n"), "t.csv.gz"),
    ],
    # Named, since what gzip writes tells the time.
    ids=["decimal commas", "tabs", "bars", "blanks", "CRLF", "mark", "gzip"],
)
def test_layouts(csv, content, name):
    view = csv(content, name)
    np.testing.assert_array_equal(view.X, [[1.5, 2], [3.25, 4]])
    assert view.feature_names == ["x", "y"]
    assert view.name == "t"


def test_missing_values_are_nan_and_true_is_one(csv):
    view = csv("x,y,b\n1,NA,True\n,3,false\nnan, N/A,\ninf,-1,TRUE\n")
    nan = np.nan
    expected = [[1, nan, 1], [nan, 3, 0], [nan, nan, nan], [np.inf, -1, 1]]
    np.testing.assert_array_equal(view.X, expected)


def test_encodings(csv):
    assert csv("id,x\nä,1\n".encode("latin-1"), encoding="latin-1").row_ids == ["ä"]
    assert csv("id,x\nä,1\n".encode("utf-16"), encoding="utf-16").row_ids == ["ä"]
    with pytest.raises(DataFileError, match="encoding='utf-16'"):
        csv("id,x\nä,1\n".encode("utf-16"))


def test_excluded_columns_are_kept_aside(csv):
    view = csv("x,y,z\n1,2,3\n4,5,6\n", exclude=["y"])
    np.testing.assert_array_equal(view.X, [[1, 3], [4, 6]])
    assert list(view.other_columns["y"]) == ["2", "5"]


def test_a_column_to_exclude_need_not_be_in_every_file(tmp_path):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("x,age\n1,2\n4,5\n")
    other.write_text("u,v\n1,2\n4,5\n")
    data = read_views([one, other], exclude=["age"])
    assert data.feature_names == [["x"], ["u", "v"]]
    with pytest.raises(DataFileError, match=r"one.csv, .*'agge'.*'v', 'age'"):
        read_views([one, other], exclude=["age", "agge"])


def test_single_precision(csv):
    assert csv("x,y\n0.1,2\n", dtype=np.float32).X.dtype == np.float32
    with pytest.raises(ValueError, match="float32, float64 or None"):
        csv("x,y\n0.1,2\n", dtype=int)


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("", {}, "no rows"),
        ("\n\n", {}, "no rows"),
        ("x,y\n", {}, "no rows"),
        ("a,b\nc,d\n", {}, "no column of numbers in it (columns: 'a', 'b')"),
        ("id,x\na,1\na,2\n", {}, "rows 0 and 1 have the same id 'a'"),
        ("id,x\na,1\n,2\n", {}, "row 1 has no id"),
        ("x,y\n1,2\n3\n5,6\n", {}, "line 3 should have 2 fields and has 1"),
        ("x,y\n1,2\n3,o\n5,6\n7,8\n", {}, "line 3, column 'y' holds 'o'"),
        ("x,y\n" + "1,2\n" * 999 + "u,2\n", {}, "line 1001, column 'x' holds 'u'"),
        ("x,y\n1,2\n", {"id_column": "z"}, "no column 'z'; the columns are 'x', 'y'"),
        ("x,y\n1,2\n", {"id_column": 7}, "no column 7"),
        ("x,y\n1,2\n", {"exclude": ["z"]}, "no column 'z'"),
        ("x,y\n1,2\n", {"encoding": "klingon"}, "no encoding is called 'klingon'"),
        ("x,y\n1,2\n", {"delimiter": "::"}, "must be one character"),
        (b"x,y\n\xe9,1\n", {}, "encoding='latin-1'"),
        (b"id,x\n" + b"a%d,1\n" % 0 * 1 + b"x\0y,1\n", {}, "NUL"),
        (b"\x1f\x8bnot really", {}, "cannot be read as a table of text"),
    ],
)
def test_complaints_name_file_place_and_way_out(csv, text, options, complaint):
    with pytest.raises(DataFileError, match=r"table\.csv") as error:
        csv(text, **options)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_bad_text_after_the_sample_is_still_a_complaint(csv):
    text = "id,x\n" + "".join(f"a{i},1\n" for i in range(200_000))
    with pytest.raises(DataFileError, match=r"encoding='latin-1'"):
        csv(text.encode() + b"\xe9,1\n")


def test_columns_of_one_name_are_numbered(csv):
    view = csv("name,x,kind,x,kind\na,1,u,2,v\nb,3,u,4,w\n")
    assert view.feature_names == ["x", "x.1"]
    assert {name: list(of) for name, of in view.other_columns.items()} == {
        "kind": ["u", "u"],
        "kind.1": ["v", "w"],
    }


def test_gaps_need_pyarrow(csv, monkeypatch):
    monkeypatch.setattr(delimited, "has_pyarrow", lambda: False)
    with pytest.raises(DataFileError, match=r"[^.]\. Missing.*unaligned\[io\]"):
        csv("x,y\n1,2\n,3\n")


def test_a_packed_bomb_is_refused(csv, monkeypatch):
    monkeypatch.setattr(contents, "available_bytes", lambda: 64e6)
    bomb = gzip.compress(b"x,y\n" + b"0,0\n" * 20_000_000)
    assert len(bomb) < 200_000
    with pytest.raises(DataFileError, match="GB of memory are free"):
        csv(bomb, "bomb.csv.gz")


def test_long_lines_and_many_blocks(csv, monkeypatch):
    monkeypatch.setattr(delimited, "PIECE", 4096)
    monkeypatch.setattr(delimited, "BLOCK", 1000)
    X = np.random.RandomState(0).normal(size=(700, 30))
    text = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    np.testing.assert_array_equal(csv(text).X, X)


NAMES = st.text("abcdefgh,; \"'=+-@é\n", min_size=1, max_size=6)


@given(
    n_rows=st.integers(2, 30),
    n_columns=st.integers(1, 5),
    seed=st.integers(0, 2**31),
    names=st.lists(NAMES, min_size=30, max_size=30, unique=True),
)
def test_what_pandas_writes_comes_back(
    tmp_path_factory, n_rows, n_columns, seed, names
):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n_rows, n_columns)) * 10.0 ** rng.randint(-20, 20, n_columns)
    X[rng.random_sample(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(n_columns)])
    frame.insert(0, "id", names[:n_rows])
    folder = tmp_path_factory.mktemp("pandas")
    frame.to_csv(folder / "table.csv", index=False)
    frame.to_parquet(folder / "table.parquet")
    for suffix in ("csv", "parquet"):
        view = read_view(folder / f"table.{suffix}")
        np.testing.assert_array_equal(view.X, X)
        assert view.row_ids == names[:n_rows]
        assert view.feature_names == list(frame.columns[1:])


# Parquet


def test_parquet_with_the_index_of_pandas(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2], "b": [True, False], "t": ["u", None]})
    frame.index = ["r1", "r2"]
    frame.to_parquet(tmp_path / "t.parquet")
    view = read_view(tmp_path / "t.parquet")
    np.testing.assert_array_equal(view.X, [[1, 1], [2, 0]])
    assert view.row_ids == ["r1", "r2"]
    assert list(view.other_columns["t"]) == ["u", None]


def test_parquet_with_vectors_dates_and_gaps(tmp_path):
    vectors = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.float32()))
    fixed = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.float32(), 2))
    table = pa.table(
        {
            "id": [5, 6, 7],
            "v": vectors,
            "w": fixed,
            "x": pa.array([1, 2, None], pa.float32()),
            "day": pa.array([0, 1, 2], pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "t.pq")
    view = read_view(tmp_path / "t.pq")
    expected = [[1, 2, 1, 2, 1], [3, 4, 3, 4, 2], [5, 6, 5, 6, np.nan]]
    np.testing.assert_array_equal(view.X, expected)
    assert view.X.dtype == np.float32
    assert view.feature_names == ["v[0]", "v[1]", "w[0]", "w[1]", "x"]
    assert view.row_ids == ["5", "6", "7"]
    assert list(view.other_columns["day"]) == ["1970-01-01", "1970-01-02", "1970-01-03"]


def test_parquet_in_many_blocks(tmp_path):
    X = np.random.RandomState(0).normal(size=(3000, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["n"] = np.arange(3000)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=700)
    view = read_view(tmp_path / "t.parquet")
    np.testing.assert_array_equal(view.X, frame.to_numpy())


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"v": [[1, 2], [3]]}, "lists of different length, 1 to 2"),
        ({"t": ["a", "b"]}, "no column of numbers"),
        ({"x": pa.array([], pa.float64())}, "declares 0 rows and holds none"),
        ({"id": ["a", "a"], "x": [1, 2]}, "have the same id"),
    ],
)
def test_parquet_complaints(tmp_path, columns, complaint):
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(DataFileError, match=complaint):
        read_view(tmp_path / "t.parquet")


def test_a_parquet_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "available_bytes", lambda: 64e6)
    ones = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, "i1")), [1.0])
    pq.write_table(pa.table({"x": ones.cast(pa.float64())}), tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 200_000
    with pytest.raises(DataFileError, match=r"20000000 rows would take 0\.16 GB"):
        read_view(tmp_path / "t.parquet")


# Several files


def test_views_of_several_files(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\nu,1\nv,2\nw,3\n")
    (tmp_path / "b.csv").write_text("y\n4\n5\n")
    pd.DataFrame({"id": ["w", "u"], "z": [6, 7]}).to_parquet(tmp_path / "c.parquet")
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.parquet")]
    data = read_views(paths)
    assert data.view_names == ["a", "b", "c"]
    assert data.row_ids == [["u", "v", "w"], ["0", "1"], ["w", "u"]]
    assert data.has_ids == [True, False, True]
    assert data.aligned is None
    assert data.paths == paths
    matched = read_views(paths, match_ids=True)
    assert list(matched.aligned) == [(0, 2)]
    assert matched.aligned[0, 2].tolist() == [[0, 1], [2, 0]]


def test_known_pairs_pass_the_door(tmp_path):
    from unaligned.known_pairs import check_aligned
    from unaligned.views import check_views

    (tmp_path / "a.csv").write_text("id,x\nu,1\nv,2\n")
    (tmp_path / "b.csv").write_text("id,x\nv,1\nq,2\n")
    data = read_views([tmp_path / "a.csv", tmp_path / "b.csv"], match_ids=True)
    known = check_aligned(data.aligned, check_views(data.Xs))
    rows = known.between(0, 1)
    assert [list(r) for r in rows] == [[1], [0]]


def test_views_have_different_names(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "data.csv").write_text("x\n1\n2\n")
        np.savez(tmp_path / folder / "many.npz", view0=np.eye(2), view1=np.eye(2))
    files = [tmp_path / f / n for f in ("one", "two") for n in ("data.csv", "many.npz")]
    names = read_views(files).view_names
    assert len(set(names)) == 6
    assert names[:3] == ["data", "many:view0", "many:view1"]


@pytest.mark.parametrize("name", ["x.xlsx", "x", "x.gz", "x.npy.gz"])
def test_unknown_suffixes_are_named_with_the_known(tmp_path, name):
    (tmp_path / name).write_text("?")
    with pytest.raises(DataFileError, match=r"not known; save it as .csv"):
        read_views(tmp_path / name)


def test_content_that_contradicts_the_suffix_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(2))
    (tmp_path / "a.npy").rename(tmp_path / "a.csv")
    with pytest.raises(
        DataFileError, match="named as a table of text but holds a NumPy"
    ):
        read_view(tmp_path / "a.csv")


def test_the_file_systems_own_errors_stay(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_view(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError):
        read_view(tmp_path / "folder.csv")
    with pytest.raises(DataFileError, match="No file is named"):
        read_views([])


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "t.parquet")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install 'unaligned\[io\]'"):
        read_view(tmp_path / "t.parquet")


def test_ids_that_unpack_to_gigabytes(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("id,x\n")
        for i in range(300):
            file.write(f"{i}{'a' * 100_000},{i}\n")  # 30 MB in 150 kB
    monkeypatch.setattr(contents, "MOST_TEXT", 1 << 20)
    with pytest.raises(DataFileError, match="ids and texts unpack to more than"):
        read_view(path)


def test_a_long_word_beside_nothing_is_kept_once(tmp_path):
    words = [None, *["a" * 10_000] * 999, "b"]
    table = pa.table({"word": words, "x": np.arange(1001.0)})
    pq.write_table(table, tmp_path / "a.parquet")
    found = read_view(tmp_path / "a.parquet").other_columns["word"]
    assert found.tolist() == words
    assert len({id(word) for word in found}) == 3


@pytest.mark.parametrize("gap", ["", "NA", "?", ".", "-", "--", "null"])
def test_signs_for_missing_values(tmp_path, gap):
    path = tmp_path / "a.csv"
    path.write_text(f"u,v\n1,2\n{gap},4\n5,-6\n")
    np.testing.assert_array_equal(read_view(path).X, [[1, 2], [np.nan, 4], [5, -6]])
