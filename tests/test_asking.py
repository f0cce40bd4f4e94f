"""What is judged of a server's questions to its client: forms, URLs, models with tools, and which tools ask them."""

from __future__ import annotations

from typing import Any

import pytest
from test_invariants import CALL, LIST, OLD, Server, broken, error, judged, request

from conformance.checks.invariants.forms import is_secret, user_data
from conformance.checks.ledger import Ledger
from conformance.checks.probes.elicitation import misfit
from conformance.checks.probes.roots import path_argument
from conformance.model import Json, Severity
from conformance.session.answers import form_content

MODEL: Json = {"sampling": {"tools": {}}}
USE: Json = {"type": "tool_use", "id": "a", "name": "t", "input": {}}
OTHER_USE: Json = {**USE, "id": "b"}
RESULT: Json = {"type": "tool_result", "toolUseId": "a", "content": []}
OTHER_RESULT: Json = {**RESULT, "toolUseId": "b"}
WORDS: Json = {"type": "text", "text": "x"}


def sampled(*messages: tuple[str, Json], **members: Json) -> Ledger:
    """What is said of a server that sends these messages to the model of a client with tools."""
    listed = [{"role": role, "content": content} for role, content in messages]
    asked = request("sampling/createMessage", messages=listed, maxTokens=1, **members)
    return judged(Server(before=(asked,)), LIST, client=MODEL)


@pytest.mark.parametrize(
    "following",
    [[RESULT], [RESULT, OTHER_RESULT, RESULT], [OTHER_RESULT, RESULT]],
    ids=["one missing", "too many", "in another order"],
)
def test_each_tool_use_needs_its_result_in_the_next_message(following: list[Json]) -> None:
    ledger = sampled(("user", WORDS), ("assistant", [USE, OTHER_USE]), ("user", following))
    lacking = {block["toolUseId"] for block in following} != {"a", "b"}
    assert set(broken(ledger)) == ({"sampling/every-tool-use-answered"} if lacking else set())


@pytest.mark.parametrize("rest", [[], [("user", WORDS)], [("assistant", RESULT)]], ids=["none", "text", "assistant"])
def test_a_tool_use_that_nothing_follows_is_unanswered(rest: list[tuple[str, Json]]) -> None:
    assert set(broken(sampled(("user", WORDS), ("assistant", USE), *rest))) == {"sampling/every-tool-use-answered"}


def test_tool_results_stand_alone_in_their_message() -> None:
    good = sampled(("user", WORDS), ("assistant", [WORDS, USE]), ("user", RESULT))
    assert broken(good) == {} and "sampling/tool-results-stand-alone" in good.tested
    mixed = sampled(("user", WORDS), ("assistant", USE), ("user", [RESULT, WORDS]))
    assert broken(mixed) == {"sampling/tool-results-stand-alone": None}


@pytest.mark.parametrize(("value", "avoided"), [("none", True), ("thisServer", False), ("allServers", False)])
def test_context_is_not_included_unless_that_is_declared(value: str, avoided: bool) -> None:
    found = broken(sampled(("user", WORDS), includeContext=value))
    assert found == ({} if avoided else {"sampling/include-context-avoided": None})
    asked = request(
        "sampling/createMessage", messages=[{"role": "user", "content": WORDS}], maxTokens=1, includeContext=value
    )
    assert broken(judged(Server(before=(asked,)), LIST, client={"sampling": {"context": {}}})) == {}


SECRETS = (
    "password",
    "userPassword",
    "api_key",
    "APIKey",
    "OpenAI API key",
    "access-token",
    "client_secret",
    "cardNumber",
)
INNOCENT = (
    *("token_count", "max_tokens", "password_length", "username", "email", "keyword", "secretary", "author"),
    *("primary_key", "tokenizer", "card", "monkey", "page token"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_a_property_that_is_named_like_a_secret_is_told(name: str) -> None:
    assert is_secret(name, {"type": "string"})
    assert is_secret("x", {"type": "string", "title": name})


@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_name_is_not_taken_for_a_secret(name: str) -> None:
    assert not is_secret(name, {"type": "string"})


def test_only_what_the_user_types_can_be_a_secret() -> None:
    assert not is_secret("show_password", {"type": "boolean"})
    assert not is_secret("password", {"type": "string", "enum": ["keep", "change"]})


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/connect?elicitationId=550e8400-e29b-41d4-a716-446655440000&state=eyJhbGciOiJIUzI1NiJ9.e30",
        "https://www.npmjs.com/package/@scope/name",
        "https://unpkg.com/react@18.2.0/index.js",
        "https://example.com/login?response_type=token&client_id=x",
        "http://[broken",
    ],
)
def test_an_ordinary_url_holds_no_data_of_the_user(url: str) -> None:
    assert user_data(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/connect?login_hint=ada%40example.org",
        "https://example.com/users/ada@example.org",
        "https://ada:secret@example.com/",
        "https://example.com/connect?api_key=123",
    ],
)
def test_addresses_and_credentials_in_a_url_are_told(url: str) -> None:
    assert user_data(url)


