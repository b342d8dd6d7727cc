import sys

import pytest

from unaligned.cli._options import say_loading


@pytest.mark.parametrize(
    ("terminal", "quiet", "said"),
    [(True, False, "Loading\r"), (True, True, ""), (False, False, "")],
)
def test_terminals_show_at_once_that_something_goes_on(
    terminal, quiet, said, capsys, monkeypatch
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    say_loading(quiet=quiet)
    assert capsys.readouterr().err == said
