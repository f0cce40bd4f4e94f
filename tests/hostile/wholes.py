"""Targets that do one thing wrong in all that they say: each is one defect, however many rules it breaks."""

from __future__ import annotations

from hostile.registry import target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

OPTIONAL = {
    "tools/list": ("tools", ("title", "outputSchema", "icons", "annotations")),
    "resources/list": ("resources", ("title", "description", "size", "icons")),
    "resources/templates/list": ("resourceTemplates", ("title", "description", "icons")),
    "prompts/list": ("prompts", ("title", "icons")),
}
"""Method → the list in its result, and the members of an element that may be left out."""


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with whatever is in it changed."""
    if isinstance(value, dict):
        return {name: _each(each, change) for name, each in value.items()}
    return [_each(each, change) for each in value] if isinstance(value, list) else change(value)


def _results(server: Server, change: Callable[[str, Any], Any], opening: bool = False) -> None:
    """Have each result changed, by its method; the one that opens the session only if `opening`."""

    def edit(request: Message, reply: Message) -> Message:
        if "result" in reply and (opening or request["method"] != "initialize"):
            reply["result"] = change(request["method"], reply["result"])
        return reply

    server.edit = edit


def _errors(server: Server, change: Callable[[Message], Message]) -> None:
    """Have the members of each refusal changed, but for jsonrpc and id."""

    def edit(request: Message, reply: Message) -> Message:
        return {"jsonrpc": "2.0", "id": reply["id"], **change(reply["error"])} if "error" in reply else reply

    server.edit = edit


@target(statuses=(1,))
def refuses_by_silence(server: Server) -> None:
    """Answers what it can do, and leaves all other requests without an answer."""
    server.edit = lambda request, reply: None if "error" in reply else reply


@target(statuses=(1,))
def numbers_as_text(server: Server) -> None:
    """Writes numbers as text, but for ids."""

    def text(value: Any) -> Any:
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    server.edit = lambda request, reply: {**_each(reply, text), "id": reply["id"]}
    plain = server.send
    server.send = lambda message: plain(_each(message, text) if "method" in message else message)


@target(statuses=(1,))
def booleans_as_text(server: Server) -> None:
    """Writes true and false as text."""
    _results(server, lambda _, result: _each(result, lambda each: str(each) if isinstance(each, bool) else each))


@target(statuses=(1,))
def nulls_for_what_is_absent(server: Server) -> None:
    """Has null for each optional member that has no value."""

    def nulls(method: str, result: Message) -> Message:
        name, absent = OPTIONAL.get(method, ("", ()))
        if name:
            items = [{**dict.fromkeys(absent), **item} for item in result[name]]
            return {"nextCursor": None, **result, name: items}
        return result

    _results(server, nulls)


@target(statuses=(1,))
def lists_as_objects(server: Server) -> None:
    """Writes the lists of tools, resources and prompts as objects, with the names as keys."""

    def named(method: str, result: Message) -> Message:
        name = OPTIONAL.get(method, ("",))[0]
        return {name: {each["name"]: each for each in result[name]}} if name else result

    _results(server, named)


@target(statuses=(1,))
def results_in_data(server: Server) -> None:
    """Puts every result into another object, as its member data."""
    _results(server, lambda _, result: {"data": result})


@target(statuses=(1,))
def results_as_lists(server: Server) -> None:
    """Puts every result into a list."""
    _results(server, lambda _, result: [result])


@target(statuses=(1,))
def empty_results_as_null(server: Server) -> None:
    """Has null for results without members."""
    _results(server, lambda _, result: result or None)


@target(statuses=(0, 1))
def one_code_for_all_errors(server: Server) -> None:
    """Refuses everything with the code -32000."""
    _errors(server, lambda error: {"error": {**error, "code": -32000}})


@target(statuses=(1,))
def refuses_with_null(server: Server) -> None:
    """Refuses everything with error: null."""
    _errors(server, lambda _: {"error": None})


@target(statuses=(1,))
def refuses_with_empty_results(server: Server) -> None:
    """Answers what has to be refused with an empty result."""
    _errors(server, lambda _: {"result": {}})


@target(statuses=(1,))
def errors_beside_results(server: Server) -> None:
    """Has an error, which says that all is well, beside every result."""
    well = {"code": 0, "message": ""}
    server.edit = lambda request, reply: {**reply, "error": well} if "result" in reply else reply


@target(statuses=(1,))
def methods_in_responses(server: Server) -> None:
    """Says in each response what method it is about."""
    server.edit = lambda request, reply: {**reply, "method": request["method"]}


@target(statuses=(1,))
def declares_nothing(server: Server) -> None:
    """Has null for its capabilities, and serves all that it has."""
    _results(server, lambda method, r: {**r, "capabilities": None} if method == "initialize" else r, opening=True)


@target(statuses=(1,))
def fails_whatever_is_asked(server: Server) -> None:
    """Has opened a session and fails inside at every other request."""
    inside = {"code": -32603, "message": "'NoneType' object has no attribute 'get'"}

    def edit(request: Message, reply: Message) -> Message:
        return reply if request["method"] == "initialize" else {"jsonrpc": "2.0", "id": reply["id"], "error": inside}

    server.edit = edit


@target(statuses=(1,))
def responses_lose_their_ids(server: Server) -> None:
    """Has null for the id of each response."""
    server.edit = lambda request, reply: {**reply, "id": None}


@target(statuses=(1,))
def acknowledges_whatever_comes(server: Server) -> None:
    """Answers notifications with an empty result without an id."""

    def take(line: bytes) -> None:
        server.line(line)
        if b'"id"' not in line and b'"method"' in line:
            server.send({"jsonrpc": "2.0", "id": None, "result": {}})

    server.take = take


vary("wholes", "numbers-as-text results-in-data methods-in-responses")
