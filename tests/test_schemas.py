"""The schemas of the five revisions: sound in themselves, and equal to the official ones."""

import copy
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from schema_mutation import Judged, Schema, Side, both_verdicts, keywords, loosened, vocabulary

from conformance.files.places import SCHEMAS
from conformance.validation.wire_schemas import MOST_PROBLEMS, WireSchemas, for_revision

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
OFFICIAL = Path(os.environ.get("MCP_CONFORM_OFFICIAL_SCHEMAS", Path(__file__).resolve().parents[2] / "shared" / "spec"))
needs_official = pytest.mark.skipif(
    not OFFICIAL.is_dir(),
    reason="the official schemas are not here; MCP_CONFORM_OFFICIAL_SCHEMAS names their directory",
)
SAID_BY_THE_BASE = (("properties", "params"), "type")  # params of any request or notification are an object
WRONG_EXAMPLES = {
    # A complete result without the ttlMs and cacheScope that ReadResourceResult requires. The official
    # union admits it as an InputRequiredResult that has neither inputRequests nor requestState.
    "read-resource-result-response.json",
}
EXTENSION_AREAS = {"tasks-extension"}
Deviation = dict[str, Any]

HANDSHAKE_METHODS = """
    initialize ping tools/list tools/call resources/list resources/templates/list resources/read
    resources/subscribe resources/unsubscribe prompts/list prompts/get completion/complete logging/setLevel
    roots/list sampling/createMessage notifications/initialized notifications/cancelled notifications/progress
    notifications/message notifications/tools/list_changed notifications/resources/list_changed
    notifications/resources/updated notifications/prompts/list_changed notifications/roots/list_changed
"""
METHODS = {
    "2024-11-05": HANDSHAKE_METHODS,
    "2025-03-26": HANDSHAKE_METHODS,
    "2025-06-18": f"{HANDSHAKE_METHODS} elicitation/create",
    "2025-11-25": f"""{HANDSHAKE_METHODS} elicitation/create notifications/elicitation/complete
        tasks/get tasks/result tasks/list tasks/cancel notifications/tasks/status""",
    "2026-07-28": """
        server/discover tools/list tools/call resources/list resources/templates/list resources/read prompts/list
        prompts/get completion/complete subscriptions/listen roots/list sampling/createMessage elicitation/create
        notifications/cancelled notifications/progress notifications/message notifications/tools/list_changed
        notifications/resources/list_changed notifications/resources/updated notifications/prompts/list_changed
        notifications/subscriptions/acknowledged tasks/get tasks/update tasks/cancel notifications/tasks
    """,
}


# --- two sides that judge the same documents --------------------------------------------------------------


@cache
def words() -> tuple[str, ...]:
    return vocabulary(document for date in REVISIONS for document in for_revision(date).documents.values())


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


def judged(ours: Side, theirs: Side, name: str) -> Iterator[Judged]:
    return both_verdicts(ours, theirs, name, words())


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
    assert sorted(for_revision(revision).methods) == sorted(METHODS[revision].split())


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
        assert len(verdicts) >= 2000
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
def test_both_sides_admit_every_official_example_but_those_that_are_wrong() -> None:
    examples = sorted((OFFICIAL / "2026-07-28" / "examples").glob("*/*.json"))
    ours, theirs = our_side(for_revision("2026-07-28").documents), official_side("2026-07-28")
    refused = set()
    for path in examples:
        example = json.loads(path.read_bytes())
        assert theirs.validator(path.parent.name).is_valid(example), path
        if not ours.validator(path.parent.name).is_valid(example):
            refused.add(path.name)
    assert refused == WRONG_EXAMPLES
    assert len(examples) > 100


@needs_official
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_comparison_notices_each_keyword_that_a_schema_loses(revision: str) -> None:
    documents, theirs = as_official(revision), official_side(revision)
    unnoticed = []
    for identifier, document in documents.items():
        for name, schema in document["$defs"].items():
            for path, keyword in keywords(schema) if name in theirs.names else ():
                changed = {**document, "$defs": {**document["$defs"], name: loosened(schema, path, keyword)}}
                side = our_side({**documents, identifier: changed})
                if (path, keyword) != SAID_BY_THE_BASE and not any(disagreements(side, theirs, name)):
                    unnoticed.append((name, path, keyword))
    assert not unnoticed


