"""``unaligned cluster``, as people call it."""

import errno
import json
import os
import signal
import subprocess
import sys
import unicodedata
import warnings
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import unaligned
from tests.cli.file_views import (
    left_behind,
    noise,
    read_csv,
    run,
    shuffled_digits,
    summary_of,
    write_csv,
)
from tests.conftest import ROOT, heed_ctrl_c
from unaligned import PAVuC, SAVuC, prepare
from unaligned.cli import _command, _outputs
from unaligned.cli._outputs import spreadsheet_cell
from unaligned.cli._session import session
from unaligned.datasets import read_views

FAST = ("--method", "LMVSC", "-k", 3, "--no-report")


@pytest.fixture
def files(tmp_path, blobs):
    """Three tables whose rows have ids of their own."""
    return [
        write_csv(tmp_path / f"{name}.csv", X, [f"{name}{row}" for row in range(60)])
        for name, X in zip("abc", blobs[0], strict=True)
    ]


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """One run of the default method on unequal views, with a report."""
    folder = tmp_path_factory.mktemp("digits")
    Xs, orders, ys = shuffled_digits()
    files = [
        write_csv(folder / "pixels.csv", Xs[0], [f"p{o}" for o in orders[0]]),
        write_csv(folder / "profiles.csv", Xs[1], digit=ys[1]),
    ]
    options = ["-k", 10, "--effort", "quick", "--label-column", "digit", "--json"]
    result = run("cluster", *files, *options, "-o", folder / "out")
    assert result.exit_code == 0, result.output
    return folder / "out", result, orders


def test_labels_are_those_of_the_estimator_under_the_users_ids(digits):
    out, _, orders = digits
    Xs = shuffled_digits()[0]
    model = SAVuC(10, effort="quick", random_state=0)
    frames = {"pixels": Xs[0], "profiles": Xs[1]}
    model.fit({name: prepare(pd.DataFrame(X)) for name, X in frames.items()})
    assert summary_of(out)["best_view"] == model.view_names_in_[model.best_view_]
    names = [[f"p{o}" for o in orders[0]], [str(row) for row in range(280)]]
    for i, name in enumerate(("pixels", "profiles")):
        lines = read_csv(out / f"labels_{name}.csv")
        assert [line["id"] for line in lines] == names[i]
        assert [int(line["row"]) for line in lines] == list(range(len(names[i])))
        found = [int(line["cluster"]) for line in lines]
        # Arrays lie differently in memory, and rounding may change names.
        assert adjusted_rand_score(found, model.view_labels_[i]) == 1
    saved = unaligned.load(out / "clusters.model")
    np.testing.assert_array_equal(found, saved.view_labels_[1])
    assert saved.verbose == 0


def test_matches_name_the_same_objects(digits):
    out, _, orders = digits
    lines = read_csv(out / "matches.csv")
    assert len(lines) == 280
    right = [line["template_id"] == f"p{orders[1][int(line['row'])]}" for line in lines]
    assert np.mean(right) > 0.9
    found = unaligned.load(out / "clusters.model").alignment_
    at = [int(line["template_row"]) for line in lines]
    sure = [float(line["confidence"]) for line in lines]
    np.testing.assert_allclose(sure, found.confidence[1][at], rtol=1e-5)
    assert {line["trust"] for line in lines} == {
        f"{summary_of(out)['views'][1]['trust']:.6g}"
    }
    labels = {
        line["row"]: line["cluster"] for line in read_csv(out / "labels_pixels.csv")
    }
    assert all(
        line["template_cluster"] == labels[line["template_row"]] for line in lines
    )


def test_json_is_the_summary_and_nothing_else(digits):
    out, result, _ = digits
    summary = json.loads(result.stdout)
    assert summary == summary_of(out)
    assert summary["method"] == "SAVuC"
    assert summary["n_clusters"] == 10
    assert [view["rows"] for view in summary["views"]] == [300, 280]
    assert [view["has_ids"] for view in summary["views"]] == [True, False]
    constant = int((np.ptp(shuffled_digits()[0][0], axis=0) == 0).sum())
    features = [view["features"] for view in summary["views"]]
    assert features == [64 - constant, 48]  # no "digit"
    assert all(view["shares_clusters"] for view in summary["views"])
    assert set(summary["files"]) == {path.name for path in out.iterdir()}
    assert "Reading 2 files" in result.stderr


