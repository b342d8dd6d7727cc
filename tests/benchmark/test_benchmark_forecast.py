import numpy as np
import pytest

from unaligned.benchmark.cells import Cell, Results
from unaligned.benchmark.environment import describe_environment, environment_name
from unaligned.benchmark.forecast import Forecast
from unaligned.benchmark.memory import forget_peak, memory_bytes, peak_bytes


def cell(dataset, method, **more):
    return Cell(dataset, method, **more)


def test_a_cell_is_expected_to_take_what_its_like_took():
    results = Results()
    for shuffle, wall in enumerate([1.0, 3.0, 5.0]):
        done = cell("Wiki", "PAVuC", shuffle=shuffle)
        results.add(done.record() | {"status": "done", "wall": wall})
    forecast = Forecast(results)
    assert forecast.expect(cell("Wiki", "PAVuC", shuffle=9)) == 3.0
    forecast.learn(cell("Wiki", "LMVSC"), {"wall": 20.0})
    assert forecast.expect(cell("Wiki", "LMVSC", setting={"alpha": 1})) == 20.0
    assert forecast.expect(cell("Wiki", "VuCG")) == 7.25  # any cell of the dataset
    assert forecast.expect(cell("digits", "VuCG")) == 7.25


def test_few_cells_that_take_long_count_in_the_time_left():
    rng = np.random.RandomState(0)
    walls = rng.lognormal(sigma=1.5, size=400)
    cells = [cell("Wiki", "PAVuC", shuffle=number) for number in range(400)]
    forecast = Forecast(Results())
    for done, wall in zip(cells[:100], walls, strict=False):
        forecast.learn(done, {"wall": wall})
    left = forecast.seconds_left(cells[100:], jobs=1)
    assert 0.5 < left / walls[100:].sum() < 2


def test_the_time_left_is_shared_by_the_workers():
    forecast = Forecast(Results())
    waiting = [cell("Wiki", "PAVuC"), cell("Wiki", "LMVSC")]
    assert forecast.seconds_left(waiting, jobs=2) is None
    forecast.learn(waiting[0], {"wall": 6.0})
    forecast.learn(waiting[1], {"wall": 2.0})
    forecast.learn(waiting[1], {"status": "skipped"})
    assert forecast.seconds_left(waiting, jobs=2) == 4.0
    assert forecast.seconds_left([], jobs=2) == 0


def test_the_peak_is_that_since_it_was_forgotten():
    if memory_bytes() is None:
        pytest.skip("the system does not tell")
    np.ones(20_000_000).sum()  # a peak of 160 MB before
    forget_peak()
    before = memory_bytes()
    assert peak_bytes() < before + 80e6
    kept = np.ones(12_500_000)
    assert peak_bytes() - before > 0.9 * kept.nbytes


def test_an_environment_has_one_name():
    here = describe_environment()
    assert {"unaligned", "python", "numpy", "cores"} <= set(here)
    assert environment_name(here) == environment_name(dict(reversed(here.items())))
    assert environment_name(here) != environment_name(here | {"numpy": "0"})
