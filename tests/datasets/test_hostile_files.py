"""Files damaged in thousands of ways: each is read, or refused with a reason.

``UNALIGNED_FUZZ_CASES`` sets the number of cases for each format, for longer runs.
"""

import gzip
import inspect
import os
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from unaligned.datasets import DataFileError, load, read_views
from unaligned.datasets.readers import delimited, hdf5, hdf5_worker

CASES = int(os.environ.get("UNALIGNED_FUZZ_CASES", "700"))


def damage(content, seed):
    """Damage a file: cut it short, change bytes, or put stretches in other places."""
    chance = random.Random(seed)
    changed = bytearray(content)
    way = chance.choice(
        ["cut", "bits", "bytes", "extremes", "remove", "repeat", "move"]
    )
    if way == "cut":
        return bytes(changed[: chance.randrange(len(changed))])
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        at = chance.randrange(len(changed))
        length = chance.choice([1, 2, 4, 8, 40])
        stretch = changed[at : at + length]
        if way == "bits":
            changed[at] ^= 1 << chance.randrange(8)
        elif way == "bytes":
            changed[at] = chance.randrange(256)
        elif way == "extremes":
            changed[at : at + length] = chance.choice(b"\0\x7f\xff").to_bytes() * length
        elif way == "remove" and len(changed) > 2 * length:
            del changed[at : at + length]
        elif way == "repeat":
            changed[at:at] = stretch * chance.choice([1, 1, 2, 100])
        elif way == "move":
            to = chance.randrange(len(changed))
            changed[to : to + len(stretch)] = stretch
    return bytes(changed)


def table(n=25):
    rows = (f"r{i},{i * 0.5},{-i},kind {i % 3},{i % 2 == 0}\n" for i in range(n))
    return "id,x,y,kind,flag\n" + "".join(rows)


def write_csv(path):
    path.write_text(table())


def write_packed_csv(path):
    path.write_bytes(gzip.compress(table().encode()))


def write_numbers(path):
    np.savetxt(path, np.random.RandomState(0).normal(size=(20, 4)), delimiter="\t")


def write_npy(path):
    np.save(path, np.random.RandomState(0).normal(size=(5, 3)))


def house_form():
    X = sparse.random_array((5, 7), density=0.4, format="csr", rng=0)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    return {
        "view0": np.random.RandomState(0).normal(size=(5, 3)),
        **{f"view1_{name}": part for name, part in parts.items()},
        "view1_shape": np.array(X.shape),
        "y": np.arange(5),
        "view_names": np.array(["image", "text"]),
    }


def write_npz(path):
    np.savez(path, **house_form())


def write_packed_npz(path):
    np.savez_compressed(path, **house_form())


def write_sparse_npz(path):
    X = sparse.random_array((5, 7), density=0.4, format="csc", rng=0)
    sparse.save_npz(path, X, compressed=False)


def matlab_variables():
    cell = np.empty((1, 2), dtype=object)
    cell[0, 0] = np.random.RandomState(0).normal(size=(5, 3))
    cell[0, 1] = sparse.random(5, 4, density=0.5, format="csc")
    names = {"a": 1.0, "b": "text"}
    return {"X": cell, "Y": np.arange(5.0)[:, None], "set": names, "t": "words"}


def write_matlab(path):
    savemat(path, matlab_variables())


def write_packed_matlab(path):
    savemat(path, matlab_variables(), do_compression=True)


def write_parquet(path):
    pa = pytest.importorskip("pyarrow", reason="needs the extra 'io'")
    from pyarrow import parquet

    columns = {
        "id": [f"r{i}" for i in range(20)],
        "x": np.random.RandomState(0).normal(size=20),
        "n": [None, *range(19)],
        "v": pa.array([[i, 2 * i] for i in range(20)], pa.list_(pa.float32())),
        "kind": [f"kind {i % 3}" for i in range(20)],
    }
    parquet.write_table(pa.table(columns), path)


WRITERS = {
    "csv": (write_csv, "a.csv"),
    "csv.gz": (write_packed_csv, "a.csv.gz"),
    "tsv": (write_numbers, "a.tsv"),
    "npy": (write_npy, "a.npy"),
    "npz": (write_npz, "a.npz"),
    "packed npz": (write_packed_npz, "a.npz"),
    "sparse npz": (write_sparse_npz, "a.npz"),
    "mat": (write_matlab, "a.mat"),
    "packed mat": (write_packed_matlab, "a.mat"),
    "parquet": (write_parquet, "a.parquet"),
}


def outcome(path):
    """Read a file; say whether that worked, having checked what came of it."""
    try:
        data = read_views(path)
    except DataFileError as error:
        return "refused" if path.name in str(error) else str(error)
    for X, ids, features, others in zip(
        data.Xs, data.row_ids, data.feature_names, data.other_columns, strict=True
    ):
        assert X.ndim == 2
        assert X.dtype.kind in "biufc"
        assert len(ids) == len(set(ids)) == X.shape[0]
        assert features is None or len(features) == X.shape[1]
        assert all(len(column) == X.shape[0] for column in others.values())
        X.sum()  # touches every number
    return "read"


