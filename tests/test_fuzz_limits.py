"""What a JSON parser may refuse, and the same message without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.checks.fuzz.example import Example
from conformance.checks.fuzz.limits import extreme, tamed


def nested(levels: int) -> Any:
    """So many arrays within each other."""
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def message(value: Any) -> Example:
    """A request that carries the value."""
    text = json.dumps({"jsonrpc": "2.0", "id": "@id", "method": "ping", "params": {"_meta": {"a": value}}})
    return Example(text.encode(), "kind", "wrong")


@pytest.mark.parametrize(
    "value",
    [nested(64), nested(14), 2**53, -(2**64), 1e300, 1e-300, "x" * 5000, "a\u0000b", "\ud800", [0] * 300],
    ids=["64 deep", "14 deep", "2**53", "-2**64", "1e300", "1e-300", "long", "NUL", "surrogate", "many"],
)
def test_what_a_parser_may_refuse_is_told_and_can_be_left_out(value: Any) -> None:
    example = message(value)
    assert extreme(example)
    small = tamed(example)
    assert small is not None
    assert not extreme(small)
    assert json.loads(small.data)["method"] == "ping"
    assert b'"@id"' in small.data


@pytest.mark.parametrize("value", [nested(5), 2**53 - 1, 0.1, -0.0, 1e-7, "hé世😀\n", "x" * 1000, [0] * 100, None])
def test_what_every_parser_takes_is_left_as_it_is(value: Any) -> None:
    example = message(value)
    assert not extreme(example)
    small = tamed(example)
    assert small is not None
    assert json.loads(small.data) == json.loads(example.data)


@pytest.mark.parametrize("data", [b"NaN", b"{", b"\xff", b"[1,]"])
def test_what_is_no_json_has_no_smaller_form(data: bytes) -> None:
    example = Example(data, "kind", "wrong")
    assert not extreme(example)
    assert tamed(example) is None


def test_the_numbers_of_a_script_stay_apart() -> None:
    lines = (b'{"jsonrpc":"2.0","id":@n1,"method":"ping"}', b'{"jsonrpc":"2.0","id":"a@n2","method":"ping"}')
    small = tamed(Example(b"\n".join(lines), "kind", "wrong", script=lines))
    assert small is not None
    assert [json.loads(line)["id"] for line in small.script] == [500_002, "a500003"]
