"""What the HTTP headers of 2026-07-28 repeat: names and URIs of requests, and arguments that the server annotates."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from urllib.parse import quote

from conformance.model import Json, elements, members
from conformance.session.eras.stateless import header_value, in_base64
from conformance.survey.arguments import Unfillable, smallest_arguments
from conformance.survey.survey import MAX_CALLS, Survey, Unavailable
from conformance.survey.templates import VARIABLE
from conformance.validation.header_annotations import annotated, as_text, value_at

MAX_EACH = 8
"""How many requests of each method, and how many annotated arguments, are looked at."""
UNLIKE = "-mcp-conform"
E_ACUTE = "\u00e9"
"""No character of a header value here, though RFC 9110 lets those who receive it keep it, as one byte."""
NON_ASCII = "mcp-conform h\u00e9\u4e16"
DELETE = "\x7f"
"""No character of a header value anywhere, though most HTTP clients send it."""


def named_requests(survey: Survey) -> list[Json]:
    """Good requests that Mcp-Name repeats the name or URI of, by turns of prompts, resources, tools, templates.

    Each is an object with `method` and `params`, the `name` that is repeated, the header's `usual` value and the same
    `encoded`, and beside it what that cannot be: `marked` (in base64 behind a marker in capital letters),
    `percent-encoded`, `other`, `other-encoded`, `shorter` and `longer` by a character, `invalid`, and `swapped`, unless
    that is a URI or has no letters. Whether there is something behind a URI of a template nobody knows.
    """
    kinds = (list(_prompts(survey)), list(_resources(survey)), list(_tools(survey)), list(_templates(survey)))
    return [each for turn in zip_longest(*(kind[:MAX_EACH] for kind in kinds)) for each in turn if each is not None]


def _prompts(survey: Survey) -> Iterator[Json]:
    for prompt in survey.named_prompts:
        yield _named("prompts/get", "name", {"name": prompt["name"], "arguments": survey.prompt_arguments(prompt)})


def _resources(survey: Survey) -> Iterator[Json]:
    for uri in survey.readable:
        yield _named("resources/read", "uri", {"uri": uri})


def _templates(survey: Survey) -> Iterator[Json]:
    for template in survey.templates:
        uri = VARIABLE.sub("1", str(template.get("uriTemplate")))
        if "{" not in uri and uri not in survey.readable:
            yield _named("resources/read", "uri", {"uri": uri})


def _tools(survey: Survey) -> Iterator[Json]:
    for tool in survey.callable_tools[:MAX_CALLS]:
        try:
            yield _named("tools/call", "name", {"name": tool["name"], "arguments": survey.arguments_for(tool)})
        except Unavailable:
            continue


def _named(method: str, member: str, params: dict[str, Json]) -> Json:
    name = params[member]
    swapped = name.swapcase()
    return {
        **({"swapped": header_value(swapped)} if member == "name" and swapped != name else {}),
        "method": method,
        "params": params,
        "name": name,
        "usual": header_value(name),
        "encoded": in_base64(name),
        "marked": _marked(name),
        "percent-encoded": _percent_encoded(name),
        "other": header_value(name + UNLIKE),
        "shorter": header_value(name[:-1] or UNLIKE),
        "longer": header_value(name + "/"),
        "other-encoded": in_base64(name + UNLIKE),
        "invalid": _plain(name) + E_ACUTE,
    }


def _marked(text: str) -> str:
    """The base64 form with a marker that is none: case matters."""
    return in_base64(text).replace("base64", "BASE64", 1)


def _percent_encoded(text: str) -> str:
    """As in URLs, which headers do not know, the first character included."""
    return f"%{ord(text[0]):02X}{quote(text[1:])}" if text and text[0].isascii() else f"%2D{quote(text)}"


def _plain(text: str) -> str:
    return text if header_value(text) == text else "x"


def mirrored_arguments(survey: Survey) -> list[Json]:
    """Arguments that `x-mcp-header` annotates, each in a good `call` of its tool; one of each type and depth first.

    Each is an object with `tool`, `argument`, `header`, `type` of the value, and further params: `without` the
    argument, with `null` and with `invalid`, `latin-1` and `non-ascii` text in its place (`with-…`); headers that
    replace the right one are `none`, `other`, `encoded`, `marked` and `percent-encoded` (see there), `undecodable`
    base64, `respelled` (the right one, its name in another case), `decimal`, and these texts, the last in base64; and
    what is near the right value, where there is such a thing: for a text `shorter`, for a boolean `number`, for both
    `swapped` in the case of letters, for an integer `longer` by letters and with a `fraction`.
    """
    kinds: dict[tuple[Json, bool], list[Json]] = {}
    for tool in survey.callable_tools[:MAX_CALLS]:
        for path, found in _mirrored(survey, tool):
            kinds.setdefault((found["type"], len(path) > 1), []).append(found)
    return [each for turn in zip_longest(*kinds.values()) for each in turn if each is not None][:MAX_EACH]


def _mirrored(survey: Survey, tool: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    try:
        calls = [survey.arguments_for(tool), *survey.other_arguments(tool)]
    except Unavailable:
        return
    given = bool(survey.samples.tools.get(tool["name"]))
    for annotation in annotated(tool.get("inputSchema"), usable=True):
        made = () if given else _made(tool["inputSchema"], annotation.path)
        for arguments in (*calls, *made):
            text = as_text(value_at(arguments, annotation.path))
            if text is not None:
                yield annotation.path, _argument(tool["name"], arguments, annotation.path, annotation.header)
                break


def _made(schema: dict[str, Json], path: tuple[str, ...]) -> Iterator[dict[str, Json]]:
    """The smallest arguments that have one at `path`, though neither it nor what holds it may be required."""
    with suppress(Unfillable):
        yield smallest_arguments(_demanding(schema, path))


def _demanding(schema: Json, path: tuple[str, ...]) -> Json:
    """The schema with all of the path required; the defaults and examples of objects on it may lack the rest of it."""
    if not path:
        return schema
    properties = members(schema.get("properties"))
    required = [name for name in elements(schema.get("required")) if name != path[0]]
    return {
        **{word: value for word, value in schema.items() if word not in ("default", "examples")},
        "properties": {**properties, path[0]: _demanding(properties[path[0]], path[1:])},
        "required": [*required, path[0]],
    }


def _argument(tool: str, arguments: dict[str, Json], path: tuple[str, ...], header: str) -> Json:
    value = value_at(arguments, path)
    text = as_text(value) or ""
    kind = "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "integer"
    other = {"boolean": "false" if value else "true", "string": text + UNLIKE}.get(kind) or str(int(value) + 1)
    invalid, latin_1 = _plain(text) + DELETE, _plain(text) + E_ACUTE
    near = {
        "string": {"shorter": text[:-1], "swapped": text.swapcase()},
        "integer": {"longer": text + UNLIKE, "fraction": f"{text}.5"},
    }.get(kind) or {"number": str(int(value)), "swapped": text.swapcase()}
    return {
        **{name: {header: header_value(each)} for name, each in near.items() if each not in ("", text)},
        "tool": tool,
        "argument": ".".join(path),
        "header": header,
        "type": kind,
        "call": {"name": tool, "arguments": arguments},
        "without": {"name": tool, "arguments": _changed(arguments, path)},
        "with-null": {"name": tool, "arguments": _changed(arguments, path, None)},
        "with-invalid": {"name": tool, "arguments": _changed(arguments, path, invalid)},
        "with-non-ascii": {"name": tool, "arguments": _changed(arguments, path, NON_ASCII)},
        "with-latin-1": {"name": tool, "arguments": _changed(arguments, path, latin_1)},
        "none": {header: None},
        "other": {header: header_value(other)},
        "encoded": {header: in_base64(text)},
        "marked": {header: _marked(text)},
        "percent-encoded": {header: _percent_encoded(text)},
        "undecodable": {header: "=?base64?%%%?="},
        "respelled": {header.swapcase(): header_value(text)},
        "decimal": {header: f"{text}.0"},
        "invalid": {header: invalid},
        "latin-1": {header: latin_1},
        "non-ascii": {header: in_base64(NON_ASCII)},
    }


def _changed(arguments: dict[str, Json], path: tuple[str, ...], *value: Json) -> dict[str, Json]:
    """The arguments with another value at `path`, or with none."""
    changed = copy.deepcopy(arguments)
    place = changed
    for name in path[:-1]:
        place = place[name]
    if value:
        place[path[-1]] = value[0]
    else:
        place.pop(path[-1])
    return changed
