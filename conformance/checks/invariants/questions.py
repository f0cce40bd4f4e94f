"""What a frame asks of the client: a request of the server, or the requests in a result that asks for input."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model import Frame, Json, members
from conformance.session.session import Call


def questions(frame: Frame, call: Call | None) -> Iterator[tuple[str, dict[str, Json]]]:
    """Method and params of each; params that are no object count as empty, which other rules judge."""
    message = frame.message
    if not isinstance(message, dict):
        return
    if "method" in message:
        if "id" in message and isinstance(message["method"], str):
            yield message["method"], _object(message.get("params"))
        return
    result = message.get("result")
    if call is None or not isinstance(result, dict) or result.get("resultType") != "input_required":
        return
    for asked in _object(result.get("inputRequests")).values():
        if isinstance(asked, dict) and isinstance(asked.get("method"), str):
            yield asked["method"], _object(asked.get("params"))


def _object(value: Json) -> dict[str, Json]:
    return members(value)
