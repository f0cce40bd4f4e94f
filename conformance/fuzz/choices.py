"""Where a generated example comes from: a row of choices, drawn fast while a campaign runs, by Hypothesis while it shrinks.

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
    """Numbers drawn with a seed: the same ones every time. `row` are those of the present example."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)
        self._deck: list[int] = []
        self._forced: float | None = None
        self.row: list[int] = []

    def begin(self) -> None:
        """What is drawn from now on belongs to another example.

        Its first number, which says what kind of example it becomes, is dealt and not drawn: every kind gets its turn.
        """
        self.row = []
        self._forced = None

    def deal(self, kinds: int) -> None:
        """The first number of this example is one of `kinds`, each as often as the others, in a mixed order."""
        if not self._deck:
            self._deck = list(range(kinds))
            self._random.shuffle(self._deck)
        self._forced = self._deck.pop()

    def below(self, limit: int) -> int:
        """See Choices."""
        if limit <= 1:
            return 0
        if self._forced is not None:
            number, self._forced = int(self._forced) % limit, None
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
