"""Faults in keeping apart what several clients give: what belongs to a call is kept in the server."""

from __future__ import annotations

from threading import Condition

from conformance.reference.fault import Fault, around, instead
from conformance.reference.tool import answer
from conformance.reference.wire import Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

APART = "tools/arguments-kept-apart"
AT_URLS = "http http+sse"
TOGETHER = 0.2
"""Seconds in which a second call is taken for one at the same time."""


def _given(call: Call) -> Any:
    return call.params.get("arguments") or call.params.get("argument")


def _in_errors(*methods: str) -> Apply:
    """Have each error tell what was given last in a request of one of these methods."""
    last: list[Any] = [None]

    def serve(call: Call, proceed: Proceed) -> Message | None:
        try:
            return proceed(call)
        except RpcError as error:
            raise RpcError(error.code, f"{error.message} (the last request had {last[0]})", error.data) from None
        finally:
            if call.method in methods and _given(call):
                last[0] = _given(call)

    return around(serve)


def _in_logs() -> Apply:
    """Have each call log what the call before it was given."""
    last: list[Any] = [None]

    def run(call: Call, proceed: Proceed) -> Message | None:
        call.log("debug", {"before": last[0]})
        last[0] = _given(call)
        return proceed(call)

    return instead("tools/call", run)


def _in_logs_of_others() -> Apply:
    """Have each call of echo log what it was given to every other one that is under way."""
    running: list[Call] = []

    def run(call: Call, proceed: Proceed) -> Message | None:
        if call.params.get("name") != "echo":
            return proceed(call)
        running.append(call)
        try:
            for each in running:
                each.log("info", f"called with {_given(call)}")
            call.pause(TOGETHER)
            return proceed(call)
        finally:
            running.remove(call)

    return instead("tools/call", run)


def _in_a_global(server: Server) -> None:
    """Have the tool echo keep its text in the server until it gives it back; two calls at once share the place."""
    kept: list[str] = []
    changed = Condition()

    def echo(call: Call, given: dict[str, Any]) -> Message:
        with changed:
            kept.append(given["text"])
            changed.notify_all()
            mine = len(kept)
            changed.wait_for(lambda: len(kept) > mine, TOGETHER)
            return answer(kept[-1])

    server.tools["echo"].run = echo
    server.tools["echo"].waits = True


def _by_the_id(server: Server) -> None:
    """Have the tool echo give what the last of the calls under way with its id, if that is text, was given."""
    given_last: dict[str, str] = {}
    echo = server.tools["echo"].run

    def run(call: Call, given: dict[str, Any]) -> Message:
        if not isinstance(call.id, str):
            return echo(call, given)
        given_last[call.id] = given["text"]
        call.pause(TOGETHER)
        return answer(given_last[call.id])

    server.tools["echo"].run = run
    server.tools["echo"].waits = True


FAULTS = (
    Fault(
        "error-tells-last-call",
        APART,
        "the errors hold the arguments of the call before, whosever that was",
        _in_errors("tools/call"),
        transports=AT_URLS,
    ),
    Fault(
        "error-tells-last-prompt",
        APART,
        "the errors hold the arguments of the prompt that somebody got before",
        _in_errors("prompts/get"),
        transports=AT_URLS,
    ),
    Fault(
        "error-tells-last-completion",
        APART,
        "the errors hold the value that somebody had completed before",
        _in_errors("completion/complete"),
        transports=AT_URLS,
    ),
    Fault(
        "log-tells-last-call",
        APART,
        "a call logs the arguments of the call before, whosever that was",
        _in_logs(),
        transports=AT_URLS,
    ),
    Fault(
        "log-tells-calls-of-others",
        APART,
        "a call logs its arguments to all whose calls are under way",
        _in_logs_of_others(),
        transports=AT_URLS,
    ),
    Fault(
        "arguments-in-a-global",
        APART,
        "a tool keeps its argument in the server, so that two calls at the same time get the same answer",
        _in_a_global,
        transports=AT_URLS,
    ),
    Fault(
        "arguments-by-the-id",
        APART,
        "a tool keeps its argument under the id of the call, so that two clients with the same id get one answer",
        _by_the_id,
        transports=AT_URLS,
    ),
)
