"""Machines where neither the library nor the user's folder can be written to."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import unaligned
from tests.conftest import make_blobs
from unaligned.kernels import compiling
from unaligned.kernels.compiling import NO_PLACE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")

# Root may write anywhere, but not onto what is mounted read-only.
MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


@pytest.fixture
def read_only(tmp_path):
    """A copy of the library and a home, in a folder nobody can write to; a runner."""
    tree = tmp_path / "tree"
    (tree / "home").mkdir(parents=True)
    shutil.copytree(
        Path(unaligned.__file__).parent,
        tree / "unaligned",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (tmp_path / "work").mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    } | {"HOME": str(tree / "home"), "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    start = []
    if os.geteuid() == 0:
        start = ["unshare", "--mount", "sh", "-c", MOUNT, tree]
        if not shutil.which("unshare") or subprocess.run([*start, "true"]).returncode:
            pytest.skip("root can write everywhere, and cannot mount")
    else:
        for folder in (tree, *(path for path in tree.rglob("*") if path.is_dir())):
            folder.chmod(0o555)

    def run(*command, **changes):
        return subprocess.run(
            [*map(str, start), *map(str, command)],
            cwd=tmp_path / "work",
            env=environment | changes,
            capture_output=True,
            text=True,
            check=False,
        )

    yield run
    for folder in (tree, *(path for path in tree.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def test_a_command_where_nothing_can_be_kept(read_only):
    work = Path(read_only("pwd").stdout.strip())
    for name, X in zip("ab", make_blobs(n=30)[0], strict=False):
        np.save(work / f"{name}.npy", X)
    command = [sys.executable, "-m", "unaligned", "cluster", "a.npy", "b.npy"]
    command += ["-k", 3, "--effort", "quick", "--no-report", "-o", "out"]
    done = read_only(*command)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count(NO_PLACE) == 1
    assert "Warning" not in done.stderr
    compiles = "from unaligned.kernels import neighbors, sinkhorn, matching"
    cache = str(work / "cache")
    named = read_only(sys.executable, "-c", compiles, NUMBA_CACHE_DIR=cache)
    assert (named.returncode, named.stderr) == (0, "")
    unnamed = read_only(sys.executable, "-c", compiles)
    assert unnamed.stderr.count(NO_PLACE) == 1


def test_a_disk_that_is_full_is_no_reason_to_stop(monkeypatch):
    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiling.caching.FunctionCache, "save_overload", no_space)

    @compiling.compiling()
    def twice(x):
        return x + x

    compiling._say_once.cache_clear()
    with pytest.warns(UserWarning, match="cannot be kept"):
        assert twice(2.5) == 5.0
