"""Faults that show after so many requests, whatever these are."""

from __future__ import annotations

from conformance.reference.fault import Fault, die, sending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.fault import Apply
    from conformance.reference.wire import Message

ONCE = "jsonrpc/every-request-answered-once"


def _from(number: int, then: Callable[[], Any]) -> Apply:
    """Instead of the response of that number, and of each that follows."""
    said = 0

    def change(message: Message, call: Call | None) -> Any:
        nonlocal said
        if "method" in message:
            return message
        said += 1
        return message if said < number else then()

    return sending(change)


FAULTS = (
    Fault("ends-at-response-60", ONCE, "the process ends instead of its 60th response", _from(60, die)),
    Fault(
        "silent-from-response-40",
        ONCE,
        "from its 40th response on the process says nothing",
        _from(40, list),
        only="2025-11-25",
    ),
)
