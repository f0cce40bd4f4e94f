"""Starting one after another: not too many at once, who waits comes first, and nobody waits in vain. No processes."""

from __future__ import annotations

import threading

import pytest

from conformance.engine.starting import Starts
from conformance.transports import StartError

FOREVER = 3600.0
"""Seconds."""


class Fake:
    """Something that starts at once."""

    def __init__(self) -> None:
        self.closed = False

    def start(self) -> None:
        pass

    def close(self, *, hurry: bool = False) -> None:
        self.closed = True


class Broken(Fake):
    """Something that cannot be started."""

    def start(self) -> None:
        raise StartError("there is no such command")


class Taker(threading.Thread):
    """Somebody who waits for one; `order` gets its name once it has one, or is sent away."""

    def __init__(self, name: str, starts: Starts[Fake], order: list[str], urgent: bool = False) -> None:
        super().__init__(name=name, daemon=True)
        self._starts, self._order, self._urgent = starts, order, urgent

    def run(self) -> None:
        try:
            self._starts.take(self._urgent)
        except StartError:
            self._order.append(f"{self.name} was sent away")
        else:
            self._order.append(self.name)

    def queue_up(self) -> Taker:
        """Start, and return once it waits."""
        before = self._starts.waiting
        self.start()
        while self._starts.waiting == before:
            self.join(0.001)
        return self


def busy(spares: int = 0, at_once: int = 1) -> Starts[Fake]:
    """As many have begun to start as may, which takes them for ever."""
    starts = Starts(Fake, spares, at_once)
    for _ in range(at_once):
        starts.take()
    starts.adapt(FOREVER)
    return starts


def test_no_more_start_at_once_than_may_and_whoever_waits_is_sent_away_in_the_end() -> None:
    starts = busy(at_once=3)
    order: list[str] = []
    waiting = Taker("late", starts, order).queue_up()
    starts.refuse()
    waiting.join()
    assert order == ["late was sent away"]
    assert starts.started == 3


def test_whoever_waits_gets_one_in_turn_once_a_start_is_over() -> None:
    starts = busy()
    order: list[str] = []
    waiting = [Taker(name, starts, order).queue_up() for name in ("first", "second", "third")]
    starts.adapt(0.0)
    for each in waiting:
        each.join()
    assert sorted(order) == ["first", "second", "third"]
    assert starts.started == 4


def test_what_is_urgent_comes_before_what_others_wait_for() -> None:
    starts = busy()
    order: list[str] = []
    plain = Taker("plain", starts, order).queue_up()
    urgent = Taker("urgent", starts, order, urgent=True).queue_up()
    starts.begin_with(Fake())
    urgent.join()
    assert order == ["urgent"]
    starts.refuse()
    plain.join()
    assert order == ["urgent", "plain was sent away"]


def test_one_that_was_started_ahead_is_given_out_though_no_other_may_start() -> None:
    starts = Starts(Fake, spares=2, at_once=2)
    starts.expect(2)
    starts.adapt(FOREVER)
    assert {starts.take(), starts.take()}
    assert starts.started == 2


def test_no_more_are_started_ahead_than_are_expected_or_than_there_are_spares() -> None:
    few, many = Starts(Fake, spares=5, at_once=9), Starts(Fake, spares=2, at_once=9)
    few.expect(1)
    many.expect(7)
    assert (len(few.leave()), len(many.leave())) == (1, 2)


def test_where_starts_take_long_as_many_as_allowed_are_made_ahead_and_made_up_for() -> None:
    starts = Starts(Fake, spares=2, at_once=9)
    starts.hoard()
    assert starts.started == 2
    starts.take()
    assert starts.started == 3
    assert len(starts.leave()) == 2


def test_one_that_cannot_be_started_ahead_is_told_to_who_needs_it() -> None:
    starts = Starts(Broken, spares=1)
    starts.expect(1)
    with pytest.raises(StartError, match="no such command"):
        starts.take()
    assert starts.started == 0


def test_what_comes_too_late_is_ended() -> None:
    made: list[Fake] = []

    class Late(Fake):
        def start(self) -> None:
            made.append(self)
            starts.refuse()

    starts: Starts[Fake] = Starts(Late, spares=1)
    starts.expect(1)
    assert [each.closed for each in made] == [True]
    assert starts.leave() == []
