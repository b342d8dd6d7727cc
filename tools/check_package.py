"""Build the wheel and the source archive, and try them where nothing else is installed.

    python tools/check_package.py lowest newest

makes an environment for each, outside the checkout: one with the lowest versions that
pyproject.toml allows (``constraints/lowest.txt``), one with the newest there are. The
wheel is installed into it, used as people use it, and has to pass the tests of the
core, which come from the source archive. Needs the package index and some minutes.
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOWEST = ROOT / "constraints" / "lowest.txt"
CORE = ["tests/kernels", "tests/pavuc", "tests/cli/test_cluster.py"]
CORE += ["tests/test_views.py", "tests/persistence/test_saving.py"]
CORE += ["tests/test_public_api.py"]
# Tests are strict about warnings, and old versions of others warn as they please.
QUIET = ["-q", "-p", "no:cacheprovider", "-m", "not heavy", "-o", "filterwarnings="]

SMOKE = """
import sys
from pathlib import Path
import numpy as np
import unaligned
assert Path(unaligned.__file__).is_relative_to(sys.prefix), unaligned.__file__
digits = unaligned.datasets.load_digits_views()
Xs = [X[:200] for X in digits.Xs[:2]]
model = unaligned.PAVuC(10, max_iter=3, tol=1, n_init=1, random_state=0).fit(Xs)
model.save("digits.model")
same = unaligned.load("digits.model").predict(Xs[1], view=1)
assert (same == model.predict(Xs[1], view=1)).all()
found = unaligned.align(Xs, effort="quick", random_state=0)
assert found.n_views == 2
for name, X in zip(("one", "two"), Xs):
    np.savetxt(f"{name}.csv", X, delimiter=",")
"""
COMMANDS = [
    ["--version"],
    ["cluster", "one.csv", "two.csv", "--method", "LMVSC", "-k", "10", "-o", "out"],
    ["datasets", "list"],
]


def build(folder: Path) -> tuple[Path, Path]:
    """Build the source archive, and the wheel from it; return both."""
    run([sys.executable, "-m", "build", "--outdir", folder, ROOT], folder)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    held = zipfile.ZipFile(wheel).namelist()
    library = ROOT / "src"
    missing = [
        str(path)
        for path in library.rglob("unaligned/**/*.*")
        if path.is_file()
        and path.parent.name != "__pycache__"
        and path.relative_to(library).as_posix() not in held
    ]
    strangers = [name for name in held if not name.startswith("unaligned")]
    if missing or strangers:
        raise SystemExit(f"The wheel lacks {missing} and holds {strangers}.")
    return wheel, source


def try_out(kind: str, wheel: Path, source: Path, folder: Path) -> None:
    """Install the wheel with some versions of its dependencies, and use it."""
    environment = folder / kind
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    wanted = [f"{wheel}[test]"]
    if kind == "lowest":
        wanted += ["--constraint", LOWEST]
    run([python, "-m", "pip", "install", "--quiet", *wanted], folder)
    run([python, "-m", "pip", "list", "--format=freeze"], folder)

    elsewhere = folder / f"{kind} elsewhere"
    elsewhere.mkdir()
    run([python, "-I", "-c", SMOKE], elsewhere)
    for arguments in COMMANDS:
        run([environment / "bin" / "unaligned", *arguments], elsewhere)
    with tarfile.open(source) as archive:
        archive.extractall(elsewhere, filter="data")
    (unpacked,) = elsewhere.glob("unaligned-*")
    run([python, "-m", "pytest", *QUIET, *CORE], unpacked)
    print(f"{kind}: all is well.", flush=True)


def run(command: list[object], folder: Path) -> None:
    """Run a command in a folder; end everything where it fails."""
    words = [str(word) for word in command]
    print("$", " ".join(words)[:200].split("\n")[0], flush=True)
    if code := subprocess.run(words, cwd=folder, check=False).returncode:
        raise SystemExit(f"That failed with code {code}.")


def main() -> None:
    """Build once, and try every kind of environment."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="+", choices=["lowest", "newest"])
    kinds = parser.parse_args().kinds
    with tempfile.TemporaryDirectory(prefix="unaligned-package-") as name:
        folder = Path(name)
        wheel, source = build(folder)
        for kind in kinds:
            try_out(kind, wheel, source, folder)


if __name__ == "__main__":
    main()
