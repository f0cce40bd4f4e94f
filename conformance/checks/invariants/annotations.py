"""Annotations: what an inputSchema mirrors in HTTP headers by `x-mcp-header` can be mirrored."""

from __future__ import annotations

import re
from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.catalogue.requirements import load
from conformance.checks.invariants.base import Watcher, is_number
from conformance.model import Frame, Json, Severity, elements
from conformance.session.session import Call
from conformance.validation.header_annotations import TOKEN, WORD, Annotation, annotated

EMPTY = "http-headers/annotation-not-empty"
IS_TOKEN = "http-headers/annotation-is-token"
UNIQUE = "http-headers/annotation-unique"
PRIMITIVE = "http-headers/annotation-on-primitives-only"
SAFE = "http-headers/annotated-integers-in-safe-range"
REACHABLE = "http-headers/annotation-statically-reachable"
SENSITIVE = "http-headers/annotation-not-on-sensitive-parameters"

PRIMITIVES = ("string", "integer", "boolean")
LARGEST = 2**53 - 1
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SECRET = re.compile(
    r"(password|passwd|passphrase|secret|credentials?|apikey|privatekey|(access|auth|bearer|refresh)token)$|^token$"
)


class Annotations(Watcher):
    """See the module. A tool that breaks one of these rules must be left out by clients that speak HTTP."""

    name = "annotations"
    requirements: ClassVar[tuple[str, ...]] = (EMPTY, IS_TOKEN, UNIQUE, PRIMITIVE, SAFE, REACHABLE, SENSITIVE)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the tools of a tools/list result."""
        if call is None or call.method != "tools/list" or self.session.revision.date not in load()[EMPTY].levels:
            return
        if WORD.encode() not in frame.data:  # most servers annotate nothing, and lists may be long
            return
        result = frame.message.get("result") if isinstance(frame.message, dict) else None
        for tool in elements(result.get("tools") if isinstance(result, dict) else None):
            if isinstance(tool, dict):
                self._tool(tool, (call.sent, frame))

    def _tool(self, tool: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        seen: set[str] = set()
        for annotation in annotated(tool.get("inputSchema")):
            where = f"{shorten(annotation.value)} at {shorten(annotation.place)} of tool {shorten(tool.get('name'))}"
            self._value(annotation, seen, where, proof)
            reachable = bool(annotation.path)
            what = "x-mcp-header is said where others than properties lead to"
            self._say(REACHABLE, "" if reachable else what, "a chain of properties only", where, proof)
            if reachable:
                self._type(annotation.schema, where, proof)
                self._range(annotation.schema, where, proof)
                bare = re.sub(r"[^a-z]", "", annotation.path[-1].lower())
                what = "an argument that seems to be secret is mirrored in a header" if _SECRET.search(bare) else ""
                self._say(SENSITIVE, what, "no secret in headers", where, proof, Severity.ADVICE)

    def _value(self, annotation: Annotation, seen: set[str], where: str, proof: tuple[Frame, ...]) -> None:
        value = annotation.value
        self._say(EMPTY, "x-mcp-header is empty" if value == "" else "", "a name", where, proof)
        if value == "":
            return
        fits = isinstance(value, str) and TOKEN.fullmatch(value)
        what = "x-mcp-header is not a name that HTTP headers can have"
        self._say(IS_TOKEN, "" if fits else what, "a token of RFC 9110", where, proof)
        if isinstance(value, str):
            what = "an inputSchema says the same x-mcp-header twice" if value.lower() in seen else ""
            self._say(UNIQUE, what, "another name for each argument", where, proof)
            seen.add(value.lower())

    def _type(self, schema: dict[str, Json], where: str, proof: tuple[Frame, ...]) -> None:
        kind = schema.get("type")
        expected = "type string, integer or boolean"
        if kind in PRIMITIVES:
            self._say(PRIMITIVE, "", expected, where, proof)
        elif isinstance(kind, str):
            what = "x-mcp-header is said of an argument that is no string, integer or boolean"
            self._say(PRIMITIVE, what, expected, where, proof)
        else:  # one that may be null as well, perhaps, or says its type elsewhere: no text speaks of that
            what = "x-mcp-header is said of an argument whose type is not plainly string, integer or boolean"
            self._say(PRIMITIVE, what, expected, where, proof, Severity.WARNING)

    def _range(self, schema: dict[str, Json], where: str, proof: tuple[Frame, ...]) -> None:
        if schema.get("type") != "integer":
            return
        values = [*elements(schema.get("enum")), *(schema[word] for word in ("const", "default") if word in schema)]
        bounds = [schema[word] for word in BOUNDS if word in schema]
        expected = "integers from -(2^53 - 1) to 2^53 - 1"
        if _beyond(values):
            self._say(SAFE, "an integer that a header mirrors is beyond what a double holds", expected, where, proof)
        elif _beyond(bounds):  # without any bound, which no text forbids, it would allow no less
            what = "a bound of an integer that a header mirrors is beyond what a double holds"
            self._say(SAFE, what, expected, where, proof, Severity.WARNING)
        elif values or bounds:
            self.ledger.held(SAFE)

    def _say(
        self,
        requirement: str,
        what: str,
        expected: str,
        actual: str,
        proof: tuple[Frame, ...],
        ceiling: Severity | None = None,
    ) -> None:
        if what:
            self.ledger.broke(requirement, what, expected=expected, actual=actual, frames=proof, ceiling=ceiling)
        else:
            self.ledger.held(requirement)


def _beyond(values: list[Json]) -> bool:
    return any(is_number(value) and abs(value) > LARGEST for value in values)