def test_report_shows_ids_and_the_column_asked_for(digits):
    page = (digits[0] / "report.html").read_text(encoding="utf-8")
    assert "pixels" in page
    assert "digit" in page
    assert "Content-Security-Policy" in page


def test_says_what_was_found_and_where_it_lies(files, tmp_path):
    result = run("cluster", *files, "--method", "pavuc", "-k", 3, "-o", tmp_path / "o")
    assert result.exit_code == 0, result.output
    assert "Do not rely on the matches." in result.stdout
    assert "as chance" in result.stdout
    for name in ("report.html", "labels_*.csv", "matches.csv", "clusters.model"):
        assert name in result.stdout
    summary = summary_of(tmp_path / "o")
    assert summary["level"] == "none"
    assert summary["suspects"] == 0
    assert summary["best_view"] is None  # which PAVuC does not know
    others = [v for v in summary["views"] if v["name"] != summary["template"]]
    assert {(v["verdict"], v["trust"], v["known"]) for v in others} == {
        ("untested", None, 0)
    }
    assert {line["trust"] for line in read_csv(tmp_path / "o" / "matches.csv")} == {""}
    assert "Fitting PAVuC" in result.stderr
    assert "PAVuC" not in result.stderr.replace("Fitting PAVuC", "")


def test_the_command_of_the_readme_makes_a_report(tmp_path, blobs, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, X in zip(("blood", "xray"), blobs[0], strict=False):
        write_csv(tmp_path / f"{name}.csv", X, [f"{name}-{row}" for row in range(60)])
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (command,) = (line for line in lines if line.startswith("unaligned cluster"))
    result = run(*command.split()[1:])
    assert result.exit_code == 0, result.output
    opened = next(line for line in lines if line.startswith("xdg-open")).split()[1]
    assert "blood-59" in (tmp_path / opened).read_text(encoding="utf-8")


def test_quiet_prints_nothing(files, tmp_path):
    result = run("cluster", *files, *FAST, "--quiet", "-o", tmp_path / "out")
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "out" / "summary.json").exists()


def test_paper_method_gets_centred_columns_and_the_means_are_kept(tmp_path, blobs):
    Xs = {name: X + 50 for name, X in zip("abc", blobs[0], strict=True)}
    for name, X in Xs.items():
        np.save(tmp_path / f"{name}.npy", X)
    files = [tmp_path / f"{name}.npy" for name in Xs]
    out = tmp_path / "out"
    options = ["--method", "PAVuC", "-k", 3, "--no-report", "--json", "-o", out]
    result = run("cluster", *files, *options)
    assert result.exit_code == 0, result.output
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        centred = {name: X - X.mean(axis=0) for name, X in Xs.items()}
        expected = PAVuC(3, random_state=0).fit(centred)
    found = [int(line["cluster"]) for line in read_csv(out / "labels_b.csv")]
    np.testing.assert_array_equal(found, expected.view_labels_[1])
    means = np.load(out / "column_means.npz")
    np.testing.assert_allclose(means["view2"], Xs["c"].mean(axis=0))
    summary = json.loads(result.stdout)
    assert summary["centred"] is True
    assert bool(summary["notes"]) is not summary["converged"]


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(["LMVSC"], marks=pytest.mark.slow),
        pytest.param(["PAVuC", "--k", "auto"], marks=pytest.mark.slow),
        ["SAVuC", "--effort", "quick"],
    ],
)
def test_number_of_clusters_is_chosen_where_nobody_says_it(files, tmp_path, method):
    out = tmp_path / "out"
    result = run("cluster", *files, "--method", *method, "--no-report", "-o", out)
    assert result.exit_code == 0, result.output
    summary = summary_of(out)
    chosen = unaligned.selection.select_n_clusters(read_views(files).Xs).n_clusters
    assert summary["n_clusters"] == chosen
    assert f"number of clusters, {chosen}, was chosen" in result.stdout
    model = unaligned.load(out / "clusters.model")
    assert len(np.unique(model.labels_)) <= model.n_clusters == chosen


