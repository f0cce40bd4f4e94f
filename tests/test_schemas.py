"""The schemas of the five revisions: sound in themselves, and equal to the official ones."""

import copy
import json
import os
import random
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, cast

import jsonschema
import jsonschema_rs
import pytest
from schema_mutation import Documents, Schema

from conformance.data import SCHEMAS
from conformance.wire_schemas import MOST_PROBLEMS, WireSchemas, for_revision

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
OFFICIAL = Path(
    os.environ.get("MCP_CONFORM_OFFICIAL_SCHEMAS", Path(__file__).resolve().parents[2] / "shared" / "spec")
)
needs_official = pytest.mark.skipif(
    not OFFICIAL.is_dir(),
    reason="the official schemas are not here; MCP_CONFORM_OFFICIAL_SCHEMAS names their directory",
)
DOCUMENTS_A_TYPE = 1200
EXTENSION_AREAS = {"tasks-extension"}
Deviation = dict[str, Any]

HANDSHAKE_METHODS = """
    initialize ping tools/list tools/call resources/list resources/templates/list resources/read
    resources/subscribe resources/unsubscribe prompts/list prompts/get completion/complete logging/setLevel
    roots/list sampling/createMessage notifications/initialized notifications/cancelled notifications/progress
    notifications/message notifications/tools/list_changed notifications/resources/list_changed
    notifications/resources/updated notifications/prompts/list_changed notifications/roots/list_changed
""".split()
METHODS = {
    "2024-11-05": HANDSHAKE_METHODS,
    "2025-03-26": HANDSHAKE_METHODS,
    "2025-06-18": [*HANDSHAKE_METHODS, "elicitation/create"],
    "2025-11-25": [
        *HANDSHAKE_METHODS,
        *"""elicitation/create notifications/elicitation/complete tasks/get tasks/result tasks/list
        tasks/cancel notifications/tasks/status""".split(),
    ],
    "2026-07-28": """
        server/discover tools/list tools/call resources/list resources/templates/list resources/read prompts/list
        prompts/get completion/complete subscriptions/listen roots/list sampling/createMessage elicitation/create
        notifications/cancelled notifications/progress notifications/message notifications/tools/list_changed
        notifications/resources/list_changed notifications/resources/updated notifications/prompts/list_changed
        notifications/subscriptions/acknowledged tasks/get tasks/update tasks/cancel notifications/tasks
    """.split(),
}


# --- two sides that answer the same question -------------------------------------------------------------


class Side:
    """One set of schemas: documents made from it, and its verdict on documents."""

    def __init__(self, resources: Mapping[str, Schema], types: Mapping[str, tuple[str, str]]) -> None:
        """`types`: name -> (identifier of the resource, fragment)."""
        draft = jsonschema_rs.Draft202012
        if any("draft-07" in str(document.get("$schema")) for document in resources.values()):
            draft = jsonschema_rs.Draft7
        self._resources = resources
        self._types = types
        self._registry = jsonschema_rs.Registry(list(resources.items()), draft=draft)
        self._draft = draft

    @property
    def names(self) -> set[str]:
        return set(self._types)

    def validator(self, name: str) -> jsonschema_rs.Validator:
        identifier, fragment = self._types[name]
        schema = {"$ref": f"{identifier}#{fragment}"}
        if self._draft == jsonschema_rs.Draft7:
            return jsonschema_rs.Draft7Validator(schema, registry=self._registry, validate_formats=False)
        return jsonschema_rs.Draft202012Validator(schema, registry=self._registry)

    def resolve(self, base: str, reference: str) -> tuple[str, Schema]:
        target, _, fragment = reference.partition("#")
        identifier = f"{base.rsplit('/', 1)[0]}/{target}" if target else base
        found: Any = self._resources[identifier]
        for step in fragment.strip("/").split("/"):
            found = found[step]
        return identifier, cast(Schema, found)

    def valid(self, name: str, seed: str, count: int) -> Iterator[object]:
        identifier, fragment = self._types[name]
        documents = Documents(self.resolve, vocabulary(), f"{seed} {name}")
        schema = self.resolve(identifier, f"#{fragment}")[1]
        return (documents.valid(identifier, schema) for _ in range(count))


@cache
def vocabulary() -> tuple[str, ...]:
    """Every member name and constant of the schemas."""
    found: set[str] = set()

    def collect(node: object) -> None:
        if isinstance(node, dict):
            found.update(node.get("properties", {}))
            found.update(one for one in [node.get("const"), *node.get("enum", ())] if isinstance(one, str))
            for value in node.values():
                collect(value)

    for revision in REVISIONS:
        collect(dict(for_revision(revision).documents))
    return tuple(sorted(found))