# --- what the explanations say ---------------------------------------------------------------------------


def messages(type_ref: str, document: object, revision: str = "2025-11-25") -> list[str]:
    return [problem.message for problem in for_revision(revision).problems(type_ref, document)]


def test_a_missing_member_is_named_with_its_path_and_type() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image", "data": "aGk="}]
    (problem,) = for_revision("2025-11-25").problems("tools#CallToolResult", {"content": content})
    assert problem.message == "content[1].mimeType is missing"
    assert problem.path == ("content", 1, "mimeType")
    assert problem.expected == "string"


def test_an_unknown_content_type_is_told_the_types_there_are() -> None:
    assert messages("tools#CallToolResult", {"content": [{"type": "video"}]}) == [
        'content[0].type is "video", expected "text", "image", "audio", "resource_link" or "resource"'
    ]


def test_a_block_without_a_type_is_not_taken_for_one_of_them() -> None:
    assert messages("tools#CallToolResult", {"content": [{}]}) == ["content[0].type is missing"]


def test_a_union_of_plain_types_is_one_problem() -> None:
    assert messages("elicitation#ElicitResult", {"action": "accept", "content": {"a": None, "b": [1]}}) == [
        "content.a is null, expected string, number, boolean or array",
        "content.b[0] is 1, expected string",
    ]


def test_the_alternative_that_lacks_least_speaks() -> None:
    contents = [{"uri": "file:///a"}, {"uri": "file:///a", "blob": 4}]
    assert messages("resources#ReadResourceResult", {"contents": contents}) == [
        "contents[0] has neither text nor blob",
        "contents[1].blob is 4, expected string",
    ]
    assert messages("base#JSONRPCMessage", {"jsonrpc": "2.0", "id": None, "result": {}}) == [
        "id is null, expected string or integer"
    ]
    assert messages("base#JSONRPCMessage", {"jsonrpc": "2.0", "id": 1}) == [
        "JSONRPCMessage has none of method, result, error"
    ]


def test_the_mode_of_an_elicitation_decides_what_is_wrong_with_it() -> None:
    url = {"mode": "url", "message": "m", "url": 4}
    assert messages("elicitation#ElicitRequestParams", url) == [
        "elicitationId is missing",
        "url is 4, expected string",
    ]
    form = {"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string", "format": 1}}}}
    assert messages("elicitation#ElicitRequestParams", form) == [
        'requestedSchema.properties.a.format is 1, expected "email", "uri", "date" or "date-time"'
    ]


def test_the_status_of_a_task_of_the_extension_decides_what_it_carries() -> None:
    task = {"resultType": "complete", "taskId": "t", "createdAt": "", "lastUpdatedAt": "", "ttlMs": None}
    payloads: dict[str, dict[str, object]] = {
        "working": {},
        "completed": {"result": {}},
        "input_required": {"inputRequests": {}},
    }
    for status, payload in payloads.items():
        document = {**task, "status": status, **payload}
        assert messages("tasks-extension#GetTaskResult", document, "2026-07-28") == []
    for status, missing in (("completed", "result"), ("failed", "error"), ("input_required", "inputRequests")):
        document = {**task, "status": status}
        assert messages("tasks-extension#GetTaskResult", document, "2026-07-28") == [f"{missing} is missing"]


def test_a_document_of_another_type_is_named_by_the_type_it_should_have() -> None:
    assert messages("tools#CallToolResult", [1, 2]) == ["CallToolResult is an array of 2, expected object"]


def test_one_place_is_one_problem_although_a_base_type_says_it_too() -> None:
    assert messages("tools#CallToolRequest", {"jsonrpc": "2.0", "id": 1, "method": 5, "params": []}) == [
        'method is 5, expected "tools/call"',
        "params is [], expected object",
    ]


def test_odd_member_names_are_quoted_and_long_values_shortened() -> None:
    notification = {
        "jsonrpc": "2.0",
        "method": "notifications/tools/list_changed",
        "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": ["x"]}},
    }
    assert messages("tools#ToolListChangedNotification", notification, "2026-07-28") == [
        'params._meta["io.modelcontextprotocol/subscriptionId"] is an array of 1, expected string or integer'
    ]
    (message,) = messages("tools#CallToolResult", {"content": [], "isError": "x" * 10**6})
    assert len(message) < 200
    assert "(1000000 characters)" in message