@pytest.mark.parametrize("header", ["a,c", "c.csv,a.csv", "a;c", "c\ta"])
def test_pairs_by_id(files, tmp_path, header):
    mark = next(mark for mark in ",;\t" if mark in header)
    views = [name.removesuffix(".csv") for name in header.split(mark)]
    lines = [mark.join(f"{view}{59 - row}" for view in views) for row in range(30)]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("\ufeff" + "\n".join([header, *lines, ""]), encoding="utf-8")
    result = run("cluster", *files, *FAST, "--pairs", pairs, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    views = summary_of(tmp_path / "out")["views"]
    assert [view["known_matches"] for view in views] == [0, 0, 30]
    assert views[2]["known"] == 0.5
    assert views[2]["trust"] is None
    sure = [
        (line["template_id"], line["id"])
        for line in read_csv(tmp_path / "out" / "matches.csv")
        if line["view"] == "c" and float(line["confidence"]) == 1
    ]
    assert sorted(sure) == sorted((f"a{row}", f"c{row}") for row in range(30, 60))


def test_pairs_by_number_and_across_three_views(files, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("b,a,c\n0,5,\n7,,3\n1,2,4\n\n")
    result = run("cluster", *files, *FAST, "--pairs", pairs, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    known = {
        (line["template_row"], line["view"], line["row"])
        for line in read_csv(tmp_path / "out" / "matches.csv")
        if float(line["confidence"]) == 1
    }
    assert known == {("5", "b", "0"), ("2", "b", "1"), ("2", "c", "4")}


def test_pairs_may_name_ids_as_the_results_spell_them(tmp_path, blobs):
    ids = [f"={row}" for row in range(60)]
    files = [write_csv(tmp_path / f"{name}.csv", blobs[0][0], ids) for name in "ab"]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("a,b\n'=3,=4\n")
    result = run("cluster", *files, *FAST, "--pairs", pairs, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    sure = [
        (line["template_id"], line["id"])
        for line in read_csv(tmp_path / "out" / "matches.csv")
        if float(line["confidence"]) == 1
    ]
    assert sure == [("'=3", "'=4")]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must name two different views"),
        ("a\na1\n", "must name two different views"),
        ("a,a.csv\na1,a2\n", "must name two different views"),
        ("a,x\na1,b1\n", "'x' is none; the views are 'a', 'b', 'c'"),
        ("a,b\n", "holds no pair"),
        ("a,b\na1\n", "line 2: there are 1 cells, but 2 views"),
        ("a,b\na1,b1\na2,z\n", "line 3: 'z' is no id (such as 'b0') of view 'b'"),
        ("a,b\n0,60\n", "'60' is no id (such as 'b0') and no row number (0 to 59)"),
        ("a,b\na1,b1\na1,b2\n", "Known pairs contradict each other"),
        ('a,b\n"a1,b1\n', "is no table of text"),
    ],
)
def test_pairs_that_cannot_be_used(files, tmp_path, text, complaint):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(text)
    result = run("cluster", *files, *FAST, "--pairs", pairs, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert left_behind(tmp_path, *files, pairs) == []


def test_equal_ids_are_pairs_where_the_user_says_so(tmp_path, blobs):
    ids = np.array([f"object {row}" for row in range(60)])
    turned = np.random.RandomState(1).permutation(60)
    files = [
        write_csv(tmp_path / "a.csv", blobs[0][0], ids),
        write_csv(tmp_path / "b.csv", blobs[0][1][turned], ids[turned]),
    ]
    result = run("cluster", *files, *FAST, "--match-ids", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    lines = read_csv(tmp_path / "out" / "matches.csv")
    assert all(line["id"] == line["template_id"] for line in lines)
    assert "All partners were known." in result.stdout
    result = run(
        "cluster", *files, *FAST, "--match-ids", "--id-column", "none", "-o", "never"
    )
    assert result.exit_code == 1
    assert "--match-ids finds no id" in result.stderr


def test_hostile_names_reach_no_terminal_and_no_other_file(tmp_path, blobs):
    ids = ["=1+1", "+2", "-3", "@x", 'q"', "new\nline", *map(str, range(54))]
    folder = tmp_path / "in"
    folder.mkdir()
    files = [
        write_csv(folder / "=cmd|'x'!A1.csv", blobs[0][0], ids),
        write_csv(folder / "\x1b[31mred.csv", blobs[0][1], ids),
        write_csv(os.fsdecode(b"%s/\xff.csv" % os.fsencode(folder)), blobs[0][2], ids),
        write_csv(folder / f"{'long' * 40}.csv", blobs[0][0], ids),
    ]
    out = tmp_path / "out"
    result = run("cluster", *files, "--method", "LMVSC", "-k", 3, "-o", out)
    assert result.exit_code == 0, result.output
    assert left_behind(tmp_path, folder) == ["out"]
    assert "\x1b" not in result.output
    labels = [view["labels"] for view in summary_of(out)["views"]]
    assert len(set(labels)) == 4
    for name in labels:
        assert name.isprintable()
        lines = read_csv(out / name)
        assert [line["id"] for line in lines[:6]] == [
            "'=1+1", "'+2", "'-3", "'@x", 'q"', "new\nline",
        ]  # fmt: skip
    cells = [cell for line in read_csv(out / "matches.csv") for cell in line.values()]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


BEFORE = [
    "",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\u00a0",
    "\u3000",
    "\ufeff",
    "\u200b",
    "\x00\x1f",
]
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u2212"


@pytest.mark.parametrize("before", BEFORE)
def test_whatever_comes_before_a_formula(before):
    """Blanks and invisible characters, and signs of any width."""
    for sign in SIGNS:
        assert spreadsheet_cell(f"{before}{sign}1+1") == f"'{before}{sign}1+1"
    for text in (f"{before}cell-1", f"{before}1=1", f"{before}'=1"):
        quoted = f"'{text}" if before.startswith(("\n", "\r", "\t")) else text
        assert spreadsheet_cell(text) == quoted


def test_no_formula_reaches_a_table(blobs, tmp_path):
    """As no spreadsheet would read it: full-width signs are the common ones there."""
    ids = [f"{b}{s}{i}+1" for i, (b, s) in enumerate(product(BEFORE[:9], SIGNS))][:60]
    files = [write_csv(tmp_path / f"{c}.csv", blobs[0][0], ids) for c in "ab"]
    out = tmp_path / "out"
    result = run("cluster", *files, *FAST, "--match-ids", "-o", out)
    assert result.exit_code == 0, result.output
    for path in (out / "labels_a.csv", out / "labels_b.csv", out / "matches.csv"):
        cells = [cell for line in read_csv(path) for cell in line.values()]
        assert len(cells) > 100
        for cell in cells:
            shown = unicodedata.normalize("NFKC", cell).lstrip("\ufeff\u200b \t\r\n")
            assert not shown.startswith(("=", "+", "-", "@", "\u2212"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["{a}", "{holes}", *FAST, "--impute", "none"], "--impute none forbids"),
        (["{a}", "{codes}", *FAST], "No column is left to use"),
        (["{a}", "{b}", *FAST, "--keep", "x"], "No file has the column 'x'"),
        (["{a}", "{b}", *FAST, "--layer", "x"], "--layer belongs to AnnData"),
        (["{a}", "{words}", *FAST], "no column of numbers"),
        (["{a}", "{unknown}", *FAST], "are not known"),
        (["{a}", "{b}", "-k", "61", *FAST[:2]], "-k 61 is more than"),
        (["{a}", "{short}", *FAST], "needs equally many"),
        (["{a}", "{b}", *FAST, "--label-column", "x"], "No file has the column 'x'"),
        (["{a}", "{b}", *FAST, "--id-column", "x"], "there is no column 'x'"),
        (["{a}", "{b}", *FAST, "--exclude", "x"], "no column 'x' to exclude"),
        (["{a}", "{twice}", *FAST], "--id-column none"),
        (["{a}", "{latin}", *FAST], "--encoding 'latin-1'"),
    ],
)
def test_bad_input_is_one_message_and_leaves_nothing(
    files, tmp_path, arguments, complaint
):
    folder = tmp_path / "bad"
    folder.mkdir()
    made = {
        "holes": "u,v\n1,\n2,3\n5,6\n",
        "codes": "zip,shop_id\n1,4\n7,2\n3,9\n",
        "words": "u,v\nx,y\nz,w\n",
        "short": "u,v\n1,2\n3,4\n5,7\n",
        "twice": "id,v\nx,2\nx,4\n",
    }
    paths = {"a": files[0], "b": files[1], "unknown": folder / "c.docx"}
    paths["unknown"].write_text("?")
    paths["latin"] = folder / "latin.csv"
    paths["latin"].write_bytes("id,v\né,1\nb,2\n".encode("latin-1"))
    for name, text in made.items():
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text(text)
    arguments = [str(argument).format(**paths) for argument in arguments]
    result = run("cluster", *arguments, "--quiet", "-o", tmp_path / "new" / "out")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert complaint in result.stderr
    assert left_behind(tmp_path, folder, *files) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-k", "none"], 'nor "auto"'),
        (["-k", "0"], 'nor "auto"'),
        (["--method", "magic"], "is not one of"),
        (["--method", "PAVuC", "--effort", "quick"], "--effort belongs to SAVuC"),
        (["--seed", "-1"], "--seed"),
        (["missing.csv"], "does not exist"),
    ],
)
def test_misused_options(files, tmp_path, arguments, complaint):
    result = run("cluster", *files, *arguments, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert left_behind(tmp_path, *files) == []


def test_debug_shows_the_traceback(files, tmp_path):
    arguments = ["--method", "LMVSC", "-k", 99, "-o", tmp_path / "out"]
    assert isinstance(run("cluster", *files, *arguments).exception, SystemExit)
    result = run("cluster", *files, *arguments, "--debug")
    assert isinstance(result.exception, ValueError)


def test_an_error_of_ours_has_a_code_of_its_own(files, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise KeyError("what")

    monkeypatch.setattr(_command, "gather", broken)
    result = run("cluster", *files, *FAST, "-o", tmp_path / "out")
    assert result.exit_code == 70
    assert "KeyError: 'what'" in result.stderr
    assert "--debug" in result.stderr
    assert left_behind(tmp_path, *files) == []


def test_missing_jinja2_is_told_beforehand_or_in_a_note(files, tmp_path, monkeypatch):
    def missing():
        raise ImportError("A report needs jinja2.")

    monkeypatch.setattr(_command, "require_jinja2", missing)
    result = run("cluster", *files, *FAST[:4], "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "There is no report. A report needs jinja2." in result.stdout
    assert "report.html" not in summary_of(tmp_path / "out")["files"]
    result = run("cluster", *files, *FAST[:4], "--report", "-o", tmp_path / "other")
    assert result.exit_code == 1
    assert result.stderr == "Error: A report needs jinja2.\n"


def test_force_replaces_results_and_nothing_else(files, tmp_path):
    out = tmp_path / "out"
    assert run("cluster", *files, *FAST, "-o", out).exit_code == 0
    (out / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    result = run("cluster", *files[:2], *FAST, "-o", out)
    assert result.exit_code == 1
    assert "replace them with --force" in result.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert run("cluster", *files[:2], *FAST, "--force", "-o", out).exit_code == 0
    assert set(summary_of(out)["files"]) | {"notes.txt"} == {
        path.name for path in out.iterdir()
    }
    assert not (out / "labels_c.csv").exists()


def test_folders_that_hold_other_things_are_left_alone(files, tmp_path):
    result = run("cluster", *files, *FAST, "--force", "-o", tmp_path)
    assert result.exit_code == 1
    assert "holds other files" in result.stderr
    # A summary that names files elsewhere is no reason to touch them.
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_text("mine")
    out.mkdir()
    summary = {"kind": _outputs.KIND, "files": ["../victim", str(victim)]}
    (out / "summary.json").write_text(json.dumps(summary))
    assert run("cluster", *files, *FAST, "--force", "-o", out).exit_code == 0
    assert victim.read_text() == "mine"
    for below in (victim, victim / "out"):
        result = run("cluster", *files, *FAST, "-o", below)
        assert result.exit_code == 1
        assert "victim is a file; name a folder with --output" in result.stderr


def test_a_link_that_leads_nowhere_is_no_folder(files, tmp_path):
    nowhere, loop = tmp_path / "nowhere", tmp_path / "loop"
    nowhere.symlink_to(tmp_path / "gone")
    loop.symlink_to(loop)
    for out in (nowhere, loop, nowhere / "out"):
        result = run("cluster", *files, *FAST, "-o", out)
        assert result.exit_code == 1
        assert "is a link that leads nowhere; name a folder" in result.stderr
    assert nowhere.is_symlink()


def bad_places(tmp_path):
    """Folders that cannot be made, even by somebody who may do everything."""
    yield tmp_path / ("x" * 300) / "out", "File name too long"
    if Path("/proc/self").exists():
        yield Path("/proc/nothing/out"), "No such file or directory"


@pytest.mark.skipif(os.name != "posix", reason="disks are those of POSIX")
@pytest.mark.parametrize("command", ["cluster", "align"])
def test_a_folder_that_cannot_be_made_is_told_at_once(
    command, files, tmp_path, monkeypatch
):
    monkeypatch.setattr(_command, "read_named", None)  # nobody comes so far
    for place, reason in bad_places(tmp_path):
        result = run(command, *files, "-o", place)
        assert result.exit_code == 1
        assert result.stderr == (
            f"Error: {place} cannot be made or written into ({reason}); name another "
            "folder with --output.\n"
        )
    assert left_behind(tmp_path, *files) == []


@pytest.mark.parametrize("earlier", [False, True])
def test_a_full_disk_leaves_what_was_there(files, tmp_path, monkeypatch, earlier):
    out = tmp_path / "out"
    before = {}
    if earlier:
        assert run("cluster", *files, *FAST, "-o", out).exit_code == 0
        before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(path, *_):
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(_command, "write_matches", full)
    result = run("cluster", *files, *FAST, "--force", "-o", out)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert left_behind(tmp_path, *files) == (["out"] if earlier else [])
    if earlier:
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_a_run_that_is_stopped_leaves_nothing(tmp_path, number, code):
    files = [noise(tmp_path / f"{name}.npy", seed=i) for i, name in enumerate("ab")]
    command = [sys.executable, "-m", "unaligned", "cluster", *files, "-k", "5"]
    command += ["--effort", "thorough", "-o", tmp_path / "out"]
    with subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    ) as process:
        said = iter(process.stderr.readline, "")
        assert any(line.startswith("Fitting SAVuC") for line in said)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    assert out == ""
    if number != signal.SIGKILL:
        assert err == "Stopped; nothing was written.\n"
    assert left_behind(tmp_path, *files) == []


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_stop_that_got_lost_is_heeded_at_the_next_word(capsys):
    def work():
        with session(quiet=True, debug=False) as screen:
            with suppress(KeyboardInterrupt):  # as ctypes does in its callbacks
                signal.raise_signal(signal.SIGTERM)
            screen.stage("Drawing the report")

    with pytest.raises(SystemExit) as stop:
        work()
    assert stop.value.code == 143
    assert capsys.readouterr().err == "Stopped; nothing was written.\n"


@pytest.mark.heavy
@pytest.mark.filterwarnings("default")
def test_modalities_of_a_mudata_file_are_views_and_shared_names_are_pairs(
    tmp_path, blobs
):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mudata = pytest.importorskip("mudata", reason="needs the extra 'scverse'")
        anndata = pytest.importorskip("anndata", reason="needs the extra 'scverse'")
        modalities = {}
        for i, name in enumerate(("rna", "atac/../x")):
            cells = [f"cell{row + 20 * i}" for row in range(60)]
            modalities[name] = anndata.AnnData(blobs[0][i])
            modalities[name].obs_names = cells
        mudata.MuData(modalities).write(tmp_path / "cells.h5mu")
    out = tmp_path / "out"
    result = run("cluster", tmp_path / "cells.h5mu", *FAST, "-o", out)
    assert result.exit_code == 0, result.output
    rna, atac = summary_of(out)["views"]
    assert (rna["name"], atac["name"]) == ("rna", "atac/../x")
    assert atac["known_matches"] == 40
    assert left_behind(tmp_path) == ["cells.h5mu", "out"]
    assert set(summary_of(out)["files"]) == {path.name for path in out.iterdir()}
    ids = [line["id"] for line in read_csv(out / atac["labels"])]
    assert ids == [f"cell{row}" for row in range(20, 80)]


@pytest.mark.filterwarnings("default")
def test_row_numbers_of_a_mudata_file_are_no_pairs(tmp_path, blobs):
    h5py = pytest.importorskip("h5py", reason="needs the extra 'io'")
    with h5py.File(tmp_path / "cells.h5mu", "w") as file:
        for name, X in zip(("rna", "atac"), blobs[0], strict=False):
            cells = file.create_group(f"mod/{name}")
            cells["X"] = X
            for frame, n in zip(("obs", "var"), X.shape, strict=True):
                cells[f"{frame}/_index"] = [str(row) for row in range(n)]
                cells[frame].attrs["_index"] = "_index"
    result = run("cluster", tmp_path / "cells.h5mu", *FAST, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "say --match-ids." in result.stdout
    assert [v["known_matches"] for v in summary_of(tmp_path / "out")["views"]] == [0, 0]
