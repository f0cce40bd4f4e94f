"""Faults in cancellation."""

from __future__ import annotations

from conformance.reference.call import Call, Cancelled
from conformance.reference.fault import (
    HANDSHAKE,
    STATELESS,
    Fault,
    around,
    die,
    instead,
    on_notification,
    on_result,
    sending,
    setting,
    several,
)
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError, decode, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

    from conformance.reference.call import Channel
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

SECONDS = 1.3
"""What a slow tool takes."""
CANCELLED = "notifications/cancelled"
IGNORED = "cancellation/invalid-cancellation-ignored"


def _wants_reason(server: Server) -> None:
    """Do not read a cancellation that gives none."""

    def lines(stream: BinaryIO) -> Iterator[bytes]:
        return (line for line in stream if CANCELLED.encode() not in line or b'"reason"' in line)

    server.lines = lines


def _answered_all_the_same(call: Call, proceed: Proceed) -> Message | None:
    try:
        return proceed(call)
    except Cancelled:
        if all(task.call is not call for task in call.peer.tasks.values()):  # those are answered already
            call.send(RpcError(0, "Request cancelled").response({"id": call.id}))
        raise


def _end_texts(call: Call) -> None:
    for each in list(call.peer.running.values()):
        if each is call or (isinstance(each.id, str) and isinstance(call.id, str)):
            each.cancelled.set()


def _end_same(call: Call) -> None:
    """End what has the same id in whatever session."""
    for peer in list(call.server.peers):
        each = peer.running.get(call.id)
        if each is not None:
            each.cancelled.set()


def _end_all(call: Call) -> None:
    for each in list(call.peer.running.values()):
        each.cancelled.set()


def _end_alike(call: Call) -> None:
    """End what has an id that looks the same: a number, or a text with its digits."""
    for identity, each in list(call.peer.running.items()):
        if str(identity) == str(call.id):
            each.cancelled.set()


def _losing_the_next() -> Apply:
    """Never answer the call that follows a cancellation."""
    due: list[Call] = []

    def cancel(call: Call) -> None:
        call.cancelled.set()
        due.append(call)

    def run(call: Call, proceed: Proceed) -> Message | None:
        if due and not call.cancelled.is_set():
            due.clear()
            raise Cancelled
        return proceed(call)

    return several(setting("cancel", cancel), instead("tools/call", run))


def _works_on() -> Apply:
    cancelled: set[Any] = set()

    def silent(message: Message, call: Call | None) -> Any:
        return [] if call and call.id in cancelled and "method" not in message else message

    return several(setting("cancel", lambda call: cancelled.add(call.id)), sending(silent))


def _slow(server: Server) -> None:
    """Leave one tool that is not quick, and let it take its time."""
    for name in [name for name, tool in server.tools.items() if tool.waits]:
        del server.tools[name]
    poem = server.tools["poem"]
    recite = poem.run

    def slowly(call: Call, given: Message) -> Message:
        call.pause(SECONDS)
        return recite(call, given)

    poem.run, poem.waits = slowly, True


def _told(test: Callable[[Message, set[Any]], bool], act: Callable[[Channel], object]) -> Apply:
    """Do `act` when a message comes in for which `test`, given also the ids that we have answered, is true."""

    def apply(server: Server) -> None:
        answered: set[Any] = set()
        channels: list[Channel] = []

        def lines(stream: BinaryIO) -> Iterator[bytes]:
            for line in stream:
                try:
                    message = decode(line)
                except RpcError:
                    message = None
                if isinstance(message, dict) and test(message, answered):
                    act(channels[0])
                yield line

        def outgoing(message: Message, call: Call | None) -> list[Any]:
            if "method" not in message or message["method"] == CANCELLED:
                given = message["params"].get("requestId") if "method" in message else message.get("id")
                answered.add(given) if is_id(given) else None
            return [message]

        server.lines = lines
        server.started.append(channels.append)
        server.outgoing.append(outgoing)

    return apply


def _named(message: Message) -> Any:
    params = message.get("params") if message.get("method") == CANCELLED else None
    return params.get("requestId") if isinstance(params, dict) else None


def _names_answered(message: Message, answered: set[Any]) -> bool:
    given = _named(message)
    return is_id(given) and given in answered


def _names_nothing(message: Message, answered: set[Any]) -> bool:
    return message.get("method") == CANCELLED and not is_id(_named(message))


def _dies_in_a_row(times: int) -> Apply:
    """Die once so many requests, one after the other, were each cancelled by the next message."""

    def apply(server: Server) -> None:
        last: Any = None
        row = 0

        def test(message: Message, answered: set[Any]) -> bool:
            nonlocal last, row
            given = _named(message)
            if is_id(given) and given == last:
                last, row = None, row + 1
                return row == times
            row = row if last is None and "method" in message else 0
            last = message.get("id")
            return False

        _told(test, die)(server)

    return apply


def _comes_late(message: Message, answered: set[Any]) -> bool:
    return "method" not in message and is_id(message.get("id")) and message["id"] in answered


def _refuse(channel: Channel) -> None:
    channel.send(RpcError(INVALID_PARAMS, "Invalid params: requestId").response({"id": None}))


