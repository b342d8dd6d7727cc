import re

from click.testing import CliRunner

from unaligned import __version__
from unaligned.cli import main


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_version():
    assert __version__ in run("--version").output


def test_demo_prints_one_table_and_says_what_it_means():
    result = run("demo")
    assert result.exit_code == 0, result.output
    for word in ("ACC", "NMI", "chance", "PAVuC-ATS", "NPA-VuC", "oracle"):
        assert word in result.output
    text = " ".join(result.output.split())
    paper, chance, ours = map(
        int,
        re.search(
            r": (\d+) % of its pairs .* chance gives (\d+) %.* SAVuC .* (\d+) %",
            text,
        ).groups(),
    )
    assert ("no better than chance" in text) == (paper < 2 * chance)
    assert ours > 5 * chance


def test_unknown_commands_fail_with_a_reason():
    result = run("dance")
    assert result.exit_code != 0
    assert "No such command 'dance'" in result.output
