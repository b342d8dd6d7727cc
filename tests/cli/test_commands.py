"""The list of commands, and what asking for help imports."""

import io
import subprocess
import sys

import click
import pytest

from tests.cli.file_views import run
from unaligned import baselines, cli
from unaligned.cli import COMMANDS, main
from unaligned.cli._options import BASELINES
from unaligned.estimators import ESTIMATORS


def test_the_list_says_what_the_commands_say_themselves():
    context = click.Context(main)
    for name, what in COMMANDS.items():
        command = main.get_command(context, name)
        assert " ".join(command.help.split("\n\n")[0].split()) == what
    listed = run("--help").stdout
    assert all(name in listed for name in COMMANDS)
    assert main.get_command(context, "no") is None
    assert "No such command" in run("no").stderr


def test_stopped_while_modules_are_imported(monkeypatch):
    def stop(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "import_module", stop)
    stopped = run("align", "one.csv", "other.csv")
    assert (stopped.exit_code, stopped.stderr) == (130, "Stopped.\n")


def test_terminals_without_unicode(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", write_through=True)
    monkeypatch.setattr(sys, "stdout", terminal)
    with pytest.raises(SystemExit):
        main.main(["--version"])
    click.echo("view “crm” für")
    assert terminal.buffer.getvalue().endswith("view ?crm? für\n".encode("latin-1"))


def test_methods_are_those_of_the_library():
    assert list(BASELINES) == list(baselines.__all__)
    assert {"SAVuC", "PAVuC", *BASELINES} == {*ESTIMATORS}


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"]]
    + [[name, "--help"] for name in ("cluster", "align", "audit", "demo", "translate")],
)
def test_help_imports_nothing_heavy(arguments):
    heavy = ["numpy", "scipy", "sklearn", "pandas", "numba", "rich"]
    code = (
        "import atexit, sys; from unaligned.cli import main; "
        f"atexit.register(lambda: print([m for m in {heavy} if m in sys.modules])); "
        f"main({arguments})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
