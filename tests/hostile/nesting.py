"""Targets that nest deeper than parsers and recursive functions go."""

from __future__ import annotations

from hostile.base import HERE
from hostile.numbers import with_value
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hostile.base import Message, Server


def arrays(levels: int) -> str:
    """Arrays, one within the other."""
    return "[" * levels + "]" * levels


def objects(levels: int) -> str:
    """Objects, one within the other."""
    return '{"a":' * levels + "0" + "}" * levels


PLACES = {
    "ping": ("the result of ping", "ping", "_meta.x"),
    "structured": ("structuredContent", "tools/call", "structuredContent.x"),
    "text-of-content": ("the content of a tool", "tools/call", "content.0.text"),
    "capabilities": ("the capabilities", "initialize", "capabilities.experimental.x.y"),
    "tool": ("a tool", "tools/list", "tools.0.annotations.x"),
    "resource": ("a resource", "resources/list", "resources.0._meta"),
    "server-info": ("serverInfo", "initialize", "serverInfo.x"),
}
for _place, _levels in (
    ("ping", (64, 900, 5000, 100_000)),
    ("structured", (900, 5000, 100_000)),
    ("text-of-content", (900, 100_000)),
    ("capabilities", (900, 100_000)),
    ("tool", (900, 100_000)),
    ("resource", (900, 100_000)),
    ("server-info", (100_000,)),
):
    _where, _method, _path = PLACES[_place]
    for _level in _levels:
        _make = objects if _place in ("resource", "structured") else arrays
        add(
            f"{_level}-levels-in-{_place}",
            f"Nests {_level} levels deep in {_where}.",
            with_value(_method, _path, _make(_level)),
            statuses=(0,) if _level == 64 else (0, 1, 3),
        )


def _schema(levels: int, opening: str, closing: str) -> str:
    return '{"type": "object", "properties": {"text": ' + opening * levels + "{}" + closing * levels + "}}"


for _name, _opening, _closing in (
    ("properties", '{"type": "object", "properties": {"a": ', "}}"),
    ("all-of", '{"allOf": [', "]}"),
    ("items", '{"type": "array", "items": ', "}"),
    ("not", '{"not": ', "}"),
    ("required-properties", '{"type": "object", "required": ["a"], "properties": {"a": ', "}}"),
):
    for _level in (900, 20_000):
        add(
            f"input-schema-of-{_level}-{_name}",
            f"Has an inputSchema of {_level} {_name}, one within the other.",
            with_value("tools/list", "tools.0.inputSchema", _schema(_level, _opening, _closing)),
        )
    add(
        f"output-schema-of-5000-{_name}",
        f"Has an outputSchema of 5000 {_name}, one within the other.",
        with_value("tools/list", "tools.1.outputSchema", _schema(5000, _opening, _closing)),
    )


def _telling(server: Server, method: str, params: Message, text: str) -> None:
    server.here = text
    server.after["initialized"] = lambda: server.tell(method, params)


@target()
def nests_in_a_log_message(server: Server) -> None:
    """Logs 100 000 arrays, one within the other."""
    _telling(server, "notifications/message", {"level": "info", "data": HERE}, arrays(100_000))


@target()
def nests_in_a_log_message_of_900(server: Server) -> None:
    """Logs 900 objects, one within the other."""
    _telling(server, "notifications/message", {"level": "info", "data": HERE}, objects(900))


@target()
def nests_in_an_unknown_notification(server: Server) -> None:
    """Sends a notification with 5000 objects, one within the other."""
    _telling(server, "notifications/none", {"x": HERE}, objects(5000))


@target()
def nests_in_a_request(server: Server) -> None:
    """Pings with 100 000 objects in _meta, one within the other."""
    server.here = objects(100_000)
    server.after["initialized"] = lambda: server.tell("ping", {"_meta": {"x": HERE}}, id="p")


@target()
def nests_in_an_id(server: Server) -> None:
    """Answers with 5000 arrays as id."""
    server.here = arrays(5000)
    server.edit = lambda request, reply: reply if request["method"] == "initialize" else {**reply, "id": HERE}


@target()
def nests_in_error_data(server: Server) -> None:
    """Refuses with 5000 objects as data."""
    server.here = objects(5000)

    def edit(_request: Message, reply: Message) -> Message:
        if "error" in reply:
            reply["error"]["data"] = HERE
        return reply

    server.edit = edit


@target(statuses=(1, 3))
def nests_without_end(server: Server) -> None:
    """Opens 100 000 000 arrays at its start and closes none of them."""

    def open_them() -> None:
        for _ in range(1000):
            server.write(b"[" * 100_000)
        server.write(b"\n")

    server.after["start"] = open_them


vary(
    "nesting",
    """
    900-levels-in-ping 100000-levels-in-ping 5000-levels-in-structured 100000-levels-in-capabilities
    900-levels-in-tool 900-levels-in-resource input-schema-of-900-properties input-schema-of-20000-all-of
    output-schema-of-5000-not input-schema-of-900-required-properties nests-in-a-log-message nests-in-a-request
    nests-without-end
    """,
)