FAULTS = (
    Fault(
        "cancels-requests-of-client",
        "cancellation/own-requests-only",
        "notifications/cancelled names requests of the client",
        on_result(("tools/call",), lambda result, call: call.notify(CANCELLED, {"requestId": call.id})),
        until="2025-11-25",
    ),
    Fault(
        "cancels-calls",
        "cancellation/server-cancels-listen-only",
        "notifications/cancelled is sent for tool calls",
        on_result(("tools/call",), lambda result, call: call.notify(CANCELLED, {"requestId": call.id})),
        since="2026-07-28",
    ),
    Fault(
        "cancelled-without-id",
        "cancellation/shape cancellation/own-requests-only lifecycle/timed-out-request-cancelled",
        "notifications/cancelled has a requestId that is an object",
        on_notification(CANCELLED, lambda message, call: message["params"].update(requestId={})),
        since="2025-03-26",
        until="2025-11-25",
    ),
    Fault(
        "cancelled-answered",
        "cancellation/no-response-after-cancel transport-stdio/silent-after-cancel",
        "a request that was cancelled is answered by an error",
        around(_answered_all_the_same),
        transports="stdio",
    ),
    Fault(
        "slow-tool-cancelled-answered",
        "cancellation/no-response-after-cancel transport-stdio/silent-after-cancel",
        "a call that was cancelled is answered by an error, and the only tool to show it takes more than a second",
        several(_slow, around(_answered_all_the_same)),
        only="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "cancelled-works-on",
        "cancellation/stops-processing transport-stdio/silent-after-cancel",
        "a request that was cancelled goes on, and only its response is withheld",
        _works_on(),
        transports="stdio",
    ),
    Fault(
        "cancels-numbers-only",
        "cancellation/no-response-after-cancel cancellation/stops-processing transport-stdio/silent-after-cancel",
        "the cancellation of a request whose id is a string has no effect",
        setting("cancel", lambda call: None if isinstance(call.id, str) else call.cancelled.set()),
        transports="stdio",
    ),
    Fault(
        "cancels-with-a-reason-only",
        "cancellation/no-response-after-cancel cancellation/stops-processing transport-stdio/silent-after-cancel",
        "a cancellation without a reason has no effect",
        _wants_reason,
        transports="stdio",
    ),
    Fault(
        "cancellation-ends-all",
        "jsonrpc/every-request-answered-once",
        "the cancellation of one request ends all that are under way",
        setting("cancel", _end_all),
        until=HANDSHAKE[-1],
    ),
    Fault(
        "cancels-ids-alike",
        "jsonrpc/every-request-answered-once",
        "a cancellation also ends the request whose id is a text with the digits of the other's number",
        setting("cancel", _end_alike),
        until=HANDSHAKE[-1],
    ),
    Fault(
        "call-after-cancellation-lost",
        "jsonrpc/every-request-answered-once",
        "the call that follows a cancellation is not answered",
        _losing_the_next(),
        transports="stdio",
    ),
    Fault(
        "cancellation-ends-all-with-text-ids",
        "jsonrpc/every-request-answered-once",
        "the cancellation of a request whose id is a string ends all such",
        setting("cancel", _end_texts),
        until=HANDSHAKE[-1],
    ),
    Fault(
        "cancellation-ends-those-of-others",
        "jsonrpc/every-request-answered-once",
        "a cancellation ends what has the same id in any session",
        setting("cancel", _end_same),
        until=HANDSHAKE[-1],
        transports="http",
    ),
    Fault(
        "cancellation-ends-all-stateless",
        "jsonrpc/every-request-answered-once",
        "the cancellation of one request ends all that are under way",
        setting("cancel", _end_all),
        since=STATELESS[0],
        transports="stdio",
    ),
    Fault(
        "late-cancellation-kills",
        f"cancellation/late-cancellation-harmless {IGNORED}",
        "the cancellation of a request that is answered ends the process",
        _told(_names_answered, die),
        transports="stdio",
    ),
    Fault(
        "cancellations-in-a-row-kill",
        "cancellation/late-cancellation-harmless",
        "nine requests, each of them cancelled at once, end the process",
        _dies_in_a_row(9),
        transports="stdio",
    ),
    Fault(
        "cancelled-at-once-kills",
        "cancellation/late-cancellation-harmless",
        "a request that is cancelled by the next message ends the process",
        _dies_in_a_row(1),
        transports="stdio",
    ),
    Fault(
        "malformed-cancellation-kills",
        IGNORED,
        "a cancellation without a proper id ends the process",
        _told(_names_nothing, die),
        transports="stdio",
    ),
    Fault(
        "malformed-cancellation-answered",
        IGNORED,
        "a cancellation without a proper id is answered by an error",
        _told(_names_nothing, _refuse),
        transports="stdio",
    ),
    Fault(
        "late-response-kills",
        "cancellation/late-response-ignored",
        "a response to a request that the server has cancelled ends the process",
        _told(_comes_late, die),
        until=HANDSHAKE[-1],
        transports="stdio",
    ),
)
