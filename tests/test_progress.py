import io
import sys
import threading
import time

import numpy as np
import pytest

from unaligned import progress
from unaligned.progress import Heartbeat, Pace, say


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def shown():
    return []


@pytest.fixture
def heart(clock, shown):
    return Heartbeat(lambda line, again: shown.append((line, again)), clock)


def test_something_is_shown_at_least_every_two_seconds(heart, clock, shown):
    heart.say("searching")
    seen = [clock.now]
    for _ in range(40):  # looked at four times in two seconds, as the thread does
        clock.now += 0.5
        n = len(shown)
        heart.beat()
        seen += [clock.now] * (len(shown) - n)
    assert np.diff(seen).max() <= 2
    assert shown[0] == ("searching", False)
    assert shown[1] == ("searching: 2 s", True)
    assert shown[-1] == ("searching: 20 s", True)


def test_a_new_line_takes_the_place_of_the_old_one(heart, clock, shown):
    heart.say("searching")
    clock.now += 1.5
    heart.say("testing")
    clock.now += 1.5
    heart.beat()
    assert [line for line, _ in shown] == ["searching", "testing"]
    clock.now += 1
    heart.beat()
    assert shown[-1] == ("testing: 2 s", True)


def test_the_time_left_runs_down_and_never_out(heart, clock, shown):
    heart.say("searching", left=5)
    for _ in range(4):
        clock.now += 2
        heart.beat()
    ends = [line.split("about ")[1] for line, _ in shown]
    assert ends == ["5 s left", "3 s left", "1 s left", "1 s left", "1 s left"]


def test_long_times_are_minutes(heart, shown):
    heart.say("searching", left=600)
    assert shown == [("searching, about 10 min left", False)]


def test_nothing_is_shown_before_the_first_line(heart, clock, shown):
    clock.now += 10
    heart.beat()
    assert shown == []


def test_lines_go_through_the_heartbeat_that_is_on(heart, shown, capsys):
    with heart:
        say("one")
        with Heartbeat():  # does nothing inside another one
            say("two")
        say("three", to=sys.stderr)
    say("four", left=3)
    assert shown == [("one", False), ("two", False)]
    captured = capsys.readouterr()
    assert captured.out == "four, about 3 s left\n"
    assert captured.err == "three\n"


def test_a_thread_shows_the_line_again(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SILENCE", 0.02)
    with Heartbeat():
        say("searching")
        for _ in range(500):
            time.sleep(0.01)
            if (seen := capsys.readouterr().out.count("searching: 0 s")) > 0:
                break
    assert seen


def test_a_heartbeat_ends_with_what_it_belongs_to(heart):
    with heart:
        assert Heartbeat.current is heart
    assert Heartbeat.current is None
    with pytest.raises(ZeroDivisionError), Heartbeat():
        raise ZeroDivisionError
    assert Heartbeat.current is None


def test_a_stop_that_reaches_the_thread_ends_it_quietly(monkeypatch):
    monkeypatch.setattr(progress, "SILENCE", 0.0)

    def stop(line, again):
        raise KeyboardInterrupt

    heart = Heartbeat(stop)
    heart.note("searching")
    thread = threading.Thread(target=heart._run)
    thread.start()
    thread.join(timeout=5)
    assert not thread.is_alive()


def test_on_terminals_lines_take_each_others_place(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    progress._print("one", True)
    progress._print("two", False)
    assert screen.getvalue() == f"\r{'one':79}\r{'two':79}\n"


def test_pace_is_the_mean_of_what_was_done(clock):
    pace = Pace(clock)
    assert pace.left(3) is None
    clock.now += 4
    pace.step()
    clock.now += 8
    pace.step()
    assert pace.left(2) == 12
    clock.now += 5
    assert pace.left(2) == 7
    clock.now += 50
    assert pace.left(2) == 1
    assert pace.left(0) is None
