"""The documentation tells what the committed results of the rivals say."""

from benchmarks.rivals import PAGE, page


def test_the_page_is_that_of_the_results():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m benchmarks.rivals"
