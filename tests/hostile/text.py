"""Targets whose text no terminal, no XML and no decoder holds."""

from __future__ import annotations

import json

from hostile.base import HERE, change
from hostile.numbers import with_value
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hostile.base import Message, Server

TEXTS = {
    "lone-surrogate": ("a lone surrogate", r'"\ud800"'),
    "reversed-surrogates": ("surrogates in the wrong order", r'"\udc00\ud800"'),
    "nul": ("U+0000", r'"a\u0000b"'),
    "control": ("control characters", '"' + "".join(f"\\u{n:04x}" for n in range(32)) + '"'),
    "escapes": ("escape sequences that clear a terminal", r'"\u001b[2J\u001b]0;title\u0007\u001b[31m\u009b31mred"'),
    "no-xml": ("what XML cannot hold", r'"\ufffe\uffff\u0008]]>&lt;\ud83f\udffe"'),
    "right-to-left": ("marks that turn the direction of text", r'"\u202eevil\u2066\u200f"'),
    "line-separators": ("line separators of every kind", r'"a\nb\rc\u2028d\u2029e\u0085f\u000bg"'),
    "markup": ("markup", r'"[bold red]x[/] <b>&amp;</b> {0} %s ${HOME} \\N{BULLET} `id`"'),
    "combining": ("10 000 combining characters", '"e' + "\\u0301" * 10_000 + '"'),
}
PLACES = {
    "name": ("the server's name", "initialize", "serverInfo.name"),
    "tool": ("the name of a tool", "tools/list", "tools.0.name"),
    "uri": ("the URI of a resource", "resources/list", "resources.0.uri"),
    "result": ("text of a tool", "tools/call", "content.0.text"),
    "version": ("protocolVersion", "initialize", "protocolVersion"),
    "property": ("a pattern", "tools/list", "tools.0.inputSchema.properties.text.pattern"),
    "mime": ("a MIME type", "resources/read", "contents.0.mimeType"),
}
CHOSEN = {
    "name": "lone-surrogate escapes no-xml markup line-separators nul",
    "tool": "lone-surrogate control escapes right-to-left combining markup",
    "uri": "lone-surrogate no-xml line-separators control",
    "result": "lone-surrogate reversed-surrogates nul escapes",
    "version": "lone-surrogate escapes markup",
    "property": "lone-surrogate nul",
    "mime": "control",
}
for _place, _texts in CHOSEN.items():
    _where, _method, _path = PLACES[_place]
    for _text in _texts.split():
        add(
            f"{_text}-in-{_place}",
            f"Says {TEXTS[_text][0]} as {_where}.",
            with_value(_method, _path, TEXTS[_text][1]),
            statuses=(1, 3) if _place == "version" else (0, 1, 3),
        )


def _in_errors(text: str) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        def edit(_request: Message, reply: Message) -> Message:
            if "error" in reply:
                reply["error"]["message"] = HERE
            return reply

        server.here = TEXTS[text][1]
        server.edit = edit

    return play


for _text in ("lone-surrogate", "escapes", "no-xml", "line-separators"):
    add(
        f"{_text}-in-errors",
        f"Says {TEXTS[_text][0]} as the message of every error.",
        _in_errors(_text),
    )


@target()
def latin_1(server: Server) -> None:
    """Writes Latin-1, with letters that are no UTF-8."""
    server.encoding = "latin-1"
    server.text = lambda message: json.dumps(message, ensure_ascii=False).replace("hostile", "böse")
    server.edit = lambda _request, reply: {**reply, "x": "Käse"}


@target(statuses=(1, 3), says="(?i)utf-?16|utf-?8|byte order|no message|not JSON|stdout")
def utf_16(server: Server) -> None:
    """Writes UTF-16 with a byte order mark before each message."""
    server.encoding = "utf-16"


@target(statuses=(1, 3))
def utf_16_without_mark(server: Server) -> None:
    """Writes UTF-16, little end first, without a mark."""
    server.encoding = "utf-16-le"


@target(statuses=(1, 3))
def utf_32(server: Server) -> None:
    """Writes UTF-32."""
    server.encoding = "utf-32"


@target()
def byte_order_mark(server: Server) -> None:
    """Writes a byte order mark before each message."""
    server.encoding = "utf-8-sig"


@target(statuses=(1,))
def raw_surrogates(server: Server) -> None:
    """Writes surrogates as if UTF-8 had them."""
    server.text = lambda message: (
        json.dumps(message).replace("hostile", "\ud800hostile").replace("}", ',"x":"\udfff"}', 1)
    )


@target()
def carriage_returns(server: Server) -> None:
    """Ends lines with CR LF."""
    plain = server.write
    server.write = lambda data: plain(data.replace(b"\n", b"\r\n"))


@target(statuses=(1, 3))
def carriage_returns_only(server: Server) -> None:
    """Ends lines with CR alone."""
    plain = server.write
    server.write = lambda data: plain(data.replace(b"\n", b"\r"))


@target(statuses=(1, 3))
def two_messages_a_line(server: Server) -> None:
    """Writes every answer twice on one line."""
    plain = server.write
    server.write = lambda data: plain(data.rstrip() + data)


@target()
def byte_by_byte(server: Server) -> None:
    """Writes every byte by itself."""
    plain = server.write
    server.write = lambda data: [plain(data[n : n + 1]) for n in range(len(data))]


@target()
def tools_of_one_name(server: Server) -> None:
    """Lists a hundred tools of one name."""
    change(server, "tools/list", "tools", [server.tools[0]] * 100)


vary(
    "text",
    """
    lone-surrogate-in-tool no-xml-in-name escapes-in-name escapes-in-tool lone-surrogate-in-result markup-in-version
    control-in-uri lone-surrogate-in-property no-xml-in-errors latin-1 utf-16 raw-surrogates byte-by-byte
    """,
)
