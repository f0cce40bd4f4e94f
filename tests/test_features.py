"""What the checks of completion, logging, progress and JSON Schema dialects decide, without a server process."""

from __future__ import annotations

import json

import pytest

from conformance.checks.invariants.completion import Completion
from conformance.checks.invariants.pace import MANY, Pace
from conformance.checks.invariants.secrets import Secrets
from conformance.checks.ledger import History, Ledger
from conformance.checks.probes.dialects import telling
from conformance.checks.rate_limits import limited
from conformance.model import Frame, Json, Limits, Target
from conformance.revisions import BY_DATE
from conformance.session.eras import era_of
from conformance.session.messages import Call
from conformance.session.session import Session
from conformance.survey.completions import completions
from conformance.survey.survey import CallPolicy, Survey
from conformance.target.secrets import CANARY, secrets_of
from conformance.transports.memory import MemoryTransport

OLD = "2025-11-25"
SEVENTH = "http://json-schema.org/draft-07/schema#"
SECRET = 'correct "horse" battery'


def session() -> Session:
    """A session that nobody opens."""
    return Session(MemoryTransport(lambda line: ()), era_of(BY_DATE[OLD]), BY_DATE[OLD], limits=Limits())


def frame(number: int, message: Json, at: float = 0.0, ours: bool = False) -> Frame:
    """A frame as a session would keep it."""
    origin = "us" if ours else "target"
    return Frame(number, origin, "stdout", at, json.dumps(message).encode(), message, True)  # type: ignore[arg-type]


# -- completion


@pytest.mark.parametrize(("count", "broken"), [(0, False), (100, False), (101, True)])
def test_a_completion_has_at_most_a_hundred_values(count: int, broken: bool) -> None:
    ledger = Ledger()
    call = Call(1, "completion/complete", {}, frame(0, {}, ours=True))
    result = {"completion": {"values": ["x"] * count}}
    Completion(session(), ledger).heard(frame(1, {"jsonrpc": "2.0", "id": 1, "result": result}), call)
    assert bool(ledger.findings) is broken


def test_variables_of_templates_are_completed_by_their_bare_names() -> None:
    template = {"uriTemplate": "x://{+path}/{a,b*}{?words:3,limit}"}
    found = completions(Survey({}, CallPolicy(), templates=(template,)))
    assert [each["argument"]["name"] for each in found] == ["path", "a", "b", "words", "limit"]
    assert [each["context"] for each in found[:2]] == [{"arguments": {"a": "x"}}, {"arguments": {"path": "x"}}]


