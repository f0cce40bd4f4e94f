"""Each invariant has a server that breaks it, and one whose oddity is tolerated."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.catalogue.requirements import load
from conformance.checks.invariants import load_invariants
from conformance.checks.invariants.content import base64_fault
from conformance.checks.invariants.listing import is_template
from conformance.checks.invariants.wire import SuiteError
from conformance.checks.ledger import Ledger
from conformance.model import Limits, Severity, Target
from conformance.revisions import BY_DATE
from conformance.session.eras import era_of
from conformance.session.session import Session
from conformance.transports import Transport
from conformance.transports.memory import MemoryTransport
from conformance.transports.stdio import StdioTransport

LIMITS = Limits(start=5, answer=5, quiet=0.1, shutdown=2)
IMPATIENT = Limits(start=5, answer=0.05, quiet=0.1, shutdown=2)
NEW, OLD = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}}
TEXT = {"type": "text", "text": "x"}
NAMED = {META + "serverInfo": {"name": "s", "version": "1"}}

Script = Callable[[Session], object]
Json = Any


def nothing(_session: Session) -> None:
    """Only open and close the session."""


def asking(method: str, **params: Json) -> Script:
    """One request."""
    return lambda session: session.request(method, params or None)


CALL = asking("tools/call", name="t", arguments={})
LIST = asking("tools/list")


def cancel_late(session: Session) -> None:
    """Cancel a request that has been answered."""
    call = session.request("tools/list")
    session.notify("notifications/cancelled", {"requestId": call.id})
    session.hear_out()


def cancellation_answered(message: dict[str, Json]) -> Iterable[Json]:
    """An error for the request that is cancelled, whether it has been answered or not."""
    if message["method"] == "notifications/cancelled":
        error = {"code": 0, "message": "Request cancelled"}
        yield {"jsonrpc": "2.0", "id": message["params"]["requestId"], "error": error}


@dataclass
class Server:
    """A correct little server whose `results` replace answers; `before` and `after` are said around each of them.

    A value of `results` is a result, or a function of the request that gives the lines to answer with.
    """

    results: dict[str, Json] = field(default_factory=dict)
    capabilities: Json = field(default_factory=lambda: dict(CAPABILITIES))
    before: tuple[Json, ...] = ()
    after: tuple[Json, ...] = ()
    notified: Callable[[dict[str, Json]], Iterable[Json]] = lambda _message: ()

    def __call__(self, line: bytes) -> Iterable[bytes]:
        message = json.loads(line)
        if not isinstance(message, dict) or "method" not in message:
            return
        method = message["method"]
        if "id" not in message:
            yield from map(encoded, self.notified(message))
            return
        around = method not in ("initialize", "server/discover", "ping")
        yield from map(encoded, self.before if around else ())
        result = self.results.get(method, self.default(message))
        if callable(result):
            yield from map(encoded, result(message))
        else:
            yield encoded(answer(message, result))
        yield from map(encoded, self.after if around else ())

    def default(self, message: dict[str, Json]) -> Json:
        """What a correct server answers."""
        modern = {"resultType": "complete", "_meta": NAMED}
        hints = {"ttlMs": 0, "cacheScope": "private"}
        info = {"name": "s", "version": "1"}
        params = message.get("params", {})
        stateless = META + "protocolVersion" in params.get("_meta", {})
        listed = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}
        body: dict[str, Json] = {}
        if message["method"] == "initialize":
            return {"protocolVersion": params["protocolVersion"], "capabilities": self.capabilities, "serverInfo": info}
        if message["method"] == "server/discover":
            body = {"supportedVersions": [NEW], "capabilities": self.capabilities, **hints}
        elif message["method"] in listed:
            body = {listed[message["method"]]: [], **(hints if stateless else {})}
        elif message["method"] == "tools/call":
            body = {"content": [TEXT]}
        return {**body, **(modern if stateless else {})}


def answer(message: dict[str, Json], result: Json) -> Json:
    """The response to a request."""
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def error(code: Json, **more: Json) -> Callable[[dict[str, Json]], list[Json]]:
    """Answers by an error."""
    return lambda message: [{"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "m", **more}}]


def note(method: str, **params: Json) -> Json:
    """A notification."""
    return {"jsonrpc": "2.0", "method": "notifications/" + method, "params": params}


def request(method: str, identifier: Json = "s1", **params: Json) -> Json:
    """A request of the server."""
    return {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}


def encoded(line: Json) -> bytes:
    """A line: bytes as they are, anything else as JSON."""
    return line if isinstance(line, bytes) else json.dumps(line).encode()


def watched(
    transport: Transport, script: Script, revision: str = OLD, client: Json = None, limits: Limits = LIMITS
) -> Ledger:
    """What the invariants say about a session in which `script` was played."""
    session = Session(transport, era_of(BY_DATE[revision]), BY_DATE[revision], client=client, limits=limits)
    ledger = Ledger("case")
    session.case = "case"
    watching = [invariant(session, ledger) for invariant in load_invariants()]
    session.observers.extend(watching)
    transport.start()
    try:
        session.open()
        script(session)
        if session.alive:
            session.hear_out()
    finally:
        session.close()
    for invariant in watching:
        invariant.finish()
    # As the engine does: what does not hold in the revision is not reported.
    ledger.findings = [f for f in ledger.findings if revision in load()[f.requirement].levels]
    return ledger


def judged(server: Callable[[bytes], Iterable[bytes]], script: Script = nothing, **how: Any) -> Ledger:
    """The same over a server in memory, which keeps the rules of stdio."""
    transport = MemoryTransport(server)
    transport.process_per_session = True
    return watched(transport, script, **how)


def broken(ledger: Ledger) -> dict[str, Severity | None]:
    """Requirement → the highest severity that its findings may have, None for any."""
    return {finding.requirement: finding.ceiling for finding in ledger.findings}


def with_tool(**members: Json) -> dict[str, Json]:
    """Answers to tools/list with one tool."""
    return {"tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}, **members}]}}


def with_content(*blocks: Json, **members: Json) -> dict[str, Json]:
    """Answers to tools/call with these blocks."""
    return {"tools/call": {"content": list(blocks), **members}}


def with_message(block: Json) -> dict[str, Json]:
    """An answer to prompts/get with this block."""
    return {"prompts/get": {"messages": [{"role": "user", "content": block}]}}


def modern(method: str, **members: Json) -> dict[str, Json]:
    """An answer of the stateless era, changed as `members` say; None takes a member away."""
    default = Server().default({"method": method, "params": {"_meta": {META + "protocolVersion": NEW}}})
    return {method: {k: v for k, v in {**default, **members}.items() if v is not None}}


# -- the correct server


@pytest.mark.parametrize("revision", BY_DATE)
def test_a_correct_server_breaks_nothing(revision: str) -> None:
    def script(session: Session) -> None:
        for method in ("tools/list", "resources/list", "prompts/list"):
            session.request(method)
        session.request("tools/call", {"name": "t", "arguments": {}})

    ledger = judged(Server(), script, revision=revision)
    assert ledger.findings == []
    assert {"jsonrpc/valid-messages", "tools/list-shape", "tools/call-result-shape"} <= set(ledger.tested)


def test_invariants_name_requirements_that_exist() -> None:
    assert {i for each in load_invariants() for i in each.requirements} <= set(load())


# -- what breaks a rule: (requirement, its ceiling, server, script, revision)

BREAKS: list[tuple[str, Severity | None, Server, Script, str]] = [
    # the stream
    ("transport-stdio/stdout-only-messages", None, Server(before=(b"Listening ...",)), LIST, OLD),
    ("transport-stdio/stdout-only-messages", None, Server(before=(b"[" * 1_200_000,)), LIST, OLD),
    ("transport-stdio/stdout-only-messages", None, Server(before=(b"[INFO] up",)), LIST, OLD),
    ("transport-stdio/stdout-only-messages", None, Server(before=(b'"ready"',)), LIST, OLD),
    ("transport-stdio/stdout-only-messages", None, Server(before=(b'{"a": NaN}',)), LIST, OLD),
    ("transport-stdio/stdout-only-messages", None, Server(before=(b"\x00\xff\xfe\x01",)), LIST, "2024-11-05"),
    ("transport-stdio/stdout-only-messages", Severity.WARNING, Server(before=(b"",)), LIST, OLD),
    ("transport-stdio/stdout-only-messages", None, Server(before=(b"Content-Length: 52\r", b"\r")), LIST, OLD),
    ("transport-stdio/no-embedded-newlines", None, Server(before=(b"{", b'  "jsonrpc": "2.0"', b"}")), LIST, OLD),
    ("jsonrpc/messages-utf8", None, Server(before=('{"jsonrpc":"2.0","method":"é"}'.encode("latin-1"),)), LIST, OLD),
    (
        "jsonrpc/messages-utf8",
        Severity.WARNING,
        Server(before=(b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"notifications/x"}',)),
        LIST,
        OLD,
    ),
    # the envelope
    ("jsonrpc/version-member", None, Server({"ping": lambda m: [{"id": m["id"], "result": {}}]}), nothing, OLD),
    ("jsonrpc/valid-messages", None, Server(before=({"jsonrpc": "2.0", "id": 9},)), LIST, OLD),
    ("jsonrpc/valid-messages", None, Server(before=({"jsonrpc": "2.0", "method": 7},)), LIST, OLD),
    ("jsonrpc/valid-messages", None, Server(before=({"jsonrpc": "2.0", "method": "x", "params": []},)), LIST, OLD),
    ("jsonrpc/no-batch-emitted", None, Server({"ping": lambda m: [[answer(m, {})]]}), nothing, OLD),
    (
        "jsonrpc/every-request-answered-once",
        None,
        Server({"tools/list": lambda m: [answer(m, {"tools": []})] * 2}),
        LIST,
        OLD,
    ),
    (
        "jsonrpc/every-request-answered-once",
        Severity.WARNING,
        Server(notified=cancellation_answered),
        cancel_late,
        OLD,
    ),
    (
        "jsonrpc/result-xor-error",
        None,
        Server({"tools/list": lambda m: [{**answer(m, {"tools": []}), "error": None}]}),
        LIST,
        OLD,
    ),
    ("jsonrpc/result-is-object", None, Server({"tools/list": [1]}), LIST, OLD),
    ("jsonrpc/error-has-code-and-message", None, Server({"x/y": error(1, message=None)}), asking("x/y"), OLD),
    ("jsonrpc/error-code-integer", None, Server({"x/y": error("1")}), asking("x/y"), OLD),
    ("jsonrpc/error-code-integer", None, Server({"x/y": error(True)}), asking("x/y"), OLD),
    ("jsonrpc/error-code-integer", None, Server({"x/y": error(1.5)}), asking("x/y"), OLD),
    ("jsonrpc/no-invented-reserved-codes", None, Server({"x/y": error(-32100)}), asking("x/y"), OLD),
    (
        "jsonrpc/notification-never-answered",
        None,
        Server(notified=lambda m: [{"jsonrpc": "2.0", "id": None, "result": {}}]),
        nothing,
        OLD,
    ),
    ("jsonrpc/notification-without-id", None, Server(before=({**note("x"), "id": None},)), LIST, OLD),
    ("jsonrpc/server-request-id-valid", None, Server(before=(request("ping", None),)), LIST, OLD),
    (
        "jsonrpc/server-request-id-not-reused",
        None,
        Server(before=(request("ping", 1), request("ping", 1, _meta={}))),
        LIST,
        OLD,
    ),
    ("jsonrpc/no-server-requests", None, Server(before=(request("ping"),)), LIST, NEW),
    # codes and results of the stateless era
    ("jsonrpc/spec-code-band-only-defined", None, Server({"x/y": error(-32050)}), asking("x/y"), NEW),
    ("jsonrpc/legacy-code-band-unused", Severity.ADVICE, Server({"x/y": error(-32001)}), asking("x/y"), NEW),
    ("jsonrpc/retired-code-32002-unused", None, Server({"x/y": error(-32002)}), asking("x/y"), NEW),
    ("jsonrpc/retired-code-32042-unused", None, Server({"x/y": error(-32042)}), asking("x/y"), NEW),
    ("jsonrpc/application-codes-outside-reserved", None, Server({"x/y": error(-32500)}), asking("x/y"), NEW),
    ("jsonrpc/spec-codes-as-specified", None, Server({"x/y": error(-32020)}), asking("x/y"), NEW),
    ("jsonrpc/result-type-present", None, Server(modern("tools/call", resultType=None)), CALL, NEW),
    ("jsonrpc/result-type-known", None, Server(modern("tools/call", resultType="odd")), CALL, NEW),
    # shapes
    (
        "lifecycle/initialize-result-complete",
        None,
        Server({"initialize": {"protocolVersion": OLD, "capabilities": {}}}),
        nothing,
        OLD,
    ),
    ("discovery/capabilities-shape", None, Server(capabilities={"tools": True}), nothing, OLD),
    ("discovery/capabilities-shape", None, Server(capabilities={"tools": {"listChanged": "yes"}}), nothing, NEW),
    ("tools/list-shape", None, Server(with_tool(description=5)), LIST, OLD),
    ("tools/input-schema-object", None, Server(with_tool(inputSchema={"type": "array"})), LIST, OLD),
    ("tools/output-schema-object", None, Server(with_tool(outputSchema={"type": "array"})), LIST, OLD),
    ("tools/annotations-shape", None, Server(with_tool(annotations={"readOnlyHint": "yes"})), LIST, OLD),
    ("tools/execution-shape", None, Server(with_tool(execution={"taskSupport": "maybe"})), LIST, OLD),
    ("pagination/next-cursor-string", None, Server({"tools/list": {"tools": [], "nextCursor": None}}), LIST, OLD),
    ("tools/call-result-shape", None, Server({"tools/call": {"isError": False}}), CALL, OLD),
    ("tools/structured-content-is-object", None, Server(with_content(structuredContent=[1])), CALL, OLD),
    ("meta/meta-is-object", None, Server(with_content(TEXT, _meta=None)), CALL, OLD),
    ("logging/message-shape", None, Server(before=(note("message", level="info"),)), LIST, OLD),
    ("progress/shape", None, Server(before=(note("progress", progressToken=1, progress="1"),)), LIST, OLD),
    ("resources/updated-shape", None, Server(before=(note("resources/updated"),)), LIST, OLD),
    ("cancellation/shape", None, Server(before=(note("cancelled", requestId=1, reason=5),)), LIST, OLD),
    # lists
    ("tools/name-length", None, Server(with_tool(name="x" * 129)), LIST, OLD),
    ("tools/name-characters", None, Server(with_tool(name="a b")), LIST, OLD),
    ("tools/no-parameter-schema-recommended", Severity.ADVICE, Server(with_tool()), LIST, OLD),
    (
        "json-schema/published-schemas-valid",
        None,
        Server(with_tool(outputSchema={"type": "object", "required": "a"})),
        LIST,
        NEW,
    ),
    (
        "json-schema/dialect-2020-12-preferred",
        Severity.ADVICE,
        Server(with_tool(inputSchema={"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"})),
        LIST,
        OLD,
    ),
    (
        "resources/uri-valid",
        None,
        Server({"resources/list": {"resources": [{"name": "r", "uri": "my_scheme:x"}]}}),
        asking("resources/list"),
        OLD,
    ),
    (
        "resources/uri-valid",
        Severity.WARNING,
        Server({"resources/list": {"resources": [{"name": "r", "uri": "a:b c"}]}}),
        asking("resources/list"),
        OLD,
    ),
    (
        "resources/template-valid",
        None,
        Server({"resources/templates/list": {"resourceTemplates": [{"name": "r", "uriTemplate": "a:{b"}]}}),
        asking("resources/templates/list"),
        OLD,
    ),
    (
        "resources/binary-base64",
        None,
        Server({"resources/read": {"contents": [{"uri": "a:b", "blob": "***"}]}}),
        asking("resources/read", uri="a:b"),
        OLD,
    ),
    # content
    ("content/known-types", None, Server(with_content({"type": "video"})), CALL, OLD),
    ("content/known-types", None, Server(with_content({"text": "x"})), CALL, OLD),
    ("content/text-shape", None, Server(with_content({"type": "text", "text": None})), CALL, OLD),
    (
        "content/image-data-base64",
        None,
        Server(with_content({"type": "image", "data": "data:image/png;base64,AA==", "mimeType": "image/png"})),
        CALL,
        OLD,
    ),
    (
        "content/image-data-base64",
        Severity.WARNING,
        Server(with_content({"type": "image", "data": "-_-_", "mimeType": "image/png"})),
        CALL,
        OLD,
    ),
    ("content/audio-data-base64", None, Server(with_content({"type": "audio", "data": "AA=="})), CALL, OLD),
    (
        "content/audio-data-base64",
        None,
        Server(with_content({"type": "audio", "data": "AA==", "mimeType": "opus; codecs=a/b"})),
        CALL,
        OLD,
    ),
    (
        "content/embedded-resource-shape",
        None,
        Server(with_content({"type": "resource", "resource": {"text": "x"}})),
        CALL,
        OLD,
    ),
    (
        "content/embedded-resource-shape",
        Severity.WARNING,
        Server(with_message({"type": "resource", "resource": {"uri": "a:b", "text": "x"}})),
        asking("prompts/get", name="p"),
        OLD,
    ),
    ("content/resource-link-shape", None, Server(with_content({"type": "resource_link", "uri": "a:b"})), CALL, OLD),
    (
        "content/annotations-shape",
        None,
        Server(with_content({**TEXT, "annotations": {"priority": 2}})),
        CALL,
        OLD,
    ),
    (
        "content/annotations-shape",
        Severity.WARNING,
        Server(with_content({**TEXT, "annotations": {"lastModified": "today"}})),
        CALL,
        OLD,
    ),
    ("content/icon-shape", None, Server(with_tool(icons=[{"mimeType": "image/png"}])), LIST, OLD),
    (
        "content/icon-shape",
        Severity.WARNING,
        Server(with_tool(icons=[{"src": "https://a", "sizes": ["big"]}])),
        LIST,
        OLD,
    ),
    ("content/icon-scheme-safe", None, Server(with_tool(icons=[{"src": "javascript:alert(1)"}])), LIST, OLD),
    (
        "tools/embedded-resource-needs-capability",
        None,
        Server(
            with_content({"type": "resource", "resource": {"uri": "a:b", "text": "x", "mimeType": "a/b"}}),
            capabilities={"tools": {}},
        ),
        CALL,
        OLD,
    ),
    (
        "versioning/negotiated-version-respected",
        None,
        Server(with_content({"type": "resource_link", "uri": "a:b", "name": "n"})),
        CALL,
        "2025-03-26",
    ),
    # _meta
    ("meta/key-format", None, Server(with_tool(_meta={"_fastmcp": {}})), LIST, OLD),
    ("meta/key-format", None, Server(before=(note("message", level="info", data=1, _meta={"a b": 1}),)), LIST, OLD),
    ("meta/reserved-prefix-unused", Severity.WARNING, Server(with_tool(_meta={"com.mcp.tools/x": 1})), LIST, OLD),
    (
        "meta/reserved-prefix-unused",
        Severity.WARNING,
        Server(with_tool(_meta={"tools.mcp.com/x": 1})),
        LIST,
        "2025-06-18",
    ),
    ("meta/prefix-in-reverse-dns", Severity.ADVICE, Server(with_tool(_meta={"example.com/x": 1})), LIST, OLD),
    (
        "meta/trace-context-format",
        None,
        Server(modern("tools/call", _meta={**NAMED, "traceparent": "00-" + "0" * 32 + "-" + "1" * 16 + "-01"})),
        CALL,
        NEW,
    ),
    # caching
    ("caching/hints-present", None, Server(modern("tools/list", ttlMs=None)), LIST, NEW),
    ("caching/ttl-non-negative", None, Server(modern("tools/list", ttlMs=-1)), LIST, NEW),
    ("caching/ttl-integer", None, Server(modern("tools/list", ttlMs=1.5)), LIST, NEW),
    ("caching/ttl-integer", None, Server(modern("tools/list", ttlMs=True)), LIST, NEW),
    ("caching/scope-public-or-private", None, Server(modern("tools/list", cacheScope="shared")), LIST, NEW),
    (
        "caching/no-hints-on-input-required",
        None,
        Server(modern("tools/call", content=None, resultType="input_required", requestState="s", ttlMs=1)),
        CALL,
        NEW,
    ),
    # capabilities, logs, the opening
    (
        "discovery/only-declared-notifications",
        Severity.WARNING,
        Server(before=(note("tools/list_changed"),)),
        LIST,
        OLD,
    ),
    (
        "logging/capability-declared",
        None,
        Server(before=(note("message", level="info", data=1),), capabilities={}),
        LIST,
        OLD,
    ),
    ("discovery/only-declared-client-capabilities", None, Server(before=(request("roots/list"),)), LIST, OLD),
    (
        "versioning/negotiated-version-respected",
        None,
        Server(before=(request("elicitation/create"),)),
        LIST,
        "2025-03-26",
    ),
    ("resources/updates-only-for-subscribed", None, Server(before=(note("resources/updated", uri="a:b"),)), LIST, OLD),
    (
        "lifecycle/no-requests-before-initialized",
        None,
        Server({"initialize": lambda m: [request("roots/list"), answer(m, Server().default(m))]}),
        nothing,
        OLD,
    ),
    # progress and cancellation
    ("progress/known-token-only", None, Server(before=(note("progress", progressToken="a", progress=1),)), LIST, OLD),
    ("cancellation/own-requests-only", None, Server(before=(note("cancelled", requestId=1),)), LIST, OLD),
    ("cancellation/server-cancels-listen-only", None, Server(before=(note("cancelled", requestId=1),)), LIST, NEW),
    (
        "progress/server-token-valid",
        None,
        Server(before=(request("ping", 1, _meta={"progressToken": [1]}),)),
        LIST,
        OLD,
    ),
    # the stateless era
    ("discovery/server-info-in-results", None, Server(modern("tools/call", _meta=None)), CALL, NEW),
    ("discovery/extension-identifier-format", None, Server(capabilities={"extensions": {"x": {}}}), nothing, NEW),
    ("discovery/extension-settings-object", None, Server(capabilities={"extensions": {"a.b/x": True}}), nothing, NEW),
    ("versioning/removed-notifications-not-sent", None, Server(before=(note("tasks/status", taskId="t"),)), LIST, NEW),
    ("subscriptions/no-unsolicited-changes", None, Server(before=(note("tools/list_changed"),)), LIST, NEW),
    ("logging/no-log-without-level", None, Server(before=(note("message", level="info", data=1),)), LIST, NEW),
    (
        "input-required/supported-methods-only",
        None,
        Server(modern("tools/list", tools=None, resultType="input_required", requestState="s")),
        LIST,
        NEW,
    ),
    (
        "input-required/requests-or-state-present",
        None,
        Server(modern("tools/call", content=None, resultType="input_required")),
        CALL,
        NEW,
    ),
    (
        "input-required/request-state-is-string",
        None,
        Server(modern("tools/call", content=None, resultType="input_required", requestState=5)),
        CALL,
        NEW,
    ),
    (
        "input-required/known-request-types",
        None,
        Server(modern("tools/call", content=None, resultType="input_required", inputRequests={"a": {"method": "x"}})),
        CALL,
        NEW,
    ),
    (
        "input-required/result-type-marked",
        None,
        Server(modern("tools/call", inputRequests={"a": {"method": "roots/list"}})),
        CALL,
        NEW,
    ),
    (
        "discovery/only-declared-client-capabilities",
        None,
        Server(
            modern(
                "tools/call", content=None, resultType="input_required", inputRequests={"a": {"method": "roots/list"}}
            )
        ),
        CALL,
        NEW,
    ),
]


@pytest.mark.parametrize(
    ("requirement", "ceiling", "server", "script", "revision"),
    BREAKS,
    ids=[f"{number}-{row[0]}" for number, row in enumerate(BREAKS)],
)
def test_a_faulty_server_is_caught(
    requirement: str, ceiling: Severity | None, server: Server, script: Script, revision: str
) -> None:
    found = broken(judged(server, script, revision=revision))
    assert requirement in found
    assert found[requirement] == ceiling


ONE_CAUSE = [
    row for row in BREAKS if row[0].startswith(("transport-stdio", "content/", "meta/", "tools/name", "jsonrpc/error"))
]


@pytest.mark.parametrize(
    ("requirement", "ceiling", "server", "script", "revision"),
    ONE_CAUSE,
    ids=[f"{number}-{row[0]}" for number, row in enumerate(ONE_CAUSE)],
)
def test_one_cause_is_one_violation(
    requirement: str, ceiling: Severity | None, server: Server, script: Script, revision: str
) -> None:
    found = broken(judged(server, script, revision=revision))
    assert [i for i, most in found.items() if most is not Severity.ADVICE or i == requirement] == [requirement]


# -- what is tolerated: (what, server, script, revision)


def raw(data: bytes) -> Script:
    """A frame that is wrong on purpose, then a window for what it brings about."""

    def script(session: Session) -> None:
        session.raw(data)
        session.hear_out()

    return script


def echoing_null(line: bytes) -> Iterable[bytes]:
    """A server that answers what it cannot read, and what has a strange id."""
    try:
        message = json.loads(line)
    except ValueError:
        yield encoded({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "m"}})
        return
    if "id" in message and (isinstance(message["id"], float) or message["id"] is None):
        yield encoded({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        return
    yield from Server()(line)


def logging_garbage(line: bytes) -> Iterable[bytes]:
    """A server that reports unreadable input by a log message without having declared logging."""
    if not line.startswith(b'{"jsonrpc"') or not line.endswith(b"}"):
        yield encoded(note("message", level="error", data="Internal Server Error"))
    else:
        yield from Server(capabilities={})(line)


def subscribing(session: Session) -> None:
    """Subscribe to a directory, then do something that brings an update."""
    session.request("resources/subscribe", {"uri": "a:dir/"})
    session.request("tools/list")


TEMPLATE = {"resources/templates/list": {"resourceTemplates": [{"name": "r", "uriTemplate": "a:{/path*}{?q,n:3}"}]}}
TOLERATED: list[tuple[str, Callable[[bytes], Iterable[bytes]], Script, str]] = [
    ("a carriage return", Server(before=(b'{"jsonrpc":"2.0","method":"notifications/x"}\r',)), LIST, OLD),
    (
        "deep nesting",
        Server(before=(b'{"jsonrpc":"2.0","method":"x","params":' + b'{"a":' * 190 + b"1" + b"}" * 191,)),
        LIST,
        OLD,
    ),
    (
        "a number of 5000 digits",
        Server(before=(b'{"jsonrpc":"2.0","method":"x","params":{"n":' + b"9" * 5000 + b"}}",)),
        LIST,
        OLD,
    ),
    ("escapes of lone surrogates", Server(with_content({"type": "text", "text": "\ud800"})), CALL, OLD),
    (
        "extra members",
        Server({"ping": {"pong": 1}, **with_tool(x=1, inputSchema={"type": "object", "additionalProperties": False})}),
        LIST,
        OLD,
    ),
    (
        "vendor notifications",
        Server(before=(note("x-vendor", a=1), {"jsonrpc": "2.0", "method": "vendor/y"})),
        LIST,
        OLD,
    ),
    ("more parts than are read", Server(before=(b'{"a": [' + b"," * 1_200_000,)), LIST, OLD),
    ("a ping of the server", Server(before=(request("ping"),)), LIST, OLD),
    ("the same id in both directions", Server(before=(request("ping", 1),)), LIST, OLD),
    (
        "an empty error message",
        Server({"x/y": lambda m: [{"jsonrpc": "2.0", "id": m["id"], "error": {"code": 1, "message": ""}}]}),
        asking("x/y"),
        OLD,
    ),
    ("an error code with a zero fraction", Server({"x/y": error(-32601.0)}), asking("x/y"), OLD),
    ("a code of the implementation", Server({"x/y": error(-32042)}), asking("x/y"), "2024-11-05"),
    ("an answer to garbage", echoing_null, raw(b'{"jsonrpc": "2.0", "id": 1,'), OLD),
    ("an answer to a fractional id", echoing_null, raw(b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}'), OLD),
    ("an answer to id null", echoing_null, raw(b'{"jsonrpc":"2.0","id":null,"method":"ping"}'), OLD),
    ("a log message about garbage", logging_garbage, raw(b"garbage"), OLD),
    (
        "a batch in the revision that has them",
        Server({"tools/list": lambda m: [[answer(m, {"tools": []})]]}),
        LIST,
        "2025-03-26",
    ),
    ("content without isError", Server(with_content()), CALL, OLD),
    ("an empty text", Server(with_content({"type": "text", "text": ""})), CALL, OLD),
    ("empty base64", Server(with_content({"type": "image", "data": "", "mimeType": "a/b"})), CALL, OLD),
    *(
        (
            f"the media type {kind}",
            Server(with_content({"type": "audio", "data": "AAA=", "mimeType": kind})),
            CALL,
            OLD,
        )
        for kind in ("audio/webm; codecs=opus", 'AUDIO/x-own+zip ;a="b/c d"')
    ),
    (
        "a resource without a MIME type in the result of a tool",
        Server(with_content({"type": "resource", "resource": {"uri": "a:b", "text": "x"}})),
        CALL,
        OLD,
    ),
    *(
        (f"the time {time}", Server(with_content({**TEXT, "annotations": {"lastModified": time}})), CALL, OLD)
        for time in ("20250112T150058Z", "2025-W02-7", "2025-012T15:00", "2025-01-12t15:00:58.5+01:00")
    ),
    ("data null in a log message", Server(before=(note("message", level="info", data=None),)), LIST, OLD),
    (
        "icons before they were defined",
        Server(with_tool(icons=5, inputSchema={"type": "object", "additionalProperties": False})),
        LIST,
        "2025-06-18",
    ),
    ("keys of _meta before their rules", Server(with_content(TEXT, _meta={"_a b": 1})), CALL, "2025-03-26"),
    (
        "an empty name after a prefix",
        Server(with_content(TEXT, _meta={"com.example/": 1, "progressToken": 1})),
        CALL,
        OLD,
    ),
    ("mcp as third label", Server(with_content(TEXT, _meta={"com.example.mcp/x": 1})), CALL, OLD),
    ("operators of RFC 6570", Server(TEMPLATE), asking("resources/templates/list"), OLD),
    (
        "an update below the subscribed",
        Server({"resources/subscribe": {}}, before=(note("resources/updated", uri="a:dir/x"),)),
        subscribing,
        OLD,
    ),
    ("ttlMs with a zero fraction", Server(modern("tools/list", ttlMs=300000.0)), LIST, NEW),
    (
        "another revision in the answer to initialize",
        Server(
            {"initialize": {"protocolVersion": OLD, "capabilities": {}, "serverInfo": {"name": "s", "version": ""}}}
        ),
        nothing,
        OLD,
    ),
]


@pytest.mark.parametrize(
    ("server", "script", "revision"), [row[1:] for row in TOLERATED], ids=[row[0] for row in TOLERATED]
)
def test_an_oddity_is_tolerated(server: Callable[[bytes], Iterable[bytes]], script: Script, revision: str) -> None:
    assert broken(judged(server, script, revision=revision)) == {}


# -- ids and answers that fail to come


@pytest.mark.parametrize(
    ("change", "ceiling"),
    [(str, None), (lambda i: [i], None), (lambda i: None, None), (float, Severity.WARNING)],
    ids=["as text", "wrapped", "null", "with a fraction"],
)
def test_an_id_that_comes_back_changed_is_told_with_the_request_it_belongs_to(
    change: Callable[[int], Json], ceiling: Severity | None
) -> None:
    server = Server({"tools/list": lambda m: [{**answer(m, {"tools": []}), "id": change(m["id"])}]})
    found = judged(server, LIST, limits=IMPATIENT)
    assert broken(found) == {"jsonrpc/response-id-echoed": ceiling}
    assert [frame.origin for frame in found.findings[0].frames] == ["us", "target"]


def test_a_request_without_an_answer_is_a_finding() -> None:
    assert broken(judged(Server({"tools/list": lambda m: []}), LIST, limits=IMPATIENT)) == {
        "jsonrpc/every-request-answered-once": None
    }


def test_a_tool_that_does_not_return_is_a_warning() -> None:
    ledger = judged(Server({"tools/call": lambda m: []}), CALL, limits=IMPATIENT)
    assert broken(ledger) == {"jsonrpc/every-request-answered-once": Severity.WARNING}
    assert "nor after it was cancelled" in ledger.findings[0].message


def test_silence_after_something_illegal_proves_nothing() -> None:
    def script(session: Session) -> None:
        session.raw(b'{"jsonrpc": "2.0", ')
        session.request("tools/list")

    def deaf(line: bytes) -> Iterable[bytes]:
        return [] if b"tools/list" in line or not line.endswith(b"}") else Server()(line)

    assert broken(judged(deaf, script, limits=IMPATIENT)) == {}


# -- progress


def progressing(*values: Json, after: tuple[Json, ...] = (), token: Json = "a") -> tuple[Server, Script]:
    """A tool that reports these values, before and after its answer."""

    def call(message: dict[str, Json]) -> list[Json]:
        notes = [[note("progress", progressToken=token, progress=v) for v in part] for part in (values, after)]
        return [*notes[0], answer(message, {"content": []}), *notes[1]]

    asked = asking("tools/call", name="t", _meta={"progressToken": "a"})
    return Server({"tools/call": call}), asked


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (progressing(1, 2.5, 100), {}),
        (progressing(), {}),
        (progressing(1, 2, 1), {"progress/value-increases": None}),
        (progressing(50, 100, 100), {"progress/value-increases": Severity.WARNING}),
        (progressing(1, after=(2,)), {"progress/stops-after-completion": None}),
        (progressing(1, token="b"), {"progress/known-token-only": None}),
        (progressing(1, token=1), {"progress/known-token-only": None}),
    ],
    ids=["rising", "none", "falling", "repeated", "late", "unknown", "of another type"],
)
def test_progress_rises_for_known_tokens_until_the_answer(
    case: tuple[Server, Script], found: dict[str, Severity | None]
) -> None:
    assert broken(judged(*case)) == found


# -- what the server asks


def test_requests_of_the_server_are_judged_by_what_the_client_declared() -> None:
    form = request("elicitation/create", message="m", requestedSchema={"type": "object", "properties": {}})
    url = request("elicitation/create", mode="url", message="m", url="http://example.com", elicitationId="e")
    client: Json = {"elicitation": {}}
    assert broken(judged(Server(before=(form,)), LIST, client=client)) == {}
    assert broken(judged(Server(before=(url,)), LIST, client=client)) == {
        "elicitation/mode-declared": None,
        "elicitation/url-https": None,
    }


def test_a_nested_form_breaks_the_rule_about_forms() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "object"}}}
    form = request("elicitation/create", message="m", requestedSchema=schema)
    found = broken(judged(Server(before=(form,)), LIST, client={"elicitation": {}}))
    assert found == {"elicitation/form-schema-flat": None}


def test_an_input_request_is_judged_like_a_request_of_its_method() -> None:
    asked = {"a": {"method": "elicitation/create", "params": {"message": 5, "requestedSchema": {}}}}
    server = Server(modern("tools/call", content=None, resultType="input_required", inputRequests=asked))
    found = broken(judged(server, CALL, revision=NEW, client={"elicitation": {}}))
    assert found == {"elicitation/form-shape": None}


# -- our own frames


@pytest.mark.parametrize("method", ["tools/call", "resources/read"])
def test_a_wrong_frame_of_ours_is_our_bug(method: str) -> None:
    with pytest.raises(SuiteError):
        judged(Server(), asking(method, name=5))


def test_a_frame_that_is_wrong_on_purpose_is_no_bug() -> None:
    judged(Server(), lambda session: session.request("tools/call", {"name": 5}, illegal=True))


# -- the other era on a connection


def test_after_a_handshake_the_rules_of_the_stateless_era_are_not_applied() -> None:
    def script(session: Session) -> None:
        params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        session.request("initialize", params, bare=True)

    assert broken(judged(Server(), script, revision=NEW)) == {}


# -- real processes

ANSWERING = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    if method == "die":
        sys.exit(3)
    result = {}
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {}}
        result["serverInfo"] = {"name": "s", "version": "1"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def ran(program: str, script: Script = nothing, shutdown: float = 5.0, impatient: bool = False) -> Ledger:
    """What the invariants say about a Python program over stdio."""
    limits = Limits(start=20, answer=10, quiet=0.1, shutdown=shutdown, impatient=impatient)
    return watched(StdioTransport(Target((sys.executable, "-c", program)), limits), script, limits=limits)


def test_a_server_that_ends_with_its_input_has_shut_down_well() -> None:
    ledger = ran(ANSWERING)
    assert ledger.findings == []
    assert "transport-stdio/exits-on-stdin-close-implied" in ledger.tested


def test_a_server_that_stays_after_its_input_is_told_how_it_was_ended() -> None:
    ledger = ran(ANSWERING + "\nimport time\ntime.sleep(60)", shutdown=0.5)
    assert set(broken(ledger)) == {"transport-stdio/exits-on-stdin-close-implied"}
    assert "SIGTERM" in ledger.findings[0].actual


def test_a_server_whose_end_is_not_waited_for_in_full_is_not_blamed_for_it() -> None:
    ledger = ran(ANSWERING + "\nimport time\ntime.sleep(60)", shutdown=0.5, impatient=True)
    assert ledger.findings == []
    assert "transport-stdio/exits-on-stdin-close-implied" not in ledger.tested


ASKING = ANSWERING.replace(
    "    result = {}\n", "    result = {}\n    if method == 'ping':\n        print(ASKED, flush=True)\n"
)
"""Pings the client when it is pinged, and stays after its input."""


@pytest.mark.parametrize("silent", [False, True])
def test_a_server_may_stay_only_while_we_owe_it_an_answer(silent: bool) -> None:
    def script(session: Session) -> None:
        session.answers.held.update({"ping"} if silent else ())
        session.request("ping")

    asked = json.dumps({"jsonrpc": "2.0", "id": "s1", "method": "ping"})
    ledger = ran(f"ASKED = {asked!r}\n{ASKING}\nimport time\ntime.sleep(60)", script, shutdown=0.5)
    assert set(broken(ledger)) == (set() if silent else {"transport-stdio/exits-on-stdin-close-implied"})


def test_a_server_that_dies_of_a_request_is_told_with_its_exit_code() -> None:
    ledger = ran(ANSWERING, asking("die"))
    assert set(broken(ledger)) == {"jsonrpc/every-request-answered-once"}
    assert "3" in ledger.findings[0].actual


def test_what_is_printed_on_the_way_out_counts() -> None:
    ledger = ran(ANSWERING + "\nprint('Goodbye')")
    assert set(broken(ledger)) == {"transport-stdio/stdout-only-messages"}


def test_half_a_line_at_the_end_counts_if_the_server_ended_by_itself() -> None:
    ledger = ran(ANSWERING + "\nprint('{\"jsonrpc\": ', end='')")
    assert set(broken(ledger)) == {"transport-stdio/stdout-only-messages"}


def test_half_a_line_of_a_server_that_was_ended_is_not_held_against_it() -> None:
    ledger = ran(ANSWERING + "\nprint('{\"jsonrpc\": ', end='', flush=True)\nimport time\ntime.sleep(60)", shutdown=0.5)
    assert set(broken(ledger)) == {"transport-stdio/exits-on-stdin-close-implied"}


# -- small languages


@pytest.mark.parametrize("text", ["a:b", "a:{b}", "a:{+path}/x", "a:{/b,c*}{?d:3}", "a:{b.c}", "a:{%41}"])
def test_a_uri_template_is_recognised(text: str) -> None:
    assert is_template(text)


@pytest.mark.parametrize("text", ["a:{b", "a:b}", "a:{}", "a:{{b}}", "a:{b c}", "a:{b:}", "a:{b,}", "a:{-b}"])
def test_a_broken_uri_template_is_recognised(text: str) -> None:
    assert not is_template(text)


def test_base64_of_a_standard_decoder_is_accepted() -> None:
    assert [base64_fault(text) for text in ("", "QQ==", "QUJD")] == [None] * 3
    assert base64_fault("QQ") == ("lacks the padding of base64", Severity.ADVICE)
    assert base64_fault("QU\nJD\n") == ("has line breaks or blanks within its base64", Severity.ADVICE)
    assert base64_fault("Q") == ("does not decode as base64", None)


def test_a_schema_that_describes_parameters_elsewhere_than_in_properties_is_none_without_parameters() -> None:
    schema = {"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}]}
    assert broken(judged(Server(with_tool(inputSchema=schema)), LIST)) == {}
