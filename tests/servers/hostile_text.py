"""A server whose every word is hostile: line separators, quotes, escapes, markup. `python hostile_text.py [MODE]`.

It speaks the protocol well enough that everything it says is written down somewhere. Each text wants to become a key
`server` of a file, a command of a shell or markup; all of them would make a file named OWNED. Modes: `serve`,
`dies` with the texts on stderr, `refuses` with the texts in the error, `rude` with the texts on stdout.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

OWNED = "owned-by-the-server"
SEPARATORS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
"""What some reader takes for the end of a line."""

LINE = f"server: touch {OWNED}"
OTHERS = [
    f'"; touch {OWNED}; "',
    f"'; touch {OWNED}; '",
    f"$(touch {OWNED}) `touch {OWNED}` ${{HOME}} $HOME",
    "\\\" \\' \\n \\u0000 \\",
    "]]> <script>alert('&')</script> <!-- -- --> &lt; <![CDATA[",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;https://example.com\x1b\\ \x9b31m \x07\x08\x7f",
    "\u202eesrever\u202c \u2066isolated\u2069 \u200f \u200b \ufeff",
    "\ud800 alone \udfff \udc80",
    "\x00 \x01 \ufffe \uffff \U0010ffff \U0001f600 \ue000",
    "[bold red]markup[/] :smile: {port} {0} %s %(x)s",
    "- # & * ! | > % @ ` ? : , [] {} ~ null true 1e3 0x10 2026-01-01 --- ...",
    " leading and trailing \t",
    "größe 日本語 हिन्दी",
    "../../" + OWNED,
]
TEXTS = [f"a{separator}{LINE}{separator}# " for separator in SEPARATORS] + OTHERS
PIPELINES = [
    f"::error::{OWNED}",
    f"\n::add-mask::{OWNED}",
    f"\r::stop-commands::{OWNED}",
    f"\n  ::set-output name={OWNED}::1",
    f"##[error]{OWNED}",
    f"x\n::error title={OWNED},file={OWNED}::%0A::error::{OWNED}%250A",
    f"\n\n```\n\n# {OWNED}\n\n~~~~\n<h1>{OWNED}</h1>",
    f"```````{OWNED}```",
    f"` {OWNED} `` {OWNED} `",
    f"[{OWNED}](https://example.com/{OWNED}) ![{OWNED}](https://example.com/{OWNED}.png) <https://example.com/{OWNED}>",
    f"@{OWNED} #1 !1 GH-1 a/b#1 {OWNED}@example.com https://example.com/{OWNED} www.example.com",
    f"</code></pre></summary></details></title></text></svg><h1>{OWNED}</h1><img src=x onerror=alert(1)></script>",
    f"| {OWNED} | `|` \\| | --- |",
    f"$$ {OWNED} $$ $`{OWNED}`$ :{OWNED}: [[{OWNED}]] ~{OWNED} %1",
    f"=cmd|' /C touch {OWNED}'!A0",
    f"](javascript:{OWNED}) [{OWNED}](1) {{0}}",
]
"""What wants to be a command of a CI system, a link, a mention, a heading or a formula."""
ALL = " ".join([*TEXTS, *PIPELINES])
LONG = "long\n" * 200_000
HUGE = 10**400
WRONG: list[Any] = [{"a": ALL}, [ALL], None, HUGE, 1.5, True, ""]
"""What stands in place of names."""


def deep(levels: int) -> dict[str, Any]:
    """A schema that asks for an argument in an argument, and so on."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {OTHERS[0]: schema}, "required": [OTHERS[0]]}
    return schema


