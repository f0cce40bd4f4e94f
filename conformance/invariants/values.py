"""JSON values: numbers as JSON means them, and how a value is shown to people."""

from __future__ import annotations

from typing import TypeGuard

from conformance.expect import shorten as show
from conformance.model import Json

__all__ = ["is_integer", "is_number", "show"]


def is_number(value: Json) -> TypeGuard[int | float]:
    """Whether a value is a JSON number; `true` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value: Json) -> TypeGuard[int | float]:
    """Whether a value is a JSON number without a fraction; 7.0 is an integer for JSON Schema."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())
