"""The list of slow tests names tests that there are."""

import pytest

from tests.conftest import ROOT, SLOW


@pytest.mark.parametrize("entry", SLOW)
def test_slow_tests_exist(entry):
    path, _, name = entry.partition("[")[0].partition("::")
    place = ROOT / "tests" / path
    assert place.exists()
    assert not name or f"def {name}" in place.read_text(encoding="utf-8")


def test_the_list_marks_them(request):
    own = request.node.nodeid
    assert not any(own.startswith(f"tests/{entry}") for entry in SLOW)
    assert list(SLOW) == sorted(SLOW)
