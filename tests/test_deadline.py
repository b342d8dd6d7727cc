import pytest
from hypothesis import given
from hypothesis import strategies as st

from unaligned.deadline import NEVER, Deadline, TimeIsUp

SECONDS = st.floats(0, 1e6)


class Clock:
    """Stands still until it is set."""

    now = 5.0

    def __call__(self):
        return self.now


def test_it_is_over_when_its_time_has_gone():
    clock = Clock()
    deadline = Deadline(10, clock)
    assert not deadline.over()
    deadline.check()
    clock.now = 14.9
    assert not deadline.over()
    assert deadline.at(0.5).over()
    clock.now = 15.0
    assert deadline.over()
    with pytest.raises(TimeIsUp):
        deadline.check()


@given(seconds=SECONDS, gone=SECONDS, pieces=st.integers(1, 9), rest=st.integers(0, 9))
def test_a_part_is_of_what_is_left(seconds, gone, pieces, rest):
    clock = Clock()
    deadline = Deadline(seconds, clock)
    clock.now += gone
    part = deadline.part(pieces, of=pieces + rest)
    left = max(seconds - gone, 0)
    assert part.seconds == pytest.approx(left * pieces / (pieces + rest), abs=1e-6)
    assert part.start == clock.now


def test_without_a_limit_there_is_no_end():
    for deadline in (NEVER, NEVER.at(0.1), NEVER.part(1, of=100), Deadline(None)):
        assert not deadline.over()
        deadline.check()
