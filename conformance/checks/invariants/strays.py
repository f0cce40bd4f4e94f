"""Responses that answer no request under way, and what can be told of them."""

from __future__ import annotations

import re

from conformance.budget import KEPT_BYTES, brief
from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import is_number
from conformance.model import Frame, Json
from conformance.session.messages import Call


def outlined(stray: Frame) -> Frame:
    """What is needed of a response to tell at the end what it answers: a large one is not kept for that."""
    if len(stray.data) <= KEPT_BYTES:
        return stray
    message = {name: stray.message[name] for name in ("jsonrpc", "id") if name in stray.message}
    if len(str(message.get("id"))) > KEPT_BYTES:
        message["id"] = shorten(message["id"])
    if (told := code(stray.message)) is not None:
        message["error"] = {"code": told}
    return brief(stray)._replace(message=message)


def code(response: dict[str, Json]) -> Json:
    """The code of an error, None if there is none."""
    error = response.get("error")
    return error.get("code") if isinstance(error, dict) else None


def meant(stray: Frame, waiting: list[Call]) -> Call | None:
    """The unanswered request that a response with a foreign id most likely answers."""
    identifier = stray.message.get("id")
    for call in waiting:
        if str(call.id) == str(identifier):
            return call
    earlier = [call for call in waiting if call.sent.number < stray.number]
    return earlier[-1] if earlier else None


def may_name(identifier: Json, text: bytes) -> bool:
    """Whether a text that is no message may be read as one with that id."""
    written = re.escape(str(identifier)).encode()
    return re.search(rb'id"?\s*:\s*"?' + written + rb"(?![0-9])", text) is not None


def as_double(identifier: Json, call: Call) -> bool:
    """Whether an integer id of more than 53 bits comes back as the double next to it."""
    large = isinstance(call.id, int) and 2**53 < abs(call.id) < 2**1023
    return large and is_number(identifier) and float(identifier) == float(call.id)