def tools() -> list[dict[str, Any]]:
    """Tools that may be called and others, with arguments of every kind."""
    found: list[dict[str, Any]] = []
    for number, text in enumerate(TEXTS):
        kinds: list[dict[str, Any]] = [
            {"const": {text: [text, {"a": HUGE}]}},
            {"$ref": text},
            {"enum": [text]},
            {"type": "string", "pattern": f"{text}[[x"},
            {"$ref": f"#/{text}"},
            {"type": text},
            {"type": "string", "default": text},
        ]
        found.append(
            {
                "name": text,
                "title": text,
                "description": text,
                "inputSchema": {"type": "object", "properties": {text: kinds[number % 7]}, "required": [text]},
                "outputSchema": {"type": "object", "properties": {text: {"const": text}}, "required": [text]},
                "annotations": {"readOnlyHint": bool(number % 3), "title": text},
                "_meta": {text: text},
            }
        )
    twice = {**found[1], "annotations": {"readOnlyHint": True}}
    other = {"inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    odd = [{"name": name, **other} for name in [*WRONG, LONG, "deep", "deeper"]]
    odd[-2]["inputSchema"], odd[-1]["inputSchema"] = deep(10), deep(60)
    return [*found, twice, twice, *odd]


def prompts() -> list[dict[str, Any]]:
    """Prompts with arguments."""
    return [
        {
            "name": name,
            "title": ALL,
            "description": ALL,
            "arguments": [{"name": name, "description": ALL, "required": True}, {"name": "b"}],
        }
        for name in [*TEXTS, *TEXTS[:1], *WRONG]
    ]


RESULTS: dict[str, Any] = {
    "ping": {},
    "tools/list": {"tools": tools(), ALL: ALL},
    "prompts/list": {"prompts": prompts()},
    "resources/list": {"resources": [{"uri": t, "name": t, "mimeType": t, "description": t} for t in [*TEXTS, *WRONG]]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": t, "name": t} for t in [*TEXTS, *WRONG]]},
    "resources/read": {"contents": [{"uri": ALL, "mimeType": ALL, "text": ALL}]},
    "prompts/get": {"description": ALL, "messages": [{"role": ALL, "content": {"type": ALL, "text": ALL}}]},
    "completion/complete": {"completion": {"values": TEXTS, "total": HUGE}},
    "tools/call": {"content": [{"type": "text", "text": ALL}], "structuredContent": {ALL: ALL}, "isError": False},
}


def say(message: dict[str, Any]) -> None:
    """Write one message; what JSON may escape is escaped, so that it is one line."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def complain() -> None:
    """Say everything on stderr."""
    os.write(2, f"{ALL}\n".encode("utf-8", "surrogatepass"))


def opened(version: str) -> dict[str, Any]:
    """The answer to initialize."""
    capabilities = {"tools": {ALL: ALL}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}, ALL: [HUGE]}
    info = {"name": ALL, "version": LONG, "title": ALL, "websiteUrl": ALL}
    return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info, "instructions": ALL}


def serve(rude: bool = False) -> None:
    """Answer, with a log message and a notification of no known method now and then."""
    for number, line in enumerate(sys.stdin):
        try:
            message = json.loads(line)
        except ValueError:
            message = {}
        if not isinstance(message, dict) or not isinstance(message.get("id"), int | str):
            continue
        method, params = message.get("method"), message.get("params")
        if number == 1:
            complain()
            say({"method": "notifications/message", "params": {"level": ALL, "logger": ALL, "data": {ALL: ALL}}})
            say({"method": ALL, "params": {ALL: ALL}})
        if rude:
            os.write(1, f"{TEXTS[number % len(TEXTS)]}\n".encode("utf-8", "surrogatepass"))
        if method == "initialize" and isinstance(params, dict):
            say({"id": message["id"], "result": opened(str(params.get("protocolVersion")))})
        elif isinstance(method, str) and method in RESULTS:
            say({"id": message["id"], "result": RESULTS[method]})
        else:
            say({"id": message["id"], "error": {"code": -32601, "message": ALL, "data": ALL}})


def refuses() -> None:
    """Answer everything with an error."""
    for line in sys.stdin:
        message = json.loads(line)
        say({"id": message.get("id"), "error": {"code": ALL, "message": ALL, "data": LONG}})


if __name__ == "__main__":
    mode = sys.argv[1] if len(sys.argv) > 1 else "serve"
    if mode == "dies":
        complain()
        sys.exit(7)
    {"serve": serve, "rude": lambda: serve(rude=True), "refuses": refuses}[mode]()
