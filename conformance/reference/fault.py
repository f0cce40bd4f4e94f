"""What a fault is, and the ways to make one: functions that change a server before it starts."""

from __future__ import annotations

import os
from copy import deepcopy

from conformance.reference.call import Call, Cancelled
from conformance.reference.identity import REVISIONS
from conformance.reference.server import Server
from conformance.reference.wire import INVALID_REQUEST, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

    Apply = Callable[[Server], None]
    Proceed = Callable[[Call], Message | None]

HANDSHAKE = REVISIONS[:-1]
STATELESS = REVISIONS[-1:]
OPENING = ("initialize", "server/discover")
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
UNKNOWN_TOOL = "Unknown tool"
UNKNOWN_METHOD = "Method not found"


class Fault:
    """A named defect.

    `requirements` are the ids of the requirements that it breaks, separated by blanks: the first is the one it is
    made for, the others are those that a check may hold against it as well. `since` and `until` bound the revisions
    in which it shows, of which `only` may name fewer; `transports` are those on which it shows.
    """

    __slots__ = ("apply", "name", "requirements", "revisions", "summary", "transports")

    def __init__(self, name: str, requirements: str, summary: str, apply: Apply, **where: str) -> None:
        self.name = name
        self.requirements = tuple(requirements.split())
        self.summary = summary
        self.apply = apply
        self.transports = tuple(where.get("transports", "stdio http").split())
        self.revisions = tuple(
            revision
            for revision in REVISIONS
            if where.get("since", "") <= revision <= where.get("until", "9") and revision in where.get("only", revision)
        )


def several(*applies: Apply) -> Apply:
    """All of them."""

    def apply(server: Server) -> None:
        for each in applies:
            each(server)

    return apply


def setting(name: str, value: Any) -> Apply:
    """Replace a seam of the server."""
    return lambda server: setattr(server, name, value)


def undeclared(*features: str) -> Apply:
    """Do not declare the features, yet serve them."""

    def change(result: Message, call: Call) -> None:
        for feature in features:
            result["capabilities"].pop(feature, None)

    return on_result(OPENING, change)


def without(*features: str) -> Apply:
    """Neither declare nor serve the features."""
    return lambda server: setattr(server, "undeclared", server.undeclared | set(features))


def sending(change: Callable[[Message, Call | None], Any]) -> Apply:
    """Change outgoing messages: `change` gets a copy of each and returns what is sent instead.

    That is one message, a list of messages (an array is sent by a list within the list), or None for the copy.
    """

    def outgoing(message: Message, call: Call | None) -> list[Any]:
        if not isinstance(message, dict):
            return [message]
        message = deepcopy(message)
        instead = change(message, call)
        return [message] if instead is None else instead if isinstance(instead, list) else [instead]

    return lambda server: server.outgoing.append(outgoing)


def on_response(methods: Iterable[str], change: Callable[[Message, Call], Any]) -> Apply:
    """Change the responses, results and errors, to requests of some methods; `change` as for `sending`."""
    wanted = tuple(methods)

    def change_response(message: Message, call: Call | None) -> Any:
        return change(message, call) if call and "method" not in message and call.method in wanted else message

    return sending(change_response)


def on_result(methods: Iterable[str], change: Callable[[Message, Call], Any]) -> Apply:
    """Change the results of some methods, in place or by returning another result."""

    def change_result(message: Message, call: Call) -> None:
        result = message.get("result")
        if result is not None and "task" not in result and result.get("resultType") != "task":
            instead = change(result, call)
            if instead is not None:
                message["result"] = instead

    return on_response(methods, change_result)


def on_item(method: str, which: str, change: Callable[[Message], Any]) -> Apply:
    """Change one item of a list: the one whose name or URI is `which`."""

    def change_item(result: Message, call: Call) -> None:
        for member in ("tools", "resources", "resourceTemplates", "prompts"):
            for item in result.get(member, ()):
                if which in (item.get("name"), item.get("uri"), item.get("uriTemplate")):
                    change(item)

    return on_result((method,), change_item)


def on_tool(name: str, change: Callable[[Message], Any]) -> Apply:
    """Change the results of a tool, in place or by returning another one."""
    return on_result(("tools/call",), lambda result, call: change(result) if call.params.get("name") == name else None)


def on_error(start: str, change: Callable[[Message, Call | None], Any]) -> Apply:
    """Change the responses whose error message starts with `start`; `change` gets the whole response."""

    def change_error(message: Message, call: Call | None) -> Any:
        error = message.get("error")
        return change(message, call) if isinstance(error, dict) and error["message"].startswith(start) else message

    return sending(change_error)


def code(start: str, number: Any) -> Apply:
    """Give the errors whose message starts with `start` another code."""
    return on_error(start, lambda message, call: message["error"].update(code=number))


def on_notification(method: str, change: Callable[[Message, Call | None], Any]) -> Apply:
    """Change notifications whose method starts with `method`; `change` as for `sending`."""

    def change_notification(message: Message, call: Call | None) -> Any:
        ours = "id" not in message and message.get("method", "").startswith(method)
        return change(message, call) if ours else message

    return sending(change_notification)


def on_question(method: str, change: Callable[[Message], Any]) -> Apply:
    """Change the params of the requests of one method that go to the client, as messages or as inputRequests."""

    def change_params(message: Message, call: Call | None) -> None:
        if message.get("method") == method:
            change(message["params"])
        for request in message.get("result", {}).get("inputRequests", {}).values():
            if request["method"] == method:
                change(request["params"])

    return sending(change_params)


def dropped(method: str) -> Apply:
    """Do not send notifications whose method starts with `method`."""
    return on_notification(method, lambda message, call: [])


def around(serve: Callable[[Call, Proceed], Message | None]) -> Apply:
    """Serve requests otherwise: `serve` gets the request and the correct way to serve it."""

    def apply(server: Server) -> None:
        proceed = server.handle
        server.handle = lambda call: serve(call, proceed)

    return apply


def instead(method: str, run: Callable[[Call, Proceed], Message | None]) -> Apply:
    """Serve one method otherwise."""
    return around(lambda call, proceed: run(call, proceed) if call.method == method else proceed(call))


def failing(method: str, number: int, message: str = "This server does not") -> Apply:
    """Refuse one method."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        raise RpcError(number, message)

    return instead(method, run)


def forgiving(test: Callable[[Call], bool], result: Callable[[Call], Message]) -> Apply:
    """Answer requests that are to be refused with `result`, if `test` says so."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        try:
            return proceed(call)
        except RpcError:
            if test(call):
                return result(call)
            raise

    return around(serve)


def when_ready(call: Call, proceed: Proceed) -> Message | None:
    """Refuse a request before notifications/initialized has come."""
    if not getattr(call.peer, "ready", True):
        raise RpcError(INVALID_REQUEST, "Invalid request: not initialized")
    return proceed(call)


def modern_only(server: Server) -> None:
    """Serve the stateless era alone."""
    server.revisions = STATELESS


def drop(value: Message, *names: str) -> None:
    """Remove members, if they are there."""
    for name in names:
        value.pop(name, None)


def die(*ignored: object) -> None:
    """End the process as a crash does."""
    os._exit(1)


def keep_silent(*ignored: object) -> NoReturn:
    """Never answer the request."""
    raise Cancelled