def test_an_input_required_result_needs_requests_or_state() -> None:
    refused = messages("input-required#InputRequiredResult", {"resultType": "input_required"}, "2026-07-28")
    assert refused == ["InputRequiredResult has neither inputRequests nor requestState"]
    state = {"resultType": "input_required", "requestState": ""}
    assert messages("input-required#InputRequiredResult", state, "2026-07-28") == []


def test_problems_are_bounded() -> None:
    tools = [{"name": None, "inputSchema": {"type": "object"}}] * (3 * MOST_PROBLEMS)
    assert len(messages("tools#ListToolsResult", {"tools": tools})) == MOST_PROBLEMS


@pytest.mark.parametrize(("number", "integer"), [(300000.0, True), (10**400, True), (0.5, False), (True, False)])
def test_an_integer_is_a_number_without_a_fraction_and_no_boolean(number: object, integer: bool) -> None:
    listed = {"resultType": "complete", "tools": [], "cacheScope": "public", "ttlMs": number}
    assert (messages("tools#ListToolsResult", listed, "2026-07-28") == []) is integer


@pytest.mark.parametrize("number", [0.5, 1e30, float("inf")])
def test_a_size_may_be_any_number(number: float) -> None:
    assert messages("resources#Resource", {"uri": "file:///a", "name": "a", "size": number}) == []


def test_a_lone_surrogate_is_judged_all_the_same() -> None:
    assert messages("content#TextContent", {"type": "text", "text": "\ud800"}) == []
    assert messages("content#TextContent", {"type": "\ud800", "text": ""}) == ['type is "\\ud800", expected "text"']


def test_deep_nesting_is_judged_all_the_same() -> None:
    deep: object = None
    for _ in range(900):
        deep = {"a": deep}
    assert messages("tools#CallToolResult", {"content": [], "structuredContent": deep}) == []
    assert messages("tools#CallToolResult", {"structuredContent": deep}) == ["content is missing"]


# --- finding the type ------------------------------------------------------------------------------------


def test_the_result_type_of_the_stateless_era_follows_resulttype() -> None:
    call = for_revision("2026-07-28").methods["tools/call"]
    listing = for_revision("2026-07-28").methods["tools/list"]
    chosen = [
        call.result_type({"resultType": kind}, stateless=True) for kind in ("complete", "input_required", "task", "x")
    ]
    assert chosen == [
        "tools#CallToolResult",
        "input-required#InputRequiredResult",
        "tasks-extension#CreateTaskResult",
        None,
    ]
    assert listing.result_type({"resultType": "input_required"}, stateless=True) is None
    assert call.result_type({}, stateless=True) == "tools#CallToolResult"


def test_the_result_type_of_a_task_augmented_request_is_the_task() -> None:
    call = for_revision("2025-11-25").methods["tools/call"]
    assert call.result_type({}, stateless=False, task=True) == "tasks#CreateTaskResult"
    assert call.result_type({"resultType": "x"}, stateless=False) == "tools#CallToolResult"
    older = for_revision("2025-06-18").methods["tools/call"]
    assert older.result_type({}, stateless=False, task=True) == "tools#CallToolResult"


def test_an_error_with_a_shape_of_its_own_has_a_type() -> None:
    error = {"code": -32022, "message": "m", "data": {"supported": ["2026-07-28"]}}
    type_ref = for_revision("2026-07-28").errors[-32022]
    assert messages(type_ref, {"jsonrpc": "2.0", "error": error}, "2026-07-28") == ["error.data.requested is missing"]


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="1999-01-01"):
        for_revision("1999-01-01")
    with pytest.raises(KeyError, match="tools#Nothing"):
        for_revision("2025-11-25").problems("tools#Nothing", {})
    assert for_revision("2025-11-25").method("no/such") is None


def test_threads_may_share_the_schemas_of_a_revision() -> None:
    shared = WireSchemas("2025-11-25")
    types = sorted(shared.types)

    def judge(_: int) -> list[int]:
        return [len(shared.problems(type_ref, None)) for type_ref in types]

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(judge, range(8))
    assert all(other == first for other in others)
    assert min(first) == 1