def test_arguments_without_a_name_are_not_completed() -> None:
    prompts = ({"name": "p", "arguments": [{"name": "a"}, {"name": 1}, "b"]}, {"name": 2, "arguments": [{"name": "c"}]})
    found = completions(Survey({}, CallPolicy(), prompts=prompts))
    assert found == [{"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}]


def test_arguments_and_variables_are_completed_by_turns() -> None:
    prompts = ({"name": "p", "arguments": [{"name": "a"}, {"name": "b"}]},)
    templates = ({"uriTemplate": "x://{c}"},)
    found = completions(Survey({}, CallPolicy(), prompts=prompts, templates=templates))
    assert [each["argument"]["name"] for each in found] == ["a", "c", "b"]


# -- secrets in log messages


def log(data: Json) -> Frame:
    """A log message."""
    return frame(7, {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}})


@pytest.mark.parametrize("data", [SECRET, f"key={SECRET};", {"env": {"API_KEY": SECRET}}])
def test_a_log_message_with_a_secret_is_a_finding_that_does_not_show_it(data: Json) -> None:
    watched, ledger = session(), Ledger()
    watched.secrets = (SECRET,)
    Secrets(watched, ledger).heard(log(data), None)
    told = repr(ledger.findings)
    assert ledger.findings and "horse" not in told


def test_the_history_of_a_finding_about_a_secret_is_not_told_either() -> None:
    watched, ledger = session(), Ledger("case")
    watched.secrets = (SECRET,)
    Secrets(watched, ledger).heard(log(SECRET), None)
    ledger.histories.append(History((log(SECRET),)))
    assert "horse" not in repr(ledger.led_to(ledger.findings[0]))


def test_a_log_message_without_a_secret_holds() -> None:
    watched, ledger = session(), Ledger("case")
    watched.secrets = (SECRET,)
    Secrets(watched, ledger).heard(log("a horse"), None)
    assert ledger.tested == {"logging/no-secrets-logged": {"case": 1}}


def test_secrets_are_credentials_and_neither_places_nor_short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME_TOKEN", "SHORT_TOKEN", "OTHER"):
        monkeypatch.delenv(name, raising=False)
    given = {"MY_API_KEY": "0123456789abcdef", "A_TOKEN": "short", "B_SECRET": "/run/secrets/some-file"}
    found = secrets_of(Target(("server",), env={**given, "NAME": "0123456789abcdefgh"}))
    assert {"0123456789abcdef", *CANARY.values()} <= set(found)
    assert not {"short", "/run/secrets/some-file", "0123456789abcdefgh"} & set(found)


def test_of_a_remote_server_only_the_headers_are_secret() -> None:
    target = Target(url="https://example.com/mcp", headers={"Authorization": "Bearer 0123456789abcdef"})
    assert secrets_of(target) == ("0123456789abcdef",)


# -- progress


def paced(count: int, seconds: float) -> Ledger:
    """What is said of `count` notifications within `seconds`."""
    ledger = Ledger()
    watcher = Pace(session(), ledger)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": {"progressToken": 5}}}
    watcher.sent(frame(0, request, ours=True))
    for number in range(count):
        params = {"progressToken": 5, "progress": number}
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        watcher.heard(frame(number + 1, note, at=seconds * (number + 1) / count), None)
    watcher.finish()
    return ledger


@pytest.mark.parametrize(("count", "seconds"), [(1, 0.001), (MANY, 0.01), (3 * MANY, 3.0)])
def test_progress_at_a_bearable_rate_holds(count: int, seconds: float) -> None:
    ledger = paced(count, seconds)
    assert not ledger.findings and "progress/rate-limited" in ledger.tested


@pytest.mark.parametrize(("count", "seconds"), [(MANY + 1, 0.01), (3 * MANY + 1, 3.0)])
def test_a_flood_of_progress_is_a_finding(count: int, seconds: float) -> None:
    assert [finding.requirement for finding in paced(count, seconds).findings] == ["progress/rate-limited"]


# -- dialects


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {"prefixItems": [{"type": "string"}]}}}, {"a": [1]}),
        ({"properties": {"a": {"type": "string"}}, "dependentRequired": {"a": ["b"]}}, {"a": "x"}),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"a": {}},
                "dependencies": {"a": ["b"]},
            },
            {"a": "x"},
        ),
    ],
    ids=["prefixItems", "dependentRequired", "draft-07"],
)
def test_arguments_tell_the_dialect_of_a_schema_from_another(schema: Json, arguments: Json) -> None:
    assert next(telling(schema, {})) == arguments


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string"}}},
        {"$schema": "https://example.com/dialect", "properties": {"a": {"prefixItems": [{"type": "string"}]}}},
        {"properties": {"a": {"items": [{"type": "string"}]}}},
        {"properties": True, "dependentRequired": {"a": ["b"]}},
    ],
    ids=["insensitive", "unknown dialect", "invalid", "no properties"],
)
def test_a_schema_that_means_the_same_or_nothing_tells_no_dialect(schema: Json) -> None:
    assert list(telling(schema, {})) == []


@pytest.mark.parametrize(
    ("words", "says_so"),
    [
        ("Rate limit exceeded", True),
        ("Completions are limited to 10 a second", True),
        ("You may not ask too often", True),
        ("limited to 5 requests per minute", True),
        ("The text is limited to 500 characters", False),
        ("Internal error, try again later", False),
    ],
)
def test_a_refusal_is_told_from_a_limit_of_how_often_one_may_ask(words: str, says_so: bool) -> None:
    message: Json = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": words}}
    assert bool(limited([Frame(0, "target", "stdout", 0.0, b"", message=message)])) is says_so