def our_side(documents: Mapping[str, Schema]) -> Side:
    types = {
        name: (identifier, f"/$defs/{name}")
        for identifier, document in documents.items()
        if identifier.rsplit("/", 1)[1] not in EXTENSION_AREAS
        for name in document["$defs"]
    }
    return Side(documents, types)


@cache
def official_side(revision: str) -> Side:
    document = json.loads((OFFICIAL / revision / "schema.json").read_bytes())
    key = "$defs" if "$defs" in document else "definitions"
    identifier = f"https://official/{revision}/schema"
    return Side({identifier: document}, {name: (identifier, f"/{key}/{name}") for name in document[key]})


def deviations(revision: str) -> list[Deviation]:
    return cast(list[Deviation], json.loads((SCHEMAS / revision / "deviations.json").read_bytes()))


def as_official(revision: str, excepting: Deviation | None = None) -> dict[str, Any]:
    """Our schemas with every deviation (but one) taken back. A deviation that is not there fails."""
    documents = copy.deepcopy(dict(for_revision(revision).documents))
    for deviation in deviations(revision):
        area, _, name = deviation["type"].partition("#")
        node = documents[f"https://mcp-conform/schemas/{revision}/{area}"]["$defs"][name]
        *steps, last = deviation["at"].split("/")
        for step in steps:
            node = node[int(step) if isinstance(node, list) else step]
        assert node.get(last) == deviation.get("ours"), f"stale deviation: {deviation}"
        if deviation == excepting:
            continue
        node.pop(last, None)
        if "official" in deviation:
            node[last] = deviation["official"]
    return documents


