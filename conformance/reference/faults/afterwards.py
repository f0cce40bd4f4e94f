"""Faults in what comes after or beside something else: after a refusal, after another subscription."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.fault import LISTS, Fault, around, instead, on_response, sending
from conformance.reference.wire import INTERNAL_ERROR, INVALID_REQUEST, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

OLD = {"until": "2025-11-25"}
APART = "jsonrpc/response-id-echoed"
TOGETHER = 0.04
"""Seconds in which requests count as coming at the same time."""
ONCE = "jsonrpc/every-request-answered-once"


def _after(refused: Callable[[Call], bool], method: str, then: Callable[[Call, Proceed], Message | None]) -> Apply:
    """Serve `method` by `then` once a request that `refused` tells was refused, to whichever client."""
    upset: list[Call] = []

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method == method and upset:
            return then(call, proceed)
        try:
            return proceed(call)
        except RpcError:
            if refused(call):
                upset.append(call)
            raise

    return around(serve)


def _of(method: str) -> Callable[[Call], bool]:
    return lambda call: call.method == method


def _unready(call: Call, proceed: Proceed) -> Message | None:
    raise RpcError(INVALID_REQUEST, "Invalid request: initialize comes first")


def _broken(call: Call, proceed: Proceed) -> Message | None:
    raise RpcError(INTERNAL_ERROR, "Internal error: the transaction was rolled back")


def _emptied(member: str) -> Callable[[Call, Proceed], Message | None]:
    def run(call: Call, proceed: Proceed) -> Message | None:
        result = proceed(call)
        if result is not None:
            result[member] = []
            result.pop("nextCursor", None)
        return result

    return run


def _one_subscription(call: Call, proceed: Proceed) -> Message | None:
    known = call.peer.__dict__.setdefault("known_uris", set())
    known.add(call.params["uri"])
    if len(known) > 1:
        raise RpcError(INTERNAL_ERROR, "Internal error: there is a subscription already")
    return proceed(call)


def _once(call: Call, proceed: Proceed) -> Message | None:
    known = call.peer.__dict__.setdefault("known_uris", set())
    if call.params["uri"] in known:
        raise RpcError(INTERNAL_ERROR, "Internal error: subscribed before")
    known.add(call.params["uri"])
    return proceed(call)


def _next_dropped(refused: Callable[[Call], bool]) -> Apply:
    """Never send the response that follows the refusal of a request that `refused` tells."""
    due: list[Call] = []

    def change(message: Message, call: Call | None) -> Any:
        if call is None or "method" in message:
            return None
        if due:
            due.clear()
            return []
        if "error" in message and refused(call):
            due.append(call)
        return None

    return sending(change)


def _content_of_the_last(method: str) -> Apply:
    """Serve several requests of the method that come at the same time as the last of them."""
    last: list[Message] = []

    def serve(call: Call, proceed: Proceed) -> Message | None:
        last[:] = [call.params]
        call.pause(TOGETHER)
        call.params = last[0]
        return proceed(call)

    def apply(server: Server) -> None:
        for tool in server.tools.values():
            tool.waits = True
        instead(method, serve)(server)

    return apply


def _busy(call: Call) -> bool:
    """Whether a tool runs meanwhile for the same client."""
    return any(other.method == "tools/call" and other is not call for other in list(call.peer.running.values()))


def _mixed_while_busy(method: str) -> Apply:
    """While a tool runs, serve a request of the method as the one before it."""
    before: list[Message] = []

    def serve(call: Call, proceed: Proceed) -> Message | None:
        asked, called = call.params, _busy(call)
        if called and before:
            call.params = before[0]
        before[:] = [asked]
        return proceed(call)

    return instead(method, serve)


def _dropped_while_busy(*methods: str) -> Apply:
    def change(message: Message, call: Call) -> Any:
        return [] if _busy(call) else message

    return on_response(methods, change)


def _not_while_busy(call: Call, proceed: Proceed) -> Message | None:
    return None if _busy(call) else proceed(call)


def _level_lost(call: Call, proceed: Proceed) -> Message | None:
    peer: Any = call.peer
    peer.level = "debug"
    return proceed(call)


FAULTS = (
    Fault(
        "calls-answered-as-the-last",
        f"{APART} tools/arguments-kept-apart tools/structured-content-conforms progress/value-increases",
        "of several calls at the same time each gets the answer to the last",
        _content_of_the_last("tools/call"),
        only="2025-11-25 2026-07-28",
        transports="stdio",
    ),
    Fault(
        "reads-answered-as-the-last",
        APART,
        "of several reads at the same time each gets the answer to the last",
        _content_of_the_last("resources/read"),
        only="2025-11-25",
        transports="http",
    ),
    Fault(
        "completions-answered-as-the-last",
        APART,
        "of several completions at the same time each gets the answer to the last",
        _content_of_the_last("completion/complete"),
        only="2025-11-25",
        transports="http",
    ),
    Fault(
        "next-dropped-after-refused-read",
        ONCE,
        "the answer to the request after a refused resources/read never comes",
        _next_dropped(_of("resources/read")),
        transports="stdio",
    ),
    Fault(
        "next-dropped-after-unknown-method",
        ONCE,
        "the answer to the request after one with an unknown method never comes",
        _next_dropped(lambda call: call.method.startswith("mcp-conform/")),
        transports="stdio",
    ),
    Fault(
        "tools-unready-after-refusal",
        "tools/methods-available",
        "after a refused tools/call the list of tools is refused as before initialize",
        _after(_of("tools/call"), "tools/list", _unready),
    ),
    Fault(
        "tools-empty-after-refusal",
        "tools/methods-available",
        "after a refused tools/call the list of tools is empty",
        _after(_of("tools/call"), "tools/list", _emptied("tools")),
    ),
    Fault(
        "tools-fail-after-unknown-method",
        "tools/methods-available",
        "after an unknown method the list of tools fails",
        _after(lambda call: call.method.startswith("mcp-conform/"), "tools/list", _broken),
    ),
    Fault(
        "resources-fail-after-refusal",
        "resources/methods-available",
        "after a refused resources/read the list of resources fails",
        _after(_of("resources/read"), "resources/list", _broken),
    ),
    Fault(
        "resources-empty-after-refusal",
        "resources/methods-available",
        "after a refused resources/read the list of resources is empty",
        _after(_of("resources/read"), "resources/list", _emptied("resources")),
    ),
    Fault(
        "prompts-fail-after-refusal",
        "prompts/methods-available",
        "after a refused prompts/get the list of prompts fails",
        _after(_of("prompts/get"), "prompts/list", _broken),
    ),
    Fault(
        "prompts-empty-after-refusal",
        "prompts/methods-available",
        "after a refused prompts/get the list of prompts is empty",
        _after(_of("prompts/get"), "prompts/list", _emptied("prompts")),
    ),
    Fault(
        "level-lost-by-list",
        "logging/level-filter",
        "tools/list sets the level back",
        instead("tools/list", _level_lost),
        **OLD,
    ),
    Fault(
        "level-lost-by-ping",
        "logging/level-filter",
        "ping sets the level back",
        instead("ping", _level_lost),
        **OLD,
    ),
    Fault(
        "subscribe-second-refused",
        "resources/subscribe-answered",
        "a client may subscribe to one resource only",
        instead("resources/subscribe", _one_subscription),
        **OLD,
    ),
    Fault(
        "subscribe-again-refused",
        "resources/subscribe-answered",
        "a resource that was left cannot be subscribed to again",
        instead("resources/subscribe", _once),
        **OLD,
    ),
    Fault(
        "reads-mixed-while-busy",
        APART,
        "while a tool runs, a read gets the contents of the one before it",
        _mixed_while_busy("resources/read"),
        transports="stdio",
    ),
    Fault(
        "prompts-mixed-while-busy",
        APART,
        "while a tool runs, prompts/get gets the prompt of the one before it",
        _mixed_while_busy("prompts/get"),
        transports="stdio",
    ),
    Fault(
        "reads-dropped-while-busy",
        ONCE,
        "a read that comes while a tool runs is never answered",
        _dropped_while_busy("resources/read"),
        transports="stdio",
    ),
    Fault(
        "prompts-dropped-while-busy",
        ONCE,
        "prompts/get that comes while a tool runs is never answered",
        _dropped_while_busy("prompts/get"),
        transports="stdio",
    ),
    Fault(
        "completions-dropped-while-busy",
        ONCE,
        "completion/complete that comes while a tool runs is never answered",
        _dropped_while_busy("completion/complete"),
        since="2025-03-26",
        transports="stdio",
    ),
    Fault(
        "lists-dropped-while-busy",
        "jsonrpc/every-request-answered-once versioning/interleaved-requests-handled",
        "lists that are asked for while a tool runs never come",
        _dropped_while_busy(*LISTS),
        transports="stdio",
    ),
    Fault(
        "subscribe-dropped-while-busy",
        ONCE,
        "resources/subscribe that comes while a tool runs is never answered",
        _dropped_while_busy("resources/subscribe"),
        transports="stdio",
        **OLD,
    ),
    Fault(
        "listen-dropped-while-busy",
        "subscriptions/listen-supported",
        "subscriptions/listen that comes while a tool runs is dropped",
        instead("subscriptions/listen", _not_while_busy),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "levels-dropped-while-busy",
        ONCE,
        "logging/setLevel that comes while a tool runs is never answered",
        _dropped_while_busy("logging/setLevel"),
        transports="stdio",
        **OLD,
    ),
    Fault(
        "tasks-dropped-while-busy",
        ONCE,
        "tasks/get that comes while a tool runs is never answered",
        _dropped_while_busy("tasks/get"),
        since="2025-11-25",
        transports="stdio",
        **OLD,
    ),
)
