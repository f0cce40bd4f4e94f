"""The checks behind the rules for clients: each looks at what the survey brought, and tells what a client minds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from conformance.catalogue.patterns import shorten
from conformance.model import Frame, Json, members
from conformance.session.messages import Unread
from conformance.session.session import Call, NotSpoken, Session
from conformance.survey.survey import LISTS, Survey
from conformance.transports import StartError


class Untested(Exception):
    """The check could not be made; the text says why."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a check may look at.

    `took` is how long the session took to open, in seconds. `given` says that the user gave variables or headers to
    the server; `bare` begins a session, not yet open, with a server that was given none.
    """

    session: Session
    survey: Survey
    took: float
    given: bool
    bare: Callable[[], AbstractContextManager[Session]]

    @property
    def opening(self) -> tuple[Frame, ...]:
        """The first request of the session and its answers."""
        return next((call.proof for call in self.session.calls.values()), ())

    def pages(self, name: str) -> list[Call]:
        """The calls that asked for a list."""
        return [call for call in self.session.calls.values() if call.method == LISTS[name][0]]

    def listed(self, name: str, item: Json) -> tuple[Frame, ...]:
        """The request for the page on which an item of the survey stands, and its answers."""
        for call in self.pages(name):
            items = call.result.get(LISTS[name][1]) if isinstance(call.result, dict) else None
            if isinstance(items, list) and any(each is item for each in items):
                return call.proof
        return ()


@dataclass(frozen=True, slots=True)
class Sight:
    """One thing that a client minds: in words, the bytes or the number, the frames that prove it."""

    what: str
    actual: str
    frames: tuple[Frame, ...]


Check = Callable[[Offer, float], Iterator[Sight]]
"""Called with what was seen and the limit of the clients. Raises Untested."""

Places = Iterator[tuple[str, Json]]
"""JSON pointers into the tool and what stands there."""


# -- schemas

ONE = ("items", "contains", "propertyNames", "not", "if", "then", "else", "additionalProperties")
FURTHER = ("additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems")
MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
MAX_STEPS = 64


def subschemas(schema: Json, place: str) -> Places:
    """The schema and all schemas within it."""
    yield place, schema
    if not isinstance(schema, dict) or place.count("/") > MAX_STEPS:
        return
    for word in ONE:
        if word in schema and not isinstance(schema[word], list):
            yield from subschemas(schema[word], f"{place}/{word}")
    for word in MANY:
        for i, part in enumerate(schema[word] if isinstance(schema.get(word), list) else ()):
            yield from subschemas(part, f"{place}/{word}/{i}")
    for word in NAMED:
        for name, part in (schema[word] if isinstance(schema.get(word), dict) else {}).items():
            yield from subschemas(part, f"{place}/{word}/{name.replace('~', '~0').replace('/', '~1')}")


def _within(seen: Offer, minds: Callable[[str, Json], str]) -> Iterator[Sight]:
    """One sight for each tool in whose inputSchema there is something that `minds` has words for."""
    for tool in _tools(seen):
        found = [
            (place, words)
            for place, schema in subschemas(tool.get("inputSchema"), "/inputSchema")
            if (words := minds(place, schema))
        ]
        if found:
            place, words = found[0]
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            yield Sight(f"tool {tool.get('name')!r} has {words} at {place}{more}", words, seen.listed("tools", tool))


def _tools(seen: Offer) -> tuple[Json, ...]:
    if "tools" in seen.survey.unread:
        raise Untested("tools/list brought no list")
    return seen.survey.tools


def _root_combinator(seen: Offer, limit: float) -> Iterator[Sight]:
    def minds(place: str, schema: Json) -> str:
        if place != "/inputSchema" or not isinstance(schema, dict):
            return ""
        return " and ".join(word for word in ("oneOf", "anyOf", "allOf") if word in schema)

    return _within(seen, minds)


def _array_without_items(seen: Offer, limit: float) -> Iterator[Sight]:
    def minds(place: str, schema: Json) -> str:
        if not isinstance(schema, dict) or "items" in schema or "prefixItems" in schema:
            return ""
        types = schema.get("type")
        return "an array without items" if types == "array" or (isinstance(types, list) and "array" in types) else ""

    return _within(seen, minds)


def _boolean_subschema(seen: Offer, limit: float) -> Iterator[Sight]:
    def minds(place: str, schema: Json) -> str:
        if not isinstance(schema, bool) or place.rpartition("/")[2] in FURTHER:
            return ""
        return f"the schema {'true' if schema else 'false'}"

    return _within(seen, minds)


def _references(seen: Offer, limit: float) -> Iterator[Sight]:
    def minds(place: str, schema: Json) -> str:
        return f"$ref {schema['$ref']!r}" if isinstance(schema, dict) and "$ref" in schema else ""

    return _within(seen, minds)


# -- lists

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _tool_name(seen: Offer, limit: float) -> Iterator[Sight]:
    for tool in _tools(seen):
        name = tool.get("name")
        if isinstance(name, str) and not NAME.fullmatch(name):
            what = f"the name {name!r} has more than 64 characters" if len(name) > 64 else f"the name {name!r}"
            yield Sight(f"{what} is not of letters, digits, _ and - alone", name, seen.listed("tools", tool))


def _tool_count(seen: Offer, limit: float) -> Iterator[Sight]:
    number = len(_tools(seen))
    if number > limit:
        frames = tuple(frame for call in seen.pages("tools") for frame in call.proof)
        yield Sight(f"there are {number} tools", str(number), frames)


def _explicit_null(seen: Offer, limit: float) -> Iterator[Sight]:
    for name, (method, member) in LISTS.items():
        for call in seen.pages(name):
            result = members(call.result)
            for place, value in result.items():
                if value is None:
                    yield Sight(f"the result of {method} has {place}: null", f"{place}: null", call.proof)
        for item in getattr(seen.survey, name):
            places = [place for place, value in item.items() if value is None]
            annotations = item.get("annotations")
            if isinstance(annotations, dict):
                places += [f"annotations/{place}" for place, value in annotations.items() if value is None]
            if places:
                who = item.get("uri", item.get("uriTemplate", item.get("name")))
                what = ", ".join(f"{place}: null" for place in places)
                yield Sight(f"{who!r} in {member} has {what}", what, seen.listed(name, item))


def _resource_without_mime_type(seen: Offer, limit: float) -> Iterator[Sight]:
    if "resources" in seen.survey.unread:
        raise Untested("resources/list brought no list")
    for resource in seen.survey.resources:
        if resource.get("mimeType") in (None, ""):
            what = f"resource {resource.get('uri')!r} has no mimeType"
            yield Sight(what, "no mimeType", seen.listed("resources", resource))


# -- the server as a whole


def _server_version(seen: Offer, limit: float) -> Iterator[Sight]:
    if not seen.session.server.get("version", "").strip():
        yield Sight("serverInfo has no version, or an empty one", "no version", seen.opening)


def _start_time(seen: Offer, limit: float) -> Iterator[Sight]:
    if not seen.session.transport.process_per_session:
        raise Untested("the server is already running, so its start cannot be timed; start it with --server")
    if seen.took > limit:
        what = f"the first answer came more than {limit:g} s after the start"
        yield Sight(what, f"it took {seen.took:.1f} s", seen.opening)


def _without_credentials(seen: Offer, limit: float) -> Iterator[Sight]:
    """Variables that the server inherits are left to it: which of them it needs in order to run is not known."""
    if not seen.given:
        if "tools" in seen.survey.unread and not seen.survey.cut:
            yield from _refused(seen.pages("tools"), "without --env and --header ")
        return
    try:
        with seen.bare() as session:
            try:
                session.open()
            except Unread:
                raise
            except NotSpoken as why:
                frames = why.call.proof if why.call is not None else ()
                yield Sight(f"without what --env and --header gave it no session opens: {why}", str(why), frames)
                return
            if seen.survey.declares("tools"):
                call = session.request("tools/list")
                if not isinstance(call.result, dict) or not isinstance(call.result.get("tools"), list):
                    yield from _refused([call], "without what --env and --header gave ")
    except Unread as error:
        raise Untested(str(error)) from None
    except StartError as error:
        yield Sight(f"without what --env and --header gave it does not start: {error}", str(error), ())


def _refused(calls: list[Call], how: str) -> Iterator[Sight]:
    for call in calls[-1:]:
        actual = shorten(call.error) if call.error is not None else call.lost or "no list"
        yield Sight(f"{how}tools/list brings no list: {actual}", actual, call.proof)


CHECKS: dict[str, Check] = {
    "root_combinator": _root_combinator,
    "array_without_items": _array_without_items,
    "boolean_subschema": _boolean_subschema,
    "references": _references,
    "tool_name": _tool_name,
    "tool_count": _tool_count,
    "explicit_null": _explicit_null,
    "resource_without_mime_type": _resource_without_mime_type,
    "server_version": _server_version,
    "start_time": _start_time,
    "without_credentials": _without_credentials,
}
"""What `check` of a rule may name."""
