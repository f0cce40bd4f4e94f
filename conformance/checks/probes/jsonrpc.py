"""The probe of characters beyond ASCII. Part of the area jsonrpc."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.model import Json
from conformance.session.messages import is_utf8
from conformance.survey.survey import Unavailable, required_of

NON_ASCII = "hé世😀"
_ECHO = re.compile("mcp-conform-(.{1,40}?)-end", re.DOTALL)


def non_ascii(bench: Bench) -> Iterator[Observation]:
    """Names beyond ASCII, wherever the server repeats them.

    Where they may stand in an answer, and how they may be garbled, takes decoding.
    """
    name = f"mcp-conform-{NON_ASCII}-end"
    calls = [bench.session.request(f"mcp-conform/{name}", illegal=True)]
    if bench.survey.declares("tools"):
        calls.append(bench.session.request("tools/call", {"name": name, "arguments": {}}))
    if bench.survey.declares("prompts"):
        calls.append(bench.session.request("prompts/get", {"name": name}))
    calls += [bench.session.request(method, params) for method, params in _repeating(bench, name)]
    for call in calls:
        for text in strings(call.response):
            for echo in _ECHO.findall(text):
                # What is not UTF-8 is a finding of its own, and why the text in it looks garbled.
                wrong = garbled(echo) and all(is_utf8(frame.data) for frame in call.proof)
                yield Observation({"text": echo, "garbled": wrong}, frames=call.proof, actual=echo)


def _repeating(bench: Bench, text: str) -> Iterator[tuple[str, Json]]:
    """Requests whose answers may repeat `text`: calls of tools and prompts, in place of an argument that is needed."""
    for tool in bench.survey.callable_tools:
        try:
            arguments = bench.survey.arguments_for(tool)
        except Unavailable:
            continue
        plain = [name for name, value in arguments.items() if value == "x"]
        if plain:
            yield "tools/call", {"name": tool["name"], "arguments": {**arguments, plain[0]: text}}
            break
    for prompt in bench.survey.named_prompts:
        required = required_of(prompt)
        if required and isinstance(prompt.get("name"), str):
            yield "prompts/get", {"name": prompt["name"], "arguments": dict.fromkeys(required, text)}
            break


def strings(value: Json) -> Iterator[str]:
    """All strings in a JSON value, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list):
        for element in value:
            yield from strings(element)


def garbled(echo: str) -> bool:
    """Whether the echo shows a wrong or lossy decoding; an escaped or quoted form is another matter."""
    if "\ufffd" in echo or echo.replace("?", "") == "h":
        return True
    for encoding in ("latin-1", "cp1252"):
        try:
            if echo.encode(encoding).decode("utf-8") == NON_ASCII:
                return True
        except UnicodeError:
            continue
    return False
