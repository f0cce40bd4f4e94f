"""Faults in the opening, ping and capabilities."""

from __future__ import annotations

import time
from itertools import count

from conformance.reference.call import Call
from conformance.reference.fault import (
    LISTS,
    OPENING,
    Fault,
    around,
    die,
    drop,
    dropped,
    failing,
    instead,
    keep_silent,
    on_response,
    on_result,
    setting,
    undeclared,
    when_ready,
)
from conformance.reference.identity import INFO
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

ONCE = "jsonrpc/every-request-answered-once"
COMPLETE = "lifecycle/initialize-result-complete"
KNOWN = {"experimental", "extensions", "roots", "sampling", "elicitation", "tasks"}
SLOW_PING = 5.0


def _speak_first(first: Message) -> Apply:
    def apply(server: Server) -> None:
        server.started.append(lambda channel: channel.send(first))

    return apply


def _ask_early(message: Message, call: Call) -> list[Any]:
    if "roots" not in call.params["capabilities"] or "result" not in message:
        return [message]
    return [message, {"jsonrpc": "2.0", "id": "early", "method": "roots/list"}]


def _slow_ping() -> Apply:
    pings = count(1)

    def run(call: Call, proceed: Proceed) -> Message | None:
        if next(pings) % 7 == 0:
            time.sleep(SLOW_PING)
        return proceed(call)

    return instead("ping", run)


def _strict_capabilities(call: Call, proceed: Proceed) -> Message | None:
    declared = call.params.get("capabilities", call.client) if isinstance(call.params, dict) else {}
    unknown = sorted(set(declared) - KNOWN)
    if unknown:
        raise RpcError(INVALID_PARAMS, f"Invalid params: unknown capability {unknown[0]}")
    return proceed(call)


def _without_website(call: Call, proceed: Proceed) -> Message | None:
    if call.method in LISTS and "websiteUrl" in call.meta.get("io.modelcontextprotocol/clientInfo", {}):
        raise RpcError(INVALID_PARAMS, "Invalid params: unknown member websiteUrl in clientInfo")
    return proceed(call)


def _second_initialize(then: Callable[[], object]) -> Apply:
    """Do that with `initialize` in a session that is open."""

    def apply(server: Server) -> None:
        from conformance.reference.handshake import Session

        admit = Session.admit

        def admitted(peer: Session, call: Call) -> None:
            if call.method == "initialize" and peer.revision is not None:
                then()
            admit(peer, call)

        setattr(Session, "admit", admitted)  # noqa: B010  (a method cannot be assigned to)

    return apply


def _dies_at(method: str, time: int = 1) -> Apply:
    """End when a client sends that notification for the first time, or for a later one."""

    def hook(peer: Any, said: str, channel: Any) -> None:
        if said == method:
            known = peer.__dict__
            known[method] = known.get(method, 0) + 1
            if known[method] == time:
                die()

    return lambda server: server.notified.append(hook)


def _capability(name: str, value: Any) -> Apply:
    return on_result(OPENING, lambda result, call: result["capabilities"].update({name: value}))


def _capabilities_listed(message: Message, call: Call) -> Message:
    if "result" in message:
        message["result"]["capabilities"] = list(message["result"]["capabilities"])
    return message


