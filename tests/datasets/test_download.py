"""Downloads against a server of our own, which can be made to misbehave."""

import hashlib
import json
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy.io import savemat

from unaligned.datasets import DownloadError, _download, fetch, load
from unaligned.datasets._download import GATHERED_IN
from unaligned.datasets._registry import Dataset, paper_datasets

NAME = "Small.mat"


class Server(ThreadingHTTPServer):
    """Serves one file, as `behaviour` says; remembers the ranges asked for."""

    daemon_threads = True

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.behaviour, self.ranges = content, "good", []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/{NAME}"

    def handle_error(self, request, address):
        """Say nothing of clients that went away."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.ranges.append(asked)
        content, start = server.content, 0
        if server.behaviour == "missing":
            return self.send_error(404)
        if server.behaviour == "wrong":
            content = bytes(len(content))
        if asked and server.behaviour != "no ranges":
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.send_error(416)
            self.send_response(206)
        else:
            self.send_response(200)
        body = content[start:]
        if server.behaviour == "too long":
            body = body * 3
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if server.behaviour == "truncated":
            body = body[: len(body) // 2]
            self.close_connection = True
        if server.behaviour == "stalled":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            server.stalled.wait(20)
            return None
        self.wfile.write(body)
        return None

    def log_message(self, *_):
        """Say nothing."""


def matlab_file(folder):
    X = np.random.RandomState(0).normal(size=(300, 40))
    cell = np.empty((1, 2), dtype=object)
    cell[0, :] = X, X[:, :3]
    savemat(folder / NAME, {"X": cell, "Y": np.arange(300) % 3})
    return (folder / NAME).read_bytes()


@pytest.fixture
def server(tmp_path_factory):
    server = Server(matlab_file(tmp_path_factory.mktemp("published")))
    server.stalled = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.stalled.set()
    server.shutdown()
    server.server_close()
    thread.join()


def describe(content, urls, pinned="sha256", size=True):
    checksum = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "git_blob": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
    }
    return Dataset(
        name="Small",
        file=NAME,
        rows=300,
        columns=[40, 3],
        classes=3,
        licence="none stated",
        origin="http://localhost",
        about="For tests.",
        urls=urls,
        size=len(content) if size else None,
        **{pinned: checksum[pinned]},
    )


@pytest.fixture(params=["sha256", "git_blob"])
def dataset(request, server):
    return describe(server.content, [server.url], request.param)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole(dataset, server, tmp_path):
    path = _download.download(dataset, tmp_path / "new" / "folder")
    assert path.read_bytes() == server.content
    assert names(path.parent) == [NAME]
    assert server.ranges == [None]


def test_what_is_there_is_not_fetched_again(dataset, server, tmp_path):
    _download.download(dataset, tmp_path)
    _download.download(dataset, tmp_path)
    assert len(server.ranges) == 1


def test_a_terminal_shows_progress(server, tmp_path, monkeypatch, capsys):
    dataset = describe(server.content, [server.url])
    _download.download(dataset, tmp_path / "no terminal")
    monkeypatch.setenv("FORCE_COLOR", "1")  # for rich, a terminal
    _download.download(dataset, tmp_path / "quiet", quiet=True)
    assert capsys.readouterr() == ("", "")
    _download.download(dataset, tmp_path / "terminal")
    output, errors = capsys.readouterr()
    assert output == ""
    assert "Fetching Small" in errors


@pytest.mark.parametrize("size", [True, False])
@pytest.mark.parametrize("behaviour", ["wrong", "too long", "missing"])
def test_another_file_is_refused(server, tmp_path, behaviour, size):
    dataset = describe(server.content, [server.url], size=size)
    server.behaviour = behaviour
    reason = "answers 404" if behaviour == "missing" else "another file"
    with pytest.raises(DownloadError, match=reason):
        _download.download(dataset, tmp_path)
    assert names(tmp_path) == []


def test_a_truncated_body_is_kept_and_completed(dataset, server, tmp_path):
    server.behaviour = "truncated"
    with pytest.raises(DownloadError, match="broke off"):
        _download.download(dataset, tmp_path)
    assert names(tmp_path) == [GATHERED_IN]
    kept = (tmp_path / GATHERED_IN / NAME).stat().st_size
    assert 0 < kept < len(server.content)
    server.behaviour = "good"
    path = _download.download(dataset, tmp_path)
    assert server.ranges == [None, f"bytes={kept}-"]
    assert path.read_bytes() == server.content
    assert names(tmp_path) == [NAME]


@pytest.mark.parametrize("behaviour", ["good", "no ranges"])
@pytest.mark.parametrize("before", ["half", "all", "too much", "rubbish"])
def test_any_partial_file_ends_well(dataset, server, tmp_path, behaviour, before):
    content = server.content
    kept = {
        "half": content[: len(content) // 2],
        "all": content,
        "too much": content * 2,
        "rubbish": bytes(1000),
    }[before]
    (tmp_path / GATHERED_IN).mkdir()
    (tmp_path / GATHERED_IN / NAME).write_bytes(kept)
    server.behaviour = behaviour
    path = _download.download(dataset, tmp_path)
    assert path.read_bytes() == content
    assert names(tmp_path) == [NAME]


def test_a_partial_file_of_another_program_is_left_alone(dataset, server, tmp_path):
    browsers = tmp_path / f"{NAME}.part"
    browsers.write_bytes(bytes(1000))
    _download.download(dataset, tmp_path)
    assert browsers.read_bytes() == bytes(1000)


def test_a_second_address_helps(server, tmp_path):
    urls = [f"http://127.0.0.1:{unused_port()}/{NAME}", server.url]
    dataset = describe(server.content, urls)
    assert _download.download(dataset, tmp_path).read_bytes() == server.content


def test_without_network_the_way_out_is_named(server, tmp_path):
    url = f"http://127.0.0.1:{unused_port()}/{NAME}"
    with pytest.raises(DownloadError) as error:
        _download.download(describe(server.content, [url]), tmp_path)
    for part in ("cannot be reached", NAME, url, str(tmp_path), "load_digits_views"):
        assert part in str(error.value)
    assert isinstance(error.value, OSError)
    assert names(tmp_path) == []


def test_a_silent_server_is_given_up(dataset, server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "TIMEOUT", (0.3, 0.3))
    server.behaviour = "stalled"
    with pytest.raises(DownloadError, match=r"does not answer|cannot be reached"):
        _download.download(dataset, tmp_path)
    assert names(tmp_path) == [GATHERED_IN]


def test_a_folder_that_cannot_be_made_is_named(dataset, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match="file"):
        _download.download(dataset, tmp_path / "file" / "folder")


def test_ctrl_c_leaves_only_the_part(dataset, server, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_download, "checksum_matches", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _download.download(dataset, tmp_path)
    assert names(tmp_path) == [GATHERED_IN]


FETCH = """
import json, sys
from pathlib import Path
from unaligned.datasets._download import download
from unaligned.datasets._registry import Dataset
download(Dataset(**json.loads(sys.argv[1])), Path(sys.argv[2]))
"""


def test_a_killed_download_goes_on(server, tmp_path):
    server.content = server.content * 20
    dataset = describe(server.content, [server.url])
    server.behaviour = "stalled"
    part = tmp_path / GATHERED_IN / NAME
    process = subprocess.Popen(
        [sys.executable, "-c", FETCH, json.dumps(vars(dataset)), str(tmp_path)]
    )
    try:
        for _ in range(600):
            if part.exists() and part.stat().st_size > 100_000:
                break
            threading.Event().wait(0.05)
    finally:
        process.kill()
        process.wait()
    assert NAME not in names(tmp_path)
    assert part.stat().st_size > 100_000
    server.behaviour = "good"
    path = _download.download(dataset, tmp_path)
    assert path.read_bytes() == server.content
    assert server.ranges[-1] is not None
    left = [path for path in tmp_path.iterdir() if path.name != NAME]
    assert all(path.stat().st_size == 0 for path in left)  # pooch's, from the kill


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_those_who_fetch_the_same_do_not_mix(server, tmp_path):
    dataset = describe(server.content, [server.url])
    with ThreadPoolExecutor(4) as pool:
        paths = [pool.submit(_download.download, dataset, tmp_path) for _ in range(4)]
    assert {path.result() for path in paths} == {tmp_path / NAME}
    assert (tmp_path / NAME).read_bytes() == server.content
    assert names(tmp_path) == [NAME]
    assert len(server.ranges) == 1


def test_load_fetches_by_name(server, tmp_path, monkeypatch):
    dataset = describe(server.content, [server.url])
    known = {**paper_datasets(), "Small": dataset}
    monkeypatch.setattr("unaligned.datasets._registry.paper_datasets", lambda: known)
    with pytest.raises(FileNotFoundError, match="fetching is turned off"):
        load("small", tmp_path, download_if_missing=False)
    monkeypatch.setenv("UNALIGNED_DATA", str(tmp_path))
    data = load("SMALL")
    assert [X.shape for X in data.Xs] == [(300, 40), (300, 3)]
    assert fetch("small") == tmp_path / NAME
    assert server.ranges == [None]
    with pytest.raises(FileNotFoundError, match="There is no dataset"):
        fetch("unheard of")


def unused_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