def judged(ours: Side, theirs: Side, name: str, count: int = DOCUMENTS_A_TYPE) -> Iterator[tuple[Any, bool, bool]]:
    """(document, our verdict, their verdict) for `count` documents made from both sides, and broken."""
    our_verdict, their_verdict = ours.validator(name).is_valid, theirs.validator(name).is_valid
    seeds = count // 24
    made = [*ours.valid(name, "ours", seeds // 2), *theirs.valid(name, "theirs", seeds // 2)]
    breaking = Documents(ours.resolve, vocabulary(), f"variants {name}")
    for document in made:
        yield document, our_verdict(document), their_verdict(document)
        for variant in breaking.variants(document, 23):
            yield variant, our_verdict(variant), their_verdict(variant)


def disagreements(ours: Side, theirs: Side, name: str) -> Iterator[object]:
    return (document for document, our, their in judged(ours, theirs, name) if our != their)


# --- sound in themselves ---------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_file_is_a_json_schema_and_its_id_says_where_it_is(revision: str) -> None:
    documents = for_revision(revision).documents
    for path in (SCHEMAS / revision).glob("*.json"):
        if path.name not in {"index.json", "deviations.json"}:
            assert f"https://mcp-conform/schemas/{revision}/{path.stem}" in documents
    for document in documents.values():
        assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator.check_schema(document)


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_reference_leads_to_a_type(revision: str) -> None:
    documents = for_revision(revision).documents
    side = our_side(documents)

    def follow(base: str, node: object) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                assert side.resolve(base, node["$ref"])[1] is not None
            for value in node.values():
                follow(base, value)
        elif isinstance(node, list):
            for value in node:
                follow(base, value)

    for identifier, document in documents.items():
        follow(identifier, document)


@pytest.mark.parametrize("revision", REVISIONS)
def test_no_schema_closes_an_object(revision: str) -> None:
    text = "".join(path.read_text() for path in (SCHEMAS / revision).glob("*.json"))
    assert '"additionalProperties": false' not in text
    assert "unevaluatedProperties" not in text


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_type_name_stands_for_one_type(revision: str) -> None:
    names = [type_ref.partition("#")[2] for type_ref in for_revision(revision).types]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_index_has_every_method_of_the_specification_and_no_other(revision: str) -> None:
    assert sorted(for_revision(revision).methods) == sorted(METHODS[revision])


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_index_names_types_that_exist_and_whose_method_is_the_key(revision: str) -> None:
    schemas = for_revision(revision)
    for method in schemas.methods.values():
        sent = method.notification if method.kind == "notification" else method.request
        assert sent is not None
        assert (method.kind == "notification") == method.name.startswith("notifications/")
        assert (method.result is None) == (method.kind == "notification")
        for type_ref in (sent, method.result, method.task_result, method.input_required_result):
            assert type_ref is None or type_ref in schemas.types
        other = [problem.message for problem in schemas.problems(sent, {"method": "no/such"})]
        assert f'method is "no/such", expected "{method.name}"' in other
    assert set(schemas.errors.values()) <= schemas.types


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_request_and_notification_of_the_unions_is_in_the_index(revision: str) -> None:
    schemas = for_revision(revision)
    unions = schemas.documents[f"https://mcp-conform/schemas/{revision}/messages"]["$defs"]
    for union, senders in (("Client", {"client", "both"}), ("Server", {"server", "both"})):
        for kind in ("Request", "Notification"):
            if union + kind not in unions:
                continue
            schema = unions[union + kind]
            named = {one["$ref"].rsplit("/", 1)[1] for one in schema.get("anyOf", [schema])}
            indexed = {
                (method.request or method.notification or "").partition("#")[2]
                for method in schemas.methods.values()
                if method.kind == kind.lower() and method.direction in senders and method.extension is None
            }
            assert named == indexed


# --- equal to the official ones --------------------------------------------------------------------------


@needs_official
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_types_are_those_of_the_official_schema(revision: str) -> None:
    assert our_side(for_revision(revision).documents).names == official_side(revision).names


@needs_official
@pytest.mark.parametrize("revision", REVISIONS)
def test_our_schemas_and_the_official_ones_agree_on_generated_and_broken_documents(revision: str) -> None:
    ours, theirs = our_side(as_official(revision)), official_side(revision)
    differing = {}
    for name in sorted(theirs.names):
        verdicts = list(judged(ours, theirs, name))
        assert len(verdicts) >= 1000
        assert {their for _, _, their in verdicts} == {True, False}, f"{name}: the documents prove nothing"
        if odd := [(document, our) for document, our, their in verdicts if our != their]:
            differing[name] = odd[:3]
    assert not differing, "\n".join(f"{name}: (document, ours) {odd}" for name, odd in differing.items())


@needs_official
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_deviation_makes_a_difference(revision: str) -> None:
    for deviation in deviations(revision):
        ours = our_side(as_official(revision, excepting=deviation))
        name = deviation["type"].partition("#")[2]
        assert any(disagreements(ours, official_side(revision), name)), f"stale deviation: {deviation}"


@needs_official
def test_both_sides_admit_every_official_example() -> None:
    examples = sorted((OFFICIAL / "2026-07-28" / "examples").glob("*/*.json"))
    ours, theirs = our_side(for_revision("2026-07-28").documents), official_side("2026-07-28")
    for path in examples:
        example = json.loads(path.read_bytes())
        assert theirs.validator(path.parent.name).is_valid(example), path
        assert ours.validator(path.parent.name).is_valid(example), path
    assert len(examples) > 100


def alterations(documents: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str | int], str]]:
    """Every place where our schemas could be loosened by mistake: (identifier, type, path, keyword)."""

    def walk(node: object, path: list[str | int], within: bool) -> Iterator[tuple[list[str | int], str]]:
        if isinstance(node, dict):
            for keyword in ("required", "enum", "const", "minimum", "maximum", "items", "additionalProperties"):
                if keyword in node:
                    yield path, keyword
            if within and "type" in node:
                yield path, "type"
        for key, value in (
            node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        ):
            if key != "enum":
                yield from walk(value, [*path, key], within or key == "properties")

    for identifier, document in documents.items():
        if identifier.rsplit("/", 1)[1] not in EXTENSION_AREAS:
            for name, schema in document["$defs"].items():
                for path, keyword in walk(schema, [], False):
                    yield identifier, name, path, keyword


def altered(documents: Mapping[str, Any], identifier: str, name: str, path: list[str | int], keyword: str) -> Side:
    changed = copy.deepcopy(dict(documents))
    node: Any = changed[identifier]["$defs"][name]
    for step in path:
        node = node[step]
    if keyword in ("required", "enum"):
        node[keyword] = node[keyword][1:]
    if not node.get(keyword) or keyword not in ("required", "enum"):
        del node[keyword]
    return our_side(changed)


@needs_official
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_comparison_notices_an_altered_schema(revision: str) -> None:
    documents = as_official(revision)
    everything = list(alterations(documents))
    for identifier, name, path, keyword in random.Random(revision).sample(everything, 40):
        side = altered(documents, identifier, name, path, keyword)
        assert any(disagreements(side, official_side(revision), name)), (name, path, keyword)