def damaged_files(tmp_path, writer, name):
    sound, path = tmp_path / f"sound {name}", tmp_path / name
    writer(sound)
    content = sound.read_bytes()
    path.write_bytes(content)
    assert outcome(path) == "read"
    for seed in range(CASES):
        path.unlink()  # writing over a file is slower
        path.write_bytes(damage(content, seed))
        yield path


@pytest.mark.filterwarnings("ignore")  # of NumPy, about numbers out of range
@pytest.mark.parametrize("kind", WRITERS)
def test_damaged_files_are_read_or_refused(tmp_path, kind):
    results = Counter(map(outcome, damaged_files(tmp_path, *WRITERS[kind])))
    assert results["refused"] > CASES / 10
    assert results["refused"] + results["read"] == CASES


@pytest.mark.filterwarnings("ignore")
def test_damaged_tables_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "has_pyarrow", lambda: False)
    results = Counter(map(outcome, damaged_files(tmp_path, write_numbers, "a.tsv")))
    assert results["refused"] + results["read"] == CASES


def test_any_bytes_at_all(tmp_path):
    from unaligned.datasets._read import READERS

    chance = random.Random(0)
    for suffix in READERS:
        if suffix in (".h5ad", ".h5mu"):
            continue  # a process each
        for _ in range(CASES // 10):
            path = tmp_path / f"a{suffix}"
            path.write_bytes(chance.randbytes(chance.choice([0, 1, 10, 300])))
            assert outcome(path) in ("read", "refused")


def test_load_refuses_likewise(tmp_path):
    write_npz(tmp_path / "a.npz")
    content = (tmp_path / "a.npz").read_bytes()
    for seed in range(CASES // 3):
        (tmp_path / "a.npz").write_bytes(damage(content, seed))
        try:
            data = load("a", tmp_path)
        except DataFileError:
            continue
        assert all(X.ndim == 2 for X in data.Xs)


# HDF5 can crash; what it does is watched from outside

DRIVER = """
import importlib.util, io, random, sys
spec = importlib.util.spec_from_file_location("worker", sys.argv[1])
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
worker.limit_process(1e9)
exec(open(sys.argv[2]).read())
kind, path, start, end = sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
content = open(path, "rb").read()
for seed in range(start, end):
    with open(path + ".damaged", "wb") as file:
        file.write(damage(content, seed))
    sys.stdout = io.TextIOWrapper(io.BytesIO())
    reason = worker.main(kind, path + ".damaged", "", "1e9", "0.5")
    sys.stdout = sys.__stdout__
    print("refused" if reason else "read", flush=True)
"""


def write_modality(modality, text):
    X = np.random.RandomState(0).normal(size=(6, 3))
    modality.create_dataset("X", data=X, chunks=(2, 3), compression="gzip")
    for frame, names in {"obs": list("abcdef"), "var": list("xyz")}.items():
        group = modality.create_group(frame)
        group.attrs["_index"] = "_index"
        group.attrs["column-order"] = np.array([], dtype=text)
        group["_index"] = np.array(names, dtype=text)


def write_h5ad(path):
    h5py = pytest.importorskip("h5py", reason="needs the extra 'io'")
    with h5py.File(path, "w") as file:
        write_modality(file, h5py.string_dtype())


def write_h5mu(path):
    h5py = pytest.importorskip("h5py", reason="needs the extra 'io'")
    with h5py.File(path, "w") as file:
        for name in ("rna", "atac"):
            write_modality(file.create_group(f"mod/{name}"), h5py.string_dtype())


def write_matlab73(path):
    h5py = pytest.importorskip("h5py", reason="needs the extra 'io'")
    with h5py.File(path, "w") as file:
        cell = file.create_dataset("X", (2, 1), dtype=h5py.ref_dtype)
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        for i in range(2):
            file[f"#refs#/v{i}"] = np.random.RandomState(i).normal(size=(3, 6))
            cell[i, 0] = file[f"#refs#/v{i}"].ref


@pytest.mark.parametrize(
    ("writer", "kind", "name"),
    [(write_h5ad, "anndata", "a.h5ad"), (write_matlab73, "matlab", "a.mat")],
)
def test_damaged_hdf5(tmp_path, monkeypatch, writer, kind, name):
    cases = CASES // 3
    path = tmp_path / name
    writer(path)
    content = path.read_bytes()
    (tmp_path / "damage.py").write_text("import random\n" + inspect.getsource(damage))
    results, fatal = Counter(), []
    while results.total() < cases:
        arguments = [hdf5_worker.__file__, tmp_path / "damage.py", kind, path]
        arguments += [results.total(), cases]
        run = subprocess.run(
            [sys.executable, "-P", "-c", DRIVER, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
        )
        results.update(run.stdout.split())
        if results.total() < cases:  # a crash, or no end
            assert "Traceback" not in run.stderr, run.stderr
            fatal.append(results.total())
            results["fatal"] += 1
    assert results["refused"] > cases / 10
    assert results["fatal"] < cases / 10
    monkeypatch.setattr(hdf5, "PATIENCE", 2.0)
    for seed in fatal[:3] + list(range(3)):  # the way users go
        path.write_bytes(damage(content, seed))
        assert outcome(path) == "refused" or seed not in fatal