FAULTS = (
    Fault(
        "speaks-first",
        "lifecycle/silent-before-initialize logging/capability-declared discovery/only-declared-notifications",
        "a log message comes before initialize",
        _speak_first(notification("notifications/message", {"level": "info", "data": "ready"})),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "asks-first",
        "lifecycle/silent-before-initialize lifecycle/no-requests-before-initialized roots/capability-checked "
        "discovery/only-declared-client-capabilities",
        "roots/list is sent before initialize",
        _speak_first({"jsonrpc": "2.0", "id": "first", "method": "roots/list"}),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "initialize-without-server-info",
        f"{COMPLETE} discovery/server-info-shape",
        "the initialize result lacks serverInfo",
        on_result(("initialize",), lambda result, call: drop(result, "serverInfo")),
        until="2025-11-25",
    ),
    Fault(
        "initialize-instructions-number",
        COMPLETE,
        "the instructions in the initialize result are a number",
        on_result(("initialize",), lambda result, call: result.update(instructions=5)),
        until="2025-11-25",
    ),
    Fault(
        "asks-before-initialized",
        "lifecycle/no-requests-before-initialized",
        "roots/list is sent right after the answer to initialize",
        on_response(("initialize",), _ask_early),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "timeout-not-announced",
        "lifecycle/timed-out-request-cancelled",
        "the server gives up its own requests without notifications/cancelled",
        dropped("notifications/cancelled"),
        since="2025-03-26",
        until="2025-11-25",
    ),
    Fault(
        "ping-unknown",
        "lifecycle/ping-answered-with-empty-result lifecycle/ping-answered-before-initialized"
        " lifecycle/ping-answered-promptly jsonrpc/batch-accepted",
        "ping is an unknown method",
        failing("ping", -32601),
        until="2025-11-25",
    ),
    Fault(
        "ping-answered-null",
        "jsonrpc/result-is-object",
        "the result of ping is null",
        on_response(("ping",), lambda message, call: {**message, "result": None} if "result" in message else message),
        until="2025-11-25",
    ),
    Fault(
        "ping-says-pong",
        "lifecycle/ping-answered-with-empty-result",
        "the result of ping is not empty",
        on_result(("ping",), lambda result, call: result.update(pong=True)),
        until="2025-11-25",
    ),
    Fault(
        "ping-slow",
        "lifecycle/ping-answered-promptly jsonrpc/every-request-answered-once jsonrpc/undeclared-feature-refused"
        "  transport-stdio/exits-on-stdin-close-implied jsonrpc/parse-error-code"
        " jsonrpc/invalid-params-refused tools/malformed-call-refused",
        f"every seventh ping takes {SLOW_PING:.0f} s",
        _slow_ping(),
        since="2025-11-25",
        until="2025-11-25",
    ),
    Fault(
        "ping-needs-initialized",
        "lifecycle/ping-answered-before-initialized",
        "ping is refused before notifications/initialized",
        instead("ping", when_ready),
        until="2025-11-25",
    ),
    Fault(
        "capability-true",
        f"discovery/capabilities-shape {COMPLETE} discovery/discover-result-shape",
        "the capability logging is true instead of an object",
        _capability("logging", True),
    ),
    Fault(
        "capabilities-listed",
        f"{COMPLETE} tasks/capability-declared tasks/undeclared-list-and-cancel-refused"
        " resources/subscribe-refused-when-undeclared discovery/only-declared-notifications",
        "the capabilities are an array of names",
        on_response(OPENING, _capabilities_listed),
        until="2025-11-25",
    ),
    Fault(
        "list-changed-text",
        f"discovery/capabilities-shape {COMPLETE} discovery/discover-result-shape",
        "prompts.listChanged is text",
        _capability("prompts", {"listChanged": "yes"}),
    ),
    Fault(
        "server-info-version-number",
        f"discovery/server-info-shape {COMPLETE}",
        "the version in serverInfo is a number",
        setting("info", {**INFO, "version": 1.0}),
    ),
    Fault(
        "website-relative",
        "discovery/server-info-shape",
        "the websiteUrl in serverInfo is a path",
        setting("info", {**INFO, "websiteUrl": "/about"}),
        since="2025-11-25",
    ),
    Fault(
        "icon-of-server-over-file",
        "content/icon-scheme-safe",
        "the icon in serverInfo has a file: URI",
        setting("info", {**INFO, "icons": [{"src": "file:///usr/share/icons/server.png"}]}),
        since="2025-11-25",
    ),
    Fault(
        "unknown-client-capability-refused",
        "discovery/unknown-client-capabilities-tolerated",
        "a client capability that the server does not know is refused",
        around(_strict_capabilities),
    ),
    Fault(
        "unknown-client-capability-refused-by-calls",
        "discovery/unknown-client-capabilities-tolerated",
        "tools/call from a client with a capability that the server does not know is refused",
        instead("tools/call", _strict_capabilities),
        since="2026-07-28",
    ),
    Fault(
        "client-website-refused",
        "discovery/unknown-client-capabilities-tolerated",
        "a list is refused to a client that says where its website is",
        around(_without_website),
        since="2026-07-28",
    ),
    Fault(
        "asks-undeclared",
        "discovery/only-declared-client-capabilities roots/capability-checked sampling/capability-required"
        " elicitation/capability-required elicitation/mode-declared versioning/negotiated-version-respected"
        " elicitation/form-shape meta/missing-capability-refused versioning/no-context-from-prior-requests"
        " sampling/tools-need-capability elicitation/url-required-error-only-then",
        "the client is asked for what it did not declare",
        setting("missing_capability", lambda call, request: None),
        since="2025-06-18",
    ),
    Fault(
        "announces-undeclared-change",
        "discovery/only-declared-notifications",
        "tools/list_changed is sent although tools.listChanged is not declared",
        _capability("tools", {}),
        until="2025-11-25",
    ),
    Fault(
        "logs-undeclared",
        "logging/capability-declared discovery/only-declared-notifications jsonrpc/undeclared-feature-refused",
        "log messages are sent although logging is not declared",
        undeclared("logging"),
    ),
    Fault(
        "second-initialize-kills",
        ONCE,
        "the server ends when a client initializes twice",
        _second_initialize(die),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "second-initialize-dropped",
        ONCE,
        "a second initialize is not answered",
        _second_initialize(keep_silent),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "second-initialized-kills",
        ONCE,
        "the server ends when notifications/initialized comes twice",
        _dies_at("notifications/initialized", time=2),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "astray-progress-kills",
        ONCE,
        "the server ends when a client tells of progress that nobody asked for",
        _dies_at("notifications/progress"),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "discover-unknown",
        "discovery/discover-implemented versioning/dual-era-serves-modern-requests versioning/first-request-served",
        "server/discover is an unknown method",
        failing("server/discover", -32601),
        since="2026-07-28",
    ),
    Fault(
        "discover-instructions-number",
        "discovery/discover-result-shape",
        "the instructions in the discover result are a number",
        on_result(("server/discover",), lambda result, call: result.update(instructions=5)),
        since="2026-07-28",
    ),
    Fault(
        "server-info-in-no-result",
        "discovery/server-info-in-results",
        "no result names the server",
        on_result(
            (*OPENING, *LISTS, "tools/call", "resources/read", "prompts/get", "completion/complete"),
            lambda result, call: drop(result, "_meta"),
        ),
        since="2026-07-28",
    ),
    Fault(
        "extension-without-prefix",
        "discovery/extension-identifier-format",
        "an advertised extension has a name without prefix",
        _capability("extensions", {"receipts": {}}),
        since="2026-07-28",
    ),
    Fault(
        "extension-true",
        "discovery/extension-settings-object discovery/capabilities-shape discovery/discover-result-shape",
        "the settings of an advertised extension are true",
        _capability("extensions", {"com.example/receipts": True}),
        since="2026-07-28",
    ),
    Fault(
        "extension-forced",
        "discovery/extension-fallback jsonrpc/result-type-known tools/call-result-shape"
        " input-required/result-type-marked",
        "tools are answered by the result type of an extension that the client did not declare",
        on_result(("tools/call",), lambda result, call: result.update(resultType="com.example/receipt")),
        since="2026-07-28",
    ),
)
