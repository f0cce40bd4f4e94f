"""Faults in how the client is asked for its roots."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.fault import Fault, sending
from conformance.reference.wire import Message


def _roots_token(message: Message, call: Call | None) -> None:
    if message.get("method") == "roots/list":
        message["params"] = {"_meta": {"progressToken": None}}


FAULTS = (
    Fault(
        "roots-token-null",
        "roots/request-shape progress/server-token-valid",
        "roots/list carries a progressToken that is null",
        sending(_roots_token),
        until="2025-11-25",
    ),
)
