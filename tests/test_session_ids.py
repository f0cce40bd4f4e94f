"""What is made of session ids: random ones are told from counters, clocks, short ones and hashes of numbers."""

from __future__ import annotations

import hashlib
import itertools
import random
import uuid
from collections.abc import Callable

import pytest

from conformance.checks.probes.session_ids import ENOUGH, FEW, MANY, bits, counted

CHANCE = random.Random(14)
CLOCK = itertools.count(1_790_000_000_000_000_000, 3_000_017)


def characters(alphabet: str, length: int) -> str:
    """Some at random."""
    return "".join(CHANCE.choices(alphabet, k=length))


GOOD: dict[str, Callable[[int], str]] = {
    "random UUID": lambda number: str(uuid.UUID(int=CHANCE.getrandbits(128), version=4)),
    "random UUID without dashes": lambda number: uuid.UUID(int=CHANCE.getrandbits(128), version=4).hex,
    "random UUID in capitals, after a name": lambda number: f"session-{uuid.UUID(int=CHANCE.getrandbits(128))}".upper(),
    "UUID of version 7": lambda number: f"{next(CLOCK) // 10**6:012x}-7{characters('0123456789abcdef', 18)}",
    "21 characters of base64": lambda number: characters(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 21
    ),
    "hash": lambda number: hashlib.sha256(CHANCE.randbytes(32)).hexdigest(),
    "24 digits": lambda number: characters("0123456789", 24),
}
BAD: dict[str, Callable[[int], str]] = {
    "counter": str,
    "counter with zeros": lambda number: f"{number:040}",
    "counter after a name": lambda number: f"the-session-number-{number}",
    "hexadecimal counter": lambda number: f"{number:032x}",
    "milliseconds": lambda number: str(next(CLOCK) // 10**6),
    "nanoseconds": lambda number: str(next(CLOCK)),
    "time and counter": lambda number: f"{next(CLOCK)}-{number}",
    "UUID of version 1": lambda number: f"{next(CLOCK) & 0xFFFFFFFF:08x}-5c3a-11f1-9d2e-0242ac120002",
    "32 random bits": lambda number: f"session-{CHANCE.getrandbits(32):08x}",
    "6 digits": lambda number: characters("0123456789", 6),
    "Math.random().toString(36)": lambda number: characters("0123456789abcdefghijklmnopqrstuvwxyz", 11),
}


@pytest.mark.parametrize("many", [MANY, FEW])
@pytest.mark.parametrize("name", GOOD)
def test_random_ids_are_good(name: str, many: int) -> None:
    ids = [GOOD[name](number) for number in range(1, many + 1)]
    assert bits(ids) >= ENOUGH
    assert not counted(ids)


@pytest.mark.parametrize("many", [MANY, FEW])
@pytest.mark.parametrize("name", BAD)
def test_ids_that_can_be_guessed_are_found(name: str, many: int) -> None:
    assert bits([BAD[name](number) for number in range(1, many + 1)]) < ENOUGH


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256"])
def test_hashes_of_a_counter_are_found(algorithm: str) -> None:
    assert counted([hashlib.new(algorithm, str(number).encode()).hexdigest() for number in range(40, 60)])
