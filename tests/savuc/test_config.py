from dataclasses import FrozenInstanceError, fields, replace

import pytest

from unaligned import SAVuC, align
from unaligned.savuc.config import EFFORTS, Settings, settings_of


def test_words_and_settings_are_both_efforts():
    own = replace(Settings(), n_starts=3)
    assert settings_of(own) is own
    for word, settings in EFFORTS.items():
        assert settings_of(word) == settings
    assert settings_of("normal") == Settings()


def test_more_effort_is_never_less_of_anything_that_costs():
    quick, normal, thorough = (EFFORTS[w] for w in ("quick", "normal", "thorough"))
    for name in ("n_starts", "n_searches", "beam_width", "n_candidates"):
        values = [getattr(settings, name) for settings in (quick, normal, thorough)]
        assert values == sorted(values), name
    assert quick.n_starts < thorough.n_starts


def test_efforts_differ_in_the_search_and_not_in_the_test():
    search = {"n_starts", "n_searches", "beam_width", "n_candidates"}
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


@pytest.mark.parametrize("effort", ["lazy", 3, None])
def test_other_efforts_are_refused_by_name(effort):
    with pytest.raises(ValueError, match=r"'effort' .*'quick'.* Got"):
        align([[[0.0], [1.0]]] * 2, effort=effort)
    with pytest.raises(ValueError, match=r"'effort' .*'quick'.* Got"):
        SAVuC(2, effort=effort).fit([[[0.0], [1.0]]] * 2)
