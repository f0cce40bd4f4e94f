"""Faults in the metadata of requests, the caching hints and the log level of 2026-07-28, and in _meta at large."""

from __future__ import annotations

from conformance.reference import server as correct
from conformance.reference.call import Call
from conformance.reference.fault import (
    LISTS,
    Fault,
    around,
    code,
    drop,
    instead,
    on_error,
    on_item,
    on_result,
    setting,
)
from conformance.reference.identity import INFO
from conformance.reference.stateless import CACHEABLE
from conformance.reference.tool import failure
from conformance.reference.wire import (
    CLIENT,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LOG_LEVEL,
    SERVER_INFO,
    VERSION,
    Message,
    RpcError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

NEW = "2026-07-28"
MISSING = ("meta/missing-meta-refused", "meta/missing-protocol-version-refused")
MISSING_CLIENT = "meta/missing-client-capabilities-refused"
HINTS = "caching/hints-present"


def _assuming(**defaults: Any) -> Apply:
    """Take members of `_meta` that are missing to have the given values."""

    def check(call: Call) -> None:
        if isinstance(call.params, dict):
            meta = call.params.setdefault("_meta", {})
            for name, value in defaults.items():
                meta.setdefault(f"io.modelcontextprotocol/{name}", value)
        correct.check_meta(call)

    return setting("check_meta", check)


def _lenient_types(call: Call) -> None:
    if CLIENT in call.meta and not isinstance(call.meta[CLIENT], dict):
        call.meta[CLIENT] = {}
    correct.check_meta(call)


def _listed_capabilities(call: Call) -> None:
    if isinstance(call.meta.get(CLIENT), list):
        call.meta[CLIENT] = {}
    correct.check_meta(call)


def _version_as_number(call: Call) -> None:
    if call.meta.get(VERSION) == int(NEW.replace("-", "")):
        call.meta[VERSION] = NEW
    correct.check_meta(call)


def _any_level(call: Call) -> None:
    drop(call.meta, LOG_LEVEL)
    correct.check_meta(call)


def _demanding(call: Call) -> None:
    correct.check_meta(call)
    if "io.modelcontextprotocol/clientInfo" not in call.meta:
        raise RpcError(INVALID_PARAMS, "Invalid params: _meta io.modelcontextprotocol/clientInfo is required")


def _known_keys_only(call: Call, proceed: Proceed) -> Message | None:
    meta = call.params.get("_meta", {}) if isinstance(call.params, dict) else {}
    for key in meta:
        if key != "progressToken" and not key.startswith("io.modelcontextprotocol/"):
            raise RpcError(INVALID_PARAMS, f"Invalid params: unknown _meta key {key}")
    return proceed(call)


def _by_client_info(call: Call, proceed: Proceed) -> Message | None:
    result = proceed(call)
    info = call.meta.get("io.modelcontextprotocol/clientInfo", {})
    if result and info.get("name") == "claude-ai":
        result["tools"] = result["tools"][1:]
    return result


def _meta_key(key: str, value: Any) -> Apply:
    return on_item("prompts/list", "hello", lambda item: item.update(_meta={key: value}))


def _private_later(result: Message, call: Call) -> None:
    if "cursor" in call.params:
        result["cacheScope"] = "private"


def _hint(name: str, value: Any) -> Apply:
    return on_result(LISTS, lambda result, call: result.update({name: value}))


def _log_anyway(call: Call, proceed: Proceed) -> Message | None:
    call.notify("notifications/message", {"level": "info", "data": "called"})
    return proceed(call)


def _levels_remembered(server: Server) -> None:
    levels: list[Any] = []

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if LOG_LEVEL in call.meta:
            levels.append(call.meta[LOG_LEVEL])
        elif levels:
            call.meta[LOG_LEVEL] = levels[-1]
        return proceed(call)

    around(serve)(server)


def _names_what_is_there(message: Message, call: Call | None) -> None:
    declared = [name for name in (call.client if call else {}) if name != "extensions"]
    if declared:
        message["error"]["data"] = {"requiredCapabilities": {declared[0]: {}}}


def _names_in_a_list(message: Message, call: Call | None) -> None:
    data = message["error"]["data"]
    data["requiredCapabilities"] = list(data["requiredCapabilities"])


def _failing_by_result(message: Message, call: Call | None) -> Message:
    result = {"resultType": "complete", "_meta": {SERVER_INFO: INFO}, **failure(message["error"]["message"])}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


FAULTS = (
    Fault(
        "meta-not-needed",
        f"{MISSING[0]} {MISSING[1]} {MISSING_CLIENT} versioning/no-context-from-prior-requests"
        " meta/missing-field-http-400",
        "a request without _meta is served",
        _assuming(protocolVersion=NEW, clientCapabilities={}),
        since=NEW,
    ),
    Fault(
        "protocol-version-not-needed",
        f"{MISSING[1]} meta/missing-field-http-400",
        "a request without protocolVersion in its _meta is served",
        _assuming(protocolVersion=NEW),
        since=NEW,
    ),
    Fault(
        "client-capabilities-not-needed",
        f"{MISSING_CLIENT} versioning/no-context-from-prior-requests meta/missing-field-http-400",
        "a request without clientCapabilities in its _meta is served",
        _assuming(clientCapabilities={}),
        since=NEW,
    ),
    Fault(
        "missing-meta-code",
        f"{MISSING[0]}",
        "a request without _meta gives -32603",
        code("Invalid params: params._meta", INTERNAL_ERROR),
        since=NEW,
    ),
    Fault(
        "malformed-meta-accepted",
        "meta/malformed-field-refused",
        "clientCapabilities of any type are accepted",
        setting("check_meta", _lenient_types),
        since=NEW,
    ),
    Fault(
        "client-capabilities-listed",
        "meta/malformed-field-refused",
        "clientCapabilities may be a list",
        setting("check_meta", _listed_capabilities),
        since=NEW,
    ),
    Fault(
        "version-number-accepted",
        "meta/malformed-field-refused",
        "the protocol version may be a number",
        setting("check_meta", _version_as_number),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "client-info-demanded",
        "meta/client-info-optional",
        "a request without clientInfo is refused",
        setting("check_meta", _demanding),
        since=NEW,
    ),
    Fault(
        "meta-keys-refused",
        "meta/unknown-keys-tolerated",
        "unknown keys in _meta are refused",
        around(_known_keys_only),
    ),
    Fault(
        "depends-on-client-info",
        "meta/behaviour-independent-of-client-info",
        "one client sees fewer tools than the others",
        instead("tools/list", _by_client_info),
        since=NEW,
    ),
    Fault(
        "meta-null",
        "meta/meta-is-object prompts/list-shape",
        "a prompt has _meta: null",
        on_item("prompts/list", "hello", lambda item: item.update(_meta=None)),
        since="2025-06-18",
    ),
    Fault(
        "meta-key-underscore",
        "meta/key-format",
        "a _meta key begins with an underscore",
        _meta_key("_reference", {}),
        since="2025-06-18",
    ),
    Fault(
        "meta-key-reserved",
        "meta/reserved-prefix-unused",
        "a _meta key of the server's own has a reserved prefix",
        _meta_key("io.modelcontextprotocol/colour", "grey"),
        since="2025-11-25",
    ),
    Fault(
        "trace-context-garbled",
        "meta/trace-context-format",
        "traceparent is not of the W3C format",
        _meta_key("traceparent", "none"),
        since=NEW,
    ),
    Fault(
        "missing-capability-unnamed",
        "meta/missing-capability-named",
        "-32021 does not say which capability is missing",
        on_error("The client lacks", lambda message, call: drop(message["error"], "data")),
        since=NEW,
    ),
    Fault(
        "missing-capability-is-declared",
        "meta/missing-capability-named",
        "-32021 names a capability that the client declared",
        on_error("The client lacks", _names_what_is_there),
        since=NEW,
    ),
    Fault(
        "missing-capability-in-a-list",
        "meta/missing-capability-named",
        "-32021 names the missing capabilities in an array",
        on_error("The client lacks", _names_in_a_list),
        since=NEW,
    ),
    Fault(
        "missing-capability-code",
        "meta/missing-capability-refused",
        "a missing capability gives -32602",
        code("The client lacks", INVALID_PARAMS),
        since=NEW,
    ),
    Fault(
        "missing-capability-is-failure",
        "meta/missing-capability-refused",
        "a tool that lacks a client capability fails by a result",
        on_error("The client lacks", _failing_by_result),
        since=NEW,
    ),
    Fault(
        "hints-missing",
        f"{HINTS} tools/list-shape resources/list-shape resources/templates-list-shape prompts/list-shape"
        " resources/read-shape discovery/discover-result-shape",
        "no result has caching hints",
        on_result(tuple(CACHEABLE), lambda result, call: drop(result, "ttlMs", "cacheScope")),
        since=NEW,
    ),
    Fault(
        "ttl-negative",
        f"caching/ttl-non-negative {HINTS}",
        "ttlMs is -1",
        _hint("ttlMs", -1),
        since=NEW,
    ),
    Fault("ttl-fraction", f"caching/ttl-integer {HINTS}", "ttlMs is 0.5", _hint("ttlMs", 0.5), since=NEW),
    Fault(
        "scope-unknown",
        f"caching/scope-public-or-private {HINTS}",
        "cacheScope is shared",
        _hint("cacheScope", "shared"),
        since=NEW,
    ),
    Fault(
        "scope-changes",
        "caching/scope-uniform-across-pages",
        "later pages have another cacheScope than the first",
        on_result(LISTS, _private_later),
        since=NEW,
    ),
    Fault(
        "logs-unasked",
        "logging/no-log-without-level logging/level-filter",
        "tools log although the request sets no level",
        instead("tools/call", _log_anyway),
        since=NEW,
    ),
    Fault(
        "log-level-remembered",
        "logging/no-log-without-level",
        "the level of a request holds for those that follow",
        _levels_remembered,
        since=NEW,
    ),
    Fault(
        "bad-log-level-accepted",
        "logging/invalid-log-level-key-refused",
        "an unknown log level in _meta is accepted",
        setting("check_meta", _any_level),
        since=NEW,
    ),
)
