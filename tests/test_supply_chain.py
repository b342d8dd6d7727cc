"""What the project takes from elsewhere: pinned, checked, and only when asked for."""

import re
import subprocess
import sys
import tomllib
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT
from unaligned.datasets._registry import paper_datasets

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]


def pins(name):
    """Versions by package, as a file of constraints has them."""
    text = (ROOT / "constraints" / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {package.lower(): version for package, version in map(split_pin, lines)}


def split_pin(line):
    package, version = line.split("==")
    return package, version


def bounds(*extras):
    """Lowest versions that the library and its extras allow, by package."""
    wanted = list(PROJECT["dependencies"])
    for extra in extras:
        wanted += PROJECT["optional-dependencies"][extra]
    found = [
        re.match(r"([\w-]+)(?:\[.*\])?(?:>=|==)([\w.]+)$", line) for line in wanted
    ]
    return {match[1].lower(): match[2] for match in found}


def test_the_lowest_versions_are_those_that_are_promised():
    assert pins("lowest.txt") == bounds("test")


@pytest.mark.parametrize("extra", ["test", "lint", "docs", "browser"])
def test_every_tool_is_pinned(extra):
    tools = set(bounds(extra)) - set(bounds())
    library = set(bounds("io", "report", "scverse")) | {"polars"}
    assert tools - library <= set(pins("tools.txt"))


def test_linters_are_the_same_everywhere():
    linters = bounds("lint")
    assert {name: pins("tools.txt")[name] for name in ("mypy", "ruff")} == {
        name: linters[name] for name in ("mypy", "ruff")
    }


def test_every_hook_from_elsewhere_is_at_a_version():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert text.count("- repo: https:") == len(re.findall(r"rev: v\d+\.\d+\.\d+", text))


def test_every_download_is_encrypted_and_has_a_checksum():
    fetched = [data for data in paper_datasets().values() if data.urls]
    assert len(fetched) >= 4
    for data in fetched:
        assert {urlsplit(url).scheme for url in data.urls} == {"https"}
        sha256, git = data.sha256 or "", data.git_blob or ""
        assert re.fullmatch(r"[0-9a-f]{64}", sha256) or re.fullmatch(
            r"[0-9a-f]{40}", git
        )


OFFLINE = """
import socket, sys
def refuse(*arguments, **options):
    raise AssertionError("the network was asked for")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
socket.create_connection = refuse
import numpy as np
import unaligned
from unaligned.datasets import load_digits_views
Xs = [X[:80] for X in load_digits_views().Xs[:2]]
for cls in (unaligned.PAVuC, unaligned.SAVuC, unaligned.baselines.LMVSC):
    few = {"n_init": 1, "max_iter": 2, "tol": 1.0, "effort": "quick"}
    few = {name: value for name, value in few.items() if name in cls().get_params()}
    model = cls(3, random_state=0, **few).fit(Xs)
    if hasattr(model, "predict"):
        model.predict(Xs[0])
print("done")
"""


def test_nothing_asks_for_the_network():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OFFLINE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr


def test_the_conda_recipe_asks_for_what_the_project_does():
    text = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    run = text.partition("  run:\n")[2].partition("\ntest:")[0]
    listed = dict(re.findall(r"^    - ([\w-]+) >=([\w.]+)$", run, flags=re.M))
    assert f">={listed.pop('python')}" == PROJECT["requires-python"]
    listed["matplotlib"] = listed.pop("matplotlib-base")  # without a toolkit of windows
    assert listed == bounds("io", "report")
    (build,) = re.findall(r"^    - (hatchling) >=([\w.]+)$", text, flags=re.M)
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert built["build-system"]["requires"] == [">=".join(build)]
