"""Listing: the items of lists are named and addressed as the specification wants it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.content import SCHEME, base64_fault
from conformance.model import Frame, Json, Severity, elements
from conformance.session.session import Call

NAME_LENGTH = "tools/name-length"
NAME_CHARACTERS = "tools/name-characters"
URI = "resources/uri-valid"
TEMPLATE = "resources/template-valid"
BASE64 = "resources/binary-base64"
READ = "resources/read-shape"
NO_PARAMETERS = "tools/no-parameter-schema-recommended"

_UNSAFE = re.compile(r"[\x00-\x20<>\"{}|\\^`\x7f]")
_VARIABLE = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*+(?::[1-9][0-9]{0,3}|\*)?"
_EXPRESSION = re.compile(r"[+#./;?&=,!@|]?" + _VARIABLE + r"(?:," + _VARIABLE + r")*+\Z")


_ELSEWHERE = {"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "propertyNames", "dependentSchemas"}
"""Where a schema without `properties` may describe parameters all the same."""


class Listing(Watcher):
    """Passive rules on tools/list, resources/list, resources/templates/list and resources/read."""

    name = "listing"
    requirements: ClassVar[tuple[str, ...]] = (NAME_LENGTH, NAME_CHARACTERS, NO_PARAMETERS, URI, TEMPLATE, BASE64, READ)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the items of a list or of a reading."""
        judge = self._judges().get(call.method) if call is not None else None
        if judge is None or call is None or not isinstance(frame.message.get("result"), dict):
            return
        member, each = judge
        items = frame.message["result"].get(member)
        for item in elements(items):
            if isinstance(item, dict):
                each(item, (call.sent, frame))

    def _judges(self) -> dict[str, tuple[str, Callable[[dict[str, Json], tuple[Frame, ...]], None]]]:
        return {
            "tools/list": ("tools", self._tool),
            "resources/list": ("resources", self._resource),
            "resources/templates/list": ("resourceTemplates", self._template),
            "resources/read": ("contents", self._contents),
        }

    def _tool(self, tool: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        name, schema = tool.get("name"), tool.get("inputSchema")
        if isinstance(name, str):
            length = f"{len(name)} characters"
            self._say(NAME_LENGTH, 1 <= len(name) <= 128, "a tool name is too long or empty", length, proof)
            fits = re.fullmatch(r"[A-Za-z0-9_.-]*", name) is not None
            self._say(NAME_CHARACTERS, fits, "a tool name has other characters than A-Z a-z 0-9 _ - .", name, proof)
        if isinstance(schema, dict) and not schema.get("properties") and not _ELSEWHERE & schema.keys():
            if schema.get("additionalProperties") is False:
                self.ledger.held(NO_PARAMETERS)
            elif schema.get("type") == "object":
                self.ledger.broke(
                    NO_PARAMETERS,
                    "a tool without parameters admits any arguments",
                    expected='{"type": "object", "additionalProperties": false}',
                    actual=f"tool {shorten(name)}: {shorten(schema)}",
                    frames=proof,
                    ceiling=Severity.ADVICE,
                )

    def _resource(self, resource: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        uri = resource.get("uri")
        if not isinstance(uri, str):
            return
        if not SCHEME.match(uri):
            self._say(URI, False, "the uri of a resource has no valid scheme", uri, proof)
        elif _UNSAFE.search(uri):
            what = "the uri of a resource has characters that a URI cannot have"
            self.ledger.broke(
                URI, what, expected="a URI (RFC 3986)", actual=shorten(uri), frames=proof, ceiling=Severity.WARNING
            )
        else:
            self.ledger.held(URI)

    def _template(self, template: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        uri = template.get("uriTemplate")
        if isinstance(uri, str):
            self._say(TEMPLATE, is_template(uri), "a uriTemplate is not an RFC 6570 template", uri, proof)

    def _contents(self, contents: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        blob = contents.get("blob")
        if isinstance(contents.get("text"), str) and isinstance(blob, str):
            what = "contents have both text and blob"
            actual = shorten({name: contents[name] for name in ("uri", "text", "blob") if name in contents})
            self.ledger.broke(READ, what, expected="one of them", actual=actual, frames=proof, ceiling=Severity.WARNING)
        if isinstance(blob, str):
            fault = base64_fault(blob)
            if fault is None:
                self.ledger.held(BASE64)
                return
            self.ledger.broke(
                BASE64,
                f"a blob {fault[0]}",
                expected="standard base64",
                actual=shorten(blob),
                frames=proof,
                ceiling=fault[1],
            )

    def _say(self, requirement: str, good: bool, what: str, actual: str, proof: tuple[Frame, ...]) -> None:
        if good:
            self.ledger.held(requirement)
        else:
            self.ledger.broke(requirement, what, expected=_EXPECTED[requirement], actual=shorten(actual), frames=proof)


_EXPECTED = {
    NAME_LENGTH: "1 to 128 characters",
    NAME_CHARACTERS: "only A-Z a-z 0-9 _ - .",
    URI: "a scheme of letters, digits, + . - and a colon (RFC 3986)",
    TEMPLATE: "balanced braces with valid expressions (RFC 6570)",
}


def is_template(text: str) -> bool:
    """Whether `text` is a URI template of RFC 6570, any level."""
    rest = re.sub(r"\{([^{}]*)\}", lambda found: "" if _EXPRESSION.match(found[1]) else "{", text)
    return "{" not in rest and "}" not in rest
