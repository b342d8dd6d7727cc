import xml.etree.ElementTree as ET

import pytest
from made_up_results import paper_like

from unaligned.benchmark import figures
from unaligned.benchmark.cells import Results
from unaligned.benchmark.pictures import INK

ALL = [
    figures.figure3,
    figures.figure4,
    figures.figure5,
    figures.figure6,
    figures.scaling,
]


@pytest.fixture(scope="module")
def results():
    return paper_like()


def letters(picture):
    return " ".join(ET.fromstring(picture.svg).itertext())


@pytest.mark.parametrize("draw", ALL)
def test_figures_are_drawings_with_letters_and_the_same_every_time(draw, results):
    (picture,) = draw(results)
    assert ET.fromstring(picture.svg).tag.endswith("svg")
    assert INK in picture.svg
    assert picture.svg == draw(results)[0].svg
    assert picture.caption.endswith(".")


@pytest.mark.parametrize("draw", ALL)
def test_nothing_run_draws_nothing(draw):
    assert draw(Results()) == []


def test_figure3_has_a_panel_for_every_view_and_the_fused_graph(results):
    text = letters(figures.figure3(results)[0])
    assert "view 2" in text
    assert "fused anchor graph" in text


def test_figure4_tells_the_scores_of_every_share(results):
    (picture,) = figures.figure4(results)
    assert "PAVuC 53.5 (ρ = 0), 56.0 (ρ = 0.5), 56.0 (ρ = 1)" in picture.caption
    assert "best view (oracle)" in letters(picture)
    joint = "one naming over all rows of all views: SAVuC 55.0 (ρ = 0), 60.0 (ρ = 0.5)."
    assert joint in picture.caption
    assert "SAVuC, names shuffled" in letters(picture)


def test_figure5_writes_the_scores_into_the_surface(results):
    (picture,) = figures.figure5(results)
    assert "between 51.0 and 55.0" in picture.caption
    assert "53.5" in letters(picture)  # the mean of both shuffles, as released


def test_figure6_counts_the_rises_of_the_objective(results):
    (picture,) = figures.figure6(results)
    assert "rises in 1 of 3 iterations" in picture.caption
