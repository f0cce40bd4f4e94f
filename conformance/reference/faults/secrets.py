"""Faults in what the server tells of what it was given in confidence."""

from __future__ import annotations

import json
import os

from conformance.reference.fault import UNKNOWN_TOOL, Fault, on_error, on_tool
from conformance.reference.shape import text
from conformance.reference.wire import Message

SANITIZED = "tools/outputs-sanitized"


def _telling(result: Message) -> None:
    result["content"].append(text(json.dumps(dict(os.environ))))


FAULTS = (
    Fault(
        "unknown-tool-tells-environment",
        SANITIZED,
        "the error for an unknown tool holds the environment of the process",
        on_error(
            UNKNOWN_TOOL, lambda message, call: {**message, "error": {**message["error"], "data": dict(os.environ)}}
        ),
    ),
    Fault(
        "failed-tool-tells-environment",
        SANITIZED,
        "the result of a tool that failed holds the environment of the process",
        on_tool("fail", _telling),
    ),
    Fault(
        "tool-tells-environment",
        SANITIZED,
        "the result of a tool holds the environment of the process",
        on_tool("echo", _telling),
    ),
)