@pytest.mark.parametrize(
    ("text", "clickable"),
    [
        ("See https://phishing.test/login", True),
        ("As in https://docs.example.com/x or http://localhost:3000", False),
        ("The name of the host", False),
    ],
)
def test_links_in_the_text_of_a_form_only_warn(text: str, clickable: bool) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "description": text}}}
    form = request("elicitation/create", message="m", requestedSchema=schema)
    found = broken(judged(Server(before=(form,)), LIST, client={"elicitation": {}}))
    assert found == ({"elicitation/no-clickable-urls-in-form": Severity.WARNING} if clickable else {})


LISTED: Json = {"mode": "url", "elicitationId": "e", "url": "https://example.com/", "message": "m"}


@pytest.mark.parametrize(
    ("code", "data", "requirement"),
    [
        (-32042, {"elicitations": [LISTED]}, ""),
        (-32042, {"elicitations": []}, "elicitation/url-required-error-only-then"),
        (-32042, None, "elicitation/url-required-error-only-then"),
        (-32042, {"elicitations": [LISTED, {**LISTED, "mode": "form"}]}, "elicitation/url-required-error-data"),
        (-32042, {"elicitations": [{**LISTED, "url": None}]}, "elicitation/url-required-error-data"),
        (-32000, {"elicitations": [LISTED]}, "elicitation/url-required-error-code"),
        (-32000, {"elicitations": "none"}, ""),
        (-32000, None, ""),
    ],
)
def test_the_error_that_wants_a_url_opened_lists_what_to_open(code: int, data: Json, requirement: str) -> None:
    ledger = judged(Server({"tools/call": error(code, data=data)}), CALL, client={"elicitation": {"url": {}}})
    assert set(broken(ledger)) == ({requirement} if requirement else set())


def test_the_error_that_wants_a_url_opened_is_of_no_use_to_a_client_that_cannot() -> None:
    server = Server({"tools/call": error(-32042, data={"elicitations": [LISTED]})})
    assert broken(judged(server, CALL)) == {"elicitation/url-required-error-only-then": Severity.WARNING}
    assert broken(judged(server, CALL, revision="2025-06-18")) == {}


@pytest.mark.parametrize(
    ("method", "revision", "requirement"),
    [
        ("sampling/createMessage", OLD, "sampling/capability-required"),
        ("elicitation/create", OLD, "elicitation/capability-required"),
        ("roots/list", OLD, "discovery/only-declared-client-capabilities"),
        ("roots/list", "2025-03-26", "roots/capability-checked"),
    ],
)
def test_asking_undeclared_is_told_once(method: str, revision: str, requirement: str) -> None:
    params: dict[str, dict[str, Any]] = {
        "sampling/createMessage": {"messages": [], "maxTokens": 1},
        "elicitation/create": {"message": "m", "requestedSchema": {"type": "object", "properties": {}}},
    }
    asked = request(method, **params.get(method, {}))
    found = broken(judged(Server(before=(asked,)), LIST, revision=revision))
    assert found == {requirement: None}


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({"properties": {"n": {"type": "integer"}}}, {"n": "mcp-conform"}),
        ({"properties": {"a": {"type": "string"}, "b": {"enum": ["x"]}}}, {"a": "text", "b": "mcp-conform"}),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, {}),
        ({"properties": {"a": {"type": "string", "minLength": 3}}}, {"a": ""}),
    ],
)
def test_a_form_is_answered_wrongly_in_one_place(schema: Json, wrong: Json) -> None:
    found = misfit(schema, form_content(schema))
    assert found is not None and found[0] == wrong


@pytest.mark.parametrize("schema", [None, {}, {"properties": {}}, {"properties": {"a": {"type": "string"}}}])
def test_a_form_that_takes_anything_cannot_be_answered_wrongly(schema: Json) -> None:
    assert misfit(schema, form_content(schema)) is None


@pytest.mark.parametrize(
    ("properties", "required", "name"),
    [
        ({"path": {"type": "string"}}, ["path"], "path"),
        ({"file_path": {"type": "string"}, "n": {"type": "integer"}}, ["n", "file_path"], "file_path"),
        ({"path": {"type": "string"}}, [], ""),
        ({"path": {"type": "array"}}, ["path"], ""),
        ({"path": {"type": "string"}, "dir": {"type": "string"}}, ["path", "dir"], ""),
        ({"pathology": {"type": "string"}}, ["pathology"], ""),
    ],
)
def test_a_path_argument_is_one_for_sure_or_none(properties: Json, required: list[str], name: str) -> None:
    assert path_argument({"inputSchema": {"properties": properties, "required": required}}) == name
