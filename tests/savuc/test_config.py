from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from unaligned import SAVuC, align
from unaligned.checkpoints import digest
from unaligned.savuc.config import EFFORTS, Settings, settings_of


def test_words_and_settings_are_both_efforts():
    own = replace(Settings(), n_starts=3)
    assert settings_of(own) is own
    for word, settings in EFFORTS.items():
        assert settings_of(word) == settings
    assert settings_of("normal") == Settings()


def test_more_effort_is_never_less_of_anything_that_costs():
    quick, normal, thorough = (EFFORTS[w] for w in ("quick", "normal", "thorough"))
    for name in ("n_starts", "n_searches", "n_candidates"):
        values = [getattr(settings, name) for settings in (quick, normal, thorough)]
        assert values == sorted(values), name
    assert quick.n_starts < thorough.n_starts


def test_efforts_differ_in_the_search_and_not_in_the_test():
    search = {"n_starts", "n_searches", "n_candidates"}
    for settings in EFFORTS.values():
        for field in fields(Settings):
            if field.name not in search:
                expected = getattr(Settings(), field.name)
                assert getattr(settings, field.name) == expected, field.name


def test_the_schedule_takes_more_directions_at_lower_temperature():
    for settings in EFFORTS.values():
        directions, temperatures = zip(*settings.schedule, strict=True)
        assert list(directions) == sorted(directions)
        assert list(temperatures) == sorted(temperatures, reverse=True)
        assert directions[-1] <= settings.n_directions


def test_settings_do_not_change_under_a_fit():
    with pytest.raises(FrozenInstanceError):
        Settings().ridge = 1.0
    with pytest.raises(TypeError):
        Settings(40)


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ({"n_starts": 0}, "n_starts=0 is no setting: it must be a whole number above"),
        ({"n_starts": 2**31}, "below 2147483648"),
        ({"n_starts": 2.0}, "n_starts=2.0"),
        ({"n_rivals": -1}, "a whole number from 0"),
        ({"ridge": np.nan}, "ridge=nan is no setting: it must be a number from 0"),
        ({"sharpness": 0.0}, "a number above 0"),
        ({"schedule": ((10, 0.05, 3),)}, "a tuple of steps"),
        ({"schedule": [(10, 0.05)]}, "a tuple of steps"),
    ],
)
def test_settings_that_no_search_works_with_are_refused(setting, wanted):
    with pytest.raises(ValueError, match=wanted):
        Settings(**setting)


def test_none_of_what_can_be_left_out_and_numbers_of_numpy_are_fine():
    Settings(n_rivals=0, n_rival_rows=0, least_gain=0, ridge=np.float32(0.1))


def test_equal_settings_are_one_fit_to_a_checkpoint():
    step = (10, 0.05)
    shared, apart = ((step, step), tuple((10, float("0.05")) for _ in range(2)))
    assert digest(Settings(schedule=shared)) == digest(Settings(schedule=apart))
    assert digest(Settings(n_starts=3)) != digest(Settings(n_starts=4))


@pytest.mark.parametrize("effort", ["lazy", 3, None])
def test_other_efforts_are_refused_by_name(effort):
    with pytest.raises(ValueError, match=r"'effort' .*'quick'.* Got"):
        align([[[0.0], [1.0]]] * 2, effort=effort)
    with pytest.raises(ValueError, match=r"'effort' .*'quick'.* Got"):
        SAVuC(2, effort=effort).fit([[[0.0], [1.0]]] * 2)
