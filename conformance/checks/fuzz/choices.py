"""Where an example comes from: a row of choices, drawn fast while a campaign runs, by Hypothesis while it shrinks.

An example is made by a function that asks `below(n)` for numbers and for nothing else. The numbers are kept, so that
Hypothesis can start from those of an example that showed a defect: it makes them fewer and smaller, and 0 is always the
simplest. Drawing by Hypothesis in the first place would cost more than the target needs for its answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Choices(Protocol):
    """A source of numbers."""

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1; the smaller, the simpler."""


class Drawn:
    """Numbers drawn with a seed: the same ones every time. `row` are those of the present example.

    The first two numbers of an example, which say of what kind it is and which one of the kind, are dealt like cards:
    each has its turn before one comes again.
    """

    DEALT = 2
    LARGEST = 400
    """Beyond so many there are no turns."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)
        self._decks: dict[tuple[int, ...], list[int]] = {}
        self.row: list[int] = []

    def begin(self) -> None:
        """What is drawn from now on belongs to another example."""
        self.row = []

    def below(self, limit: int) -> int:
        """See Choices."""
        if limit <= 1:
            return 0
        if len(self.row) < self.DEALT and limit <= self.LARGEST:
            deck = self._decks.setdefault((*self.row, -limit), [])
            if not deck:
                deck += range(limit)
                self._random.shuffle(deck)
            number = deck.pop()
        else:
            number = int(self._random.random() * limit)
        self.row.append(number)
        return number


def one_of(choices: Choices, values: Sequence[T]) -> T:
    """One of `values`; the first is the simplest."""
    return values[choices.below(len(values))]


def text(choices: Choices, alphabet: str, most: int) -> str:
    """Some of the characters of `alphabet`, at most `most`."""
    return "".join(one_of(choices, alphabet) for _ in range(choices.below(most + 1)))
