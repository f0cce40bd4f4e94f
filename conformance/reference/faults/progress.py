"""Faults in progress."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.fault import Fault, around, on_notification, on_question, sending, several
from conformance.reference.tasks import TaskCall
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError, is_id, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply, Proceed

PROGRESS = "notifications/progress"


def _late_progress(message: Message, call: Call | None) -> Any:
    token = call.meta.get("progressToken") if call and "method" not in message else None
    result = message.get("result", {})
    if token is None or isinstance(call, TaskCall) or "task" in result or result.get("resultType") == "task":
        return message
    return [message, notification(PROGRESS, {"progressToken": token, "progress": 1000})]


def _own_token(message: Message, call: Call | None) -> None:
    message["params"]["progressToken"] = "own-token"


def _falling(message: Message, call: Call | None) -> None:
    message["params"]["progress"] = -message["params"]["progress"]


def _flood(message: Message, call: Call | None) -> list[Message]:
    done = message["params"]["progress"]
    return [
        {**message, "params": {**message["params"], "progress": done + number / 1000 if number else done}}
        for number in range(200)
    ]


def _token_as_text(message: Message, call: Call | None) -> None:
    message["params"]["progressToken"] = str(message["params"]["progressToken"])


def _token_as_number(message: Message, call: Call | None) -> None:
    token = message["params"]["progressToken"]
    if str(token).isdecimal():
        message["params"]["progressToken"] = int(token)


def _refusing(kind: type, method: str | None = None) -> Apply:
    """Refuse progress tokens of that type, of one method or of all."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if method in (None, call.method) and isinstance(call.meta.get("progressToken"), kind):
            raise RpcError(INVALID_PARAMS, "Invalid params: params._meta.progressToken has a wrong type")
        return proceed(call)

    return around(serve)


def _retold(change: Callable[[str], str]) -> Apply:
    """Change tokens that are text."""

    def retell(message: Message, call: Call | None) -> None:
        token = message["params"]["progressToken"]
        if isinstance(token, str):
            message["params"]["progressToken"] = change(token)

    return on_notification(PROGRESS, retell)


def _of_the_last() -> Apply:
    """Send all progress to the token that came last."""
    tokens: list[Any] = []

    def note(call: Call, proceed: Proceed) -> Message | None:
        if call.method == "tools/call" and is_id(call.meta.get("progressToken")):
            tokens.append(call.meta["progressToken"])
        return proceed(call)

    def retell(message: Message, call: Call | None) -> None:
        message["params"]["progressToken"] = tokens[-1]

    return several(around(note), on_notification(PROGRESS, retell))


FAULTS = (
    Fault(
        "progress-for-the-last-token",
        "progress/value-increases",
        "of two calls at the same time the second gets the progress of both",
        _of_the_last(),
        only="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "progress-token-shortened",
        "progress/known-token-only",
        "of a long progressToken only the first 64 characters come back",
        _retold(lambda token: token[:64]),
        until="2025-11-25",
    ),
    Fault(
        "progress-token-in-ascii",
        "progress/known-token-only",
        "a progressToken with other characters than those of ASCII is changed",
        _retold(lambda token: token.encode("ascii", "replace").decode()),
        until="2025-11-25",
    ),
    Fault(
        "text-tokens-refused",
        "progress/tokens-accepted",
        "requests with a progressToken that is a string are refused",
        _refusing(str),
    ),
    Fault(
        "integer-tokens-of-reads-refused",
        "progress/tokens-accepted",
        "reads with a progressToken that is an integer are refused",
        _refusing(int, "resources/read"),
    ),
    Fault(
        "progress-token-own",
        "progress/known-token-only",
        "progress carries a token that the client never gave",
        on_notification(PROGRESS, _own_token),
    ),
    Fault("progress-falls", "progress/value-increases", "progress decreases", on_notification(PROGRESS, _falling)),
    Fault(
        "progress-after-result",
        "progress/stops-after-completion",
        "progress comes after the result",
        sending(_late_progress),
        transports="stdio",
    ),
    Fault(
        "progress-total-null",
        "progress/shape",
        "progress has total: null",
        on_notification(PROGRESS, lambda message, call: message["params"].update(total=None)),
    ),
    Fault(
        "progress-token-null",
        "progress/server-token-valid sampling/request-shape",
        "sampling requests carry a progressToken that is null",
        on_question("sampling/createMessage", lambda params: params.update(_meta={"progressToken": None})),
        until="2025-11-25",
    ),
    Fault(
        "progress-floods",
        "progress/rate-limited",
        "each step is reported two hundred times",
        on_notification(PROGRESS, _flood),
    ),
    Fault(
        "progress-token-as-text",
        "progress/known-token-only",
        "a progress token that is a number comes back as text",
        on_notification(PROGRESS, _token_as_text),
    ),
    Fault(
        "progress-token-as-number",
        "progress/known-token-only",
        "a progress token that is text of digits comes back as a number",
        on_notification(PROGRESS, _token_as_number),
    ),
)
