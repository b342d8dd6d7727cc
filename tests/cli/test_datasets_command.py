import numpy as np
import pytest
from click.testing import CliRunner

from unaligned.cli import main
from unaligned.datasets import DownloadError


def run(*arguments):
    return CliRunner().invoke(main, ["datasets", *map(str, arguments)])


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("UNALIGNED_DATA", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda _: str(tmp_path / "cache"))
    np.savez(tmp_path / "mine.npz", view0=np.eye(3), view1=np.ones((4, 2)))
    np.savez(tmp_path / "Caltech-101.npz", view0=np.eye(3))
    (tmp_path / "broken.npz").write_bytes(b"PK")
    return tmp_path


def rows_of(output):
    lines = [line.split() for line in output.splitlines()]
    return {line[0]: line[1:] for line in lines if line}


def test_list_shows_the_papers_datasets_and_ones_own(home):
    result = run("list")
    assert result.exit_code == 0, result.output
    rows = rows_of(result.output)
    assert rows["Wiki"] == ["2866", "2", "10", "1.08", "none", "stated", "fetchable"]
    assert rows["CIFAR-10"][-2:] == ["local", "file"]
    assert rows["Caltech-101"][-1] == "here"
    assert rows["mine"] == ["3–4", "2", "0.00", "here"]
    assert rows["broken"] == ["0.00", "here"]
    assert rows["digits"][:2] == ["1797", "4"]
    assert "\n".join(rows).count("Caltech-101") == 1


def test_a_file_that_is_not_the_published_one_is_not_here(home):
    (home / "Wiki_fea.mat").write_bytes(b"something else")
    assert rows_of(run("list").output)["Wiki"][-1] == "fetchable"
    result = run("info", "wiki")
    assert result.exit_code == 1
    assert "is not the Wiki that was published" in result.output


def test_info_tells_origin_licence_and_place(home):
    result = run("info", "reuters")
    assert result.exit_code == 0
    for part in (
        "18758",
        "Licence:  none stated",
        "Git blob: 6890263d31bf47cc8694d934ea95ec29f42b56e5",
        "https://raw.githubusercontent.com/",
        str(home / "Reuters_100D.mat"),
    ):
        assert part in result.output
    assert "bring one" in run("info", "cifar10").output
    assert "views 3 × 3, 4 × 2" in run("info", "mine").output
    assert "handwritten digits" in run("info", "digits").output


def test_info_of_nothing_names_the_way_out(home):
    result = run("info", "nothing")
    assert result.exit_code == 1
    assert result.output.startswith("Error: There is no dataset 'nothing'.")


def test_fetch_prints_where_files_are(home, monkeypatch):
    calls = []

    def download(dataset, folder, *, quiet):
        calls.append((dataset.name, folder, quiet))
        return folder / dataset.file

    monkeypatch.setattr("unaligned.datasets._load.download", download)
    result = run("fetch", "wiki", "PROTEINFOLD", "--data-home", home / "new")
    assert result.exit_code == 0, result.output
    new = home / "new"
    assert result.output.split() == [
        str(new / "Wiki_fea.mat"),
        str(new / "ProteinFold.mat"),
    ]
    assert calls == [("Wiki", new, False), ("ProteinFold", new, False)]
    calls.clear()
    assert run("fetch", "all", "--quiet").output == ""
    assert [name for name, _, _ in calls] == [
        "ProteinFold",
        "Wiki",
        "Caltech101-20",
        "Reuters",
    ]


def test_fetch_fails_in_one_sentence(home, monkeypatch):
    def download(*_, **__):
        raise DownloadError("no network")

    monkeypatch.setattr("unaligned.datasets._load.download", download)
    result = run("fetch", "wiki")
    assert result.exit_code == 1
    assert result.output == "Error: no network\n"
    result = run("fetch", "cifar-10")
    assert result.exit_code == 1
    assert "Cifar10.mat" in result.output
