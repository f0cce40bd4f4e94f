"""Faults in what becomes of a call while another client has one under way, or has gone."""

from __future__ import annotations

from conformance.reference.call import Cancelled
from conformance.reference.fault import Fault, instead
from conformance.reference.wire import RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.call import Call
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.wire import Message

ANSWERED = "jsonrpc/every-request-answered-once"
AT_URLS = "http"
NEW = "2026-07-28"


def _one_call_an_id(lost: bool) -> Apply:
    """Keep calls by their ids alone: a second one is refused, or takes the answer from the first."""
    running: dict[str, Call] = {}

    def run(call: Call, proceed: Proceed) -> Message | None:
        if not isinstance(call.id, str):
            return proceed(call)
        if call.id in running and not lost:
            raise RpcError(-32600, "Invalid request: the id is in use")
        running[call.id] = call
        try:
            result = proceed(call)
            if running.get(call.id) is not call:
                raise Cancelled
            return result
        finally:
            if running.get(call.id) is call:
                del running[call.id]

    return instead("tools/call", run)


def _closing_ends_all(lost: bool) -> Apply:
    """Have a client that closes its connection end the calls of all others as well."""
    running: list[Call] = []
    ended: list[Call] = []

    def run(call: Call, proceed: Proceed) -> Message | None:
        running.append(call)
        try:
            result = proceed(call)
        except Cancelled:
            ended.extend(each for each in running if each is not call)
            raise
        finally:
            running.remove(call)
        if call not in ended:
            return result
        if lost:
            raise Cancelled
        raise RpcError(-32603, "Internal error: cancelled")

    return instead("tools/call", run)


def _closing_keeps_the_lock(lost: bool) -> Apply:
    """Have a tool whose call was broken off be busy for ever."""
    held: set[str] = set()

    def run(call: Call, proceed: Proceed) -> Message | None:
        name = call.params.get("name", "")
        if name in held:
            if lost:
                raise Cancelled
            raise RpcError(-32603, "Internal error: the tool is already running")
        try:
            return proceed(call)
        except Cancelled:
            held.add(name)
            raise

    return instead("tools/call", run)


FAULTS = (
    Fault(
        "id-of-another-client-refused",
        ANSWERED,
        "a call is refused while another client has one with the same id under way, if it is text",
        _one_call_an_id(lost=False),
        transports=AT_URLS,
    ),
    Fault(
        "id-of-another-client-lost",
        ANSWERED,
        "a call has no answer if another client has begun one with the same id meanwhile, if it is text",
        _one_call_an_id(lost=True),
        transports=AT_URLS,
    ),
    Fault(
        "closing-fails-others",
        ANSWERED,
        "a client that closes its connection makes the calls of all others fail that are under way",
        _closing_ends_all(lost=False),
        transports=AT_URLS,
        since=NEW,
    ),
    Fault(
        "closing-silences-others",
        ANSWERED,
        "a client that closes its connection takes the answers from all others whose calls are under way",
        _closing_ends_all(lost=True),
        transports=AT_URLS,
        since=NEW,
    ),
    Fault(
        "closing-keeps-tools-busy",
        ANSWERED,
        "a tool fails for ever once the connection of one of its calls was closed",
        _closing_keeps_the_lock(lost=False),
        transports=AT_URLS,
        since=NEW,
    ),
    Fault(
        "closing-keeps-tools-silent",
        ANSWERED,
        "a tool does not answer any more once the connection of one of its calls was closed",
        _closing_keeps_the_lock(lost=True),
        transports=AT_URLS,
        since=NEW,
    ),
)
