"""What probes decide without a server: echoes, templates, structured content."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.checks import probes
from conformance.checks.invariants.structured import Undecidable, breach
from conformance.checks.probes.jsonrpc import NON_ASCII, garbled
from conformance.model import Json
from conformance.survey.picks import catch_all
from conformance.survey.survey import CallPolicy, Survey


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_utf8_read_as_a_single_byte_encoding_is_garbled(encoding: str) -> None:
    assert garbled(NON_ASCII.encode().decode(encoding, "replace"))


@pytest.mark.parametrize("echo", ["h?????", "h\ufffd\ufffd"])
def test_lost_characters_are_garbled(echo: str) -> None:
    assert garbled(echo)


@pytest.mark.parametrize("echo", [NON_ASCII, r"h\u00e9\u4e16\ud83d\ude00", "h%C3%A9%E4%B8%96", "something else"])
def test_an_escaped_or_foreign_echo_proves_nothing(echo: str) -> None:
    assert not garbled(echo)


OBJECT: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_content_that_fits_its_schema_is_no_breach() -> None:
    assert breach(OBJECT, {"n": 1.0}, "2025-11-25") == ""


def test_content_that_breaks_its_schema_is_told_with_its_place() -> None:
    assert breach(OBJECT, {"n": "1"}, "2025-11-25").startswith("$.n:")


def test_without_a_dialect_either_reading_will_do_before_2025_11_25() -> None:
    tuple_of_draft_7 = {"type": "array", "items": [{"type": "integer"}]}
    assert breach(tuple_of_draft_7, [1], "2025-06-18") == ""
    with pytest.raises(Undecidable):
        breach(tuple_of_draft_7, [1], "2025-11-25")


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://example.com/dialect"},
        {"$ref": "https://example.com/other.json"},
        {"$ref": "#/$defs/nowhere"},
        {"type": "nothing"},
        {"pattern": "("},
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_applied_decides_nothing(schema: Json) -> None:
    with pytest.raises(Undecidable):
        breach(schema, "text", "2025-11-25")


@pytest.mark.parametrize(
    ("template", "matches_all"),
    [("{+path}", True), ("{scheme}://x", True), ("mcp-conform://{x}", True), ("file:///{path}", False)],
)
def test_a_template_without_a_scheme_of_its_own_may_match_any_uri(template: str, matches_all: bool) -> None:
    survey = Survey({}, CallPolicy(), templates=({"uriTemplate": template},))
    assert bool(catch_all(survey)) is matches_all


def test_each_function_that_observes_is_registered() -> None:
    package = Path(probes.__file__).parent
    named = {place for path in package.glob("*.py") for place in _observing(path)}
    assert named == set(probes.TABLE.values())
    assert set(probes.TABLE) >= probes.ILLEGAL


def _observing(path: Path) -> Iterator[str]:
    """Public functions of a bench alone that yield observations, as `module.name`."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef) and [each.arg for each in node.args.args] == ["bench"]:
            observes = node.returns is not None and ast.unparse(node.returns) == "Iterator[Observation]"
            if observes and not node.name.startswith("_"):
                yield f"{path.stem}.{node.name}"
