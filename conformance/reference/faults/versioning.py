"""Faults in versions and eras."""

from __future__ import annotations

import os

from conformance.reference import server as correct
from conformance.reference.call import Call
from conformance.reference.fault import (
    STATELESS,
    Fault,
    around,
    code,
    instead,
    modern_only,
    on_error,
    on_response,
    on_result,
    setting,
    several,
)
from conformance.reference.wire import (
    CLIENT,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    VERSION,
    Message,
    RpcError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

BOTH_ERAS = ["2025-11-25", "2026-07-28"]
REFUSED = "versioning/unsupported-version-refused"
REFUSAL_DATA = "versioning/unsupported-version-error-data"
REFUSAL_LISTS = "versioning/unsupported-version-error-lists-supported"


def _never_echo(server: Server, requested: str) -> str:
    served = server.handshake_revisions
    return served[served.index(requested) - 1] if requested in served else served[-1]


def _refuse_version(server: Server, requested: str) -> str:
    if requested in server.handshake_revisions:
        return requested
    data = {"supported": list(server.handshake_revisions), "requested": requested}
    raise RpcError(INVALID_PARAMS, "Unsupported protocol version", data)


def _copied_if(test: Callable[[str, str], bool]) -> Callable[[Server, str], str]:
    """Agree to a requested version for which `test`, with the newest one, says so."""

    def negotiate(server: Server, requested: str) -> str:
        served = server.handshake_revisions
        return requested if requested in served or test(requested, served[-1]) else served[-1]

    return negotiate


def _oldest(server: Server, requested: str) -> str:
    served = server.handshake_revisions
    return requested if requested in served else served[0]


def _era_forgotten(call: Call, proceed: Proceed) -> Message | None:
    if call.method not in ("initialize", "server/discover"):
        correct.check_meta(call)
    return proceed(call)


def _any_version(call: Call) -> None:
    if isinstance(call.meta.get(VERSION), str):
        call.meta[VERSION] = STATELESS[0]
    correct.check_meta(call)


def _locked_out() -> Apply:
    state = {"refused": False}

    def check(call: Call) -> None:
        if state["refused"]:
            raise correct.unsupported_version(call.server.stateless_revisions, call.meta.get(VERSION))
        try:
            correct.check_meta(call)
        except RpcError as error:
            state["refused"] = error.code == UNSUPPORTED_VERSION
            raise

    return setting("check_meta", check)


def _remembered() -> Apply:
    seen: Message = {}

    def check(call: Call) -> None:
        if isinstance(call.meta.get(CLIENT), dict):
            seen.update(call.meta[CLIENT])
        if seen or CLIENT in call.meta:
            call.meta.setdefault(CLIENT, {})
        call.client = {**seen, **call.client}
        correct.check_meta(call)

    return setting("check_meta", check)


def _discover_first(*methods: str, first: str = "server/discover") -> Apply:
    """Refuse these methods, or all, until server/discover, or what is `first`, has come."""
    discovered: list[bool] = []

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method == first:
            discovered.append(True)
        elif call.revision in STATELESS and not discovered and (not methods or call.method in methods):
            raise RpcError(INVALID_REQUEST, f"Invalid request: {first} comes first")
        return proceed(call)

    return around(serve)


def _unnamed(message: Message, call: Call) -> Message:
    return RpcError(INVALID_PARAMS, "Invalid params").response({"id": message["id"]})


def _lists_it_too(message: Message, call: Call | None) -> None:
    data = message["error"]["data"]
    data["supported"] = [*data["supported"], data["requested"]]


def _lists_both_eras(message: Message, call: Call | None) -> None:
    message["error"]["data"]["supported"] = BOTH_ERAS


def _silent_initialize(message: Message, call: Call) -> list[Any]:
    return []


def _vendor_notification(message: Message, call: Call) -> list[Any]:
    params = {"elicitationId": "none"}
    return [{"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params}, message]


def _old_ping(call: Call, proceed: Proceed) -> Message | None:
    removed = ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
    return {} if call.revision in STATELESS and call.method in removed else proceed(call)


def _old_task_list(call: Call, proceed: Proceed) -> Message | None:
    return {"tasks": []} if call.revision in STATELESS else proceed(call)


def _cursors_of_this_process(server: Server) -> None:
    make, read = server.cursor, server.offset
    own = f"{os.getpid()}-"
    server.cursor = lambda kind, position: own + make(kind, position)
    server.offset = lambda kind, text: read(kind, text.removeprefix(own))


FAULTS = (
    Fault(
        "version-never-echoed",
        "versioning/supported-version-echoed versioning/unsupported-version-counteroffered"
        " versioning/counteroffer-is-latest",
        "initialize is answered by the version before the requested one",
        setting("negotiate", _never_echo),
        until="2025-11-25",
    ),
    Fault(
        "version-copied",
        "versioning/unsupported-version-counteroffered versioning/counteroffer-is-latest"
        " versioning/supported-version-echoed",
        "initialize is answered by the requested version, whatever it is",
        setting("negotiate", lambda server, requested: requested),
        until="2025-11-25",
    ),
    Fault(
        "later-version-copied",
        "versioning/unsupported-version-counteroffered",
        "initialize is answered by the requested version, if it is later than the newest",
        setting("negotiate", _copied_if(lambda requested, newest: requested > newest)),
        until="2025-11-25",
    ),
    Fault(
        "longer-version-copied",
        "versioning/unsupported-version-counteroffered",
        "initialize is answered by the requested version, if it begins as one does",
        setting("negotiate", _copied_if(lambda requested, newest: requested.startswith(newest))),
        since="2025-03-26",
        until="2025-11-25",
        transports="http",
    ),
    Fault(
        "version-refused",
        "versioning/unsupported-version-counteroffered versioning/counteroffer-is-latest",
        "an unsupported version gives an error instead of a counter-offer",
        setting("negotiate", _refuse_version),
        until="2025-11-25",
    ),
    Fault(
        "counteroffer-oldest",
        "versioning/counteroffer-is-latest",
        "the counter-offer is the oldest supported version",
        setting("negotiate", _oldest),
        until="2025-11-25",
    ),
    Fault(
        "revision-ignored",
        "versioning/negotiated-version-respected content/known-types tools/call-result-shape prompts/get-shape",
        "results are those of the newest revision, whatever was negotiated",
        setting("shape", lambda method, result, revision: result),
        until="2025-03-26",
    ),
    Fault(
        "any-version-served",
        f"{REFUSED} {REFUSAL_DATA} {REFUSAL_LISTS} versioning/unsupported-version-http-400"
        " versioning/version-rejection-is-per-request http-headers/version-header-mismatch-refused",
        "a request of any version is served",
        setting("check_meta", _any_version),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "unsupported-version-code",
        f"{REFUSED} {REFUSAL_DATA} {REFUSAL_LISTS} versioning/version-rejection-is-per-request",
        "an unsupported version gives -32602",
        code("Unsupported protocol version", INVALID_PARAMS),
        since="2026-07-28",
    ),
    Fault(
        "unsupported-listed-as-supported",
        REFUSAL_LISTS,
        "the error for an unsupported version lists that version, too",
        on_error("Unsupported protocol version", _lists_it_too),
        since="2026-07-28",
    ),
    Fault(
        "requested-version-not-repeated",
        REFUSAL_DATA,
        "the error for an unsupported version does not say which was requested",
        on_error("Unsupported", lambda message, call: message["error"].update(data={"supported": list(STATELESS)})),
        since="2026-07-28",
    ),
    Fault(
        "supported-versions-wrong",
        REFUSAL_LISTS,
        "the error for an unsupported version lists only a version that is not supported",
        on_error("Unsupported", lambda message, call: message["error"]["data"].update(supported=["2099-01-01"])),
        since="2026-07-28",
    ),
    Fault(
        "locked-out-by-version",
        f"versioning/version-rejection-is-per-request {REFUSED}",
        "after an unsupported version every request is refused",
        _locked_out(),
        since="2026-07-28",
    ),
    Fault(
        "advertised-version-refused",
        "versioning/advertised-versions-served",
        "supportedVersions names a version that is refused",
        on_result(("server/discover",), lambda result, call: result["supportedVersions"].append("2026-12-31")),
        since="2026-07-28",
    ),
    Fault(
        "advertised-handshake-refused",
        "versioning/advertised-versions-served",
        "the server is modern only, and supportedVersions names a version that begins with initialize",
        several(
            modern_only,
            on_result(("server/discover",), lambda result, call: result.update(supportedVersions=BOTH_ERAS)),
        ),
        since="2026-07-28",
    ),
    Fault(
        "unserved-handshake-listed",
        "versioning/advertised-versions-served",
        "the server is modern only, and the error for an unsupported version lists one that begins with initialize",
        several(modern_only, on_error("Unsupported protocol version", _lists_both_eras)),
        since="2026-07-28",
    ),
    Fault(
        "version-used-not-listed",
        "discovery/discover-lists-version-used versioning/advertised-versions-served discovery/discover-result-shape",
        "supportedVersions is empty",
        on_result(("server/discover",), lambda result, call: result.update(supportedVersions=[])),
        since="2026-07-28",
    ),
    Fault(
        "initialize-without-handshake",
        "versioning/dual-era-serves-handshake",
        "initialize is answered by the version that has no initialize",
        setting("negotiate", lambda server, requested: STATELESS[-1]),
        since="2026-07-28",
    ),
    Fault(
        "era-forgotten",
        "versioning/dual-era-serves-handshake",
        "after initialize, requests are refused that are not as the stateless era has them",
        around(_era_forgotten),
        since="2026-07-28",
    ),
    Fault(
        "initialize-refusal-unhelpful",
        "versioning/initialize-refusal-names-versions",
        "the server is modern only, and its refusal of initialize names no version",
        several(modern_only, on_response(("initialize",), _unnamed)),
        since="2026-07-28",
    ),
    Fault(
        "initialize-ignored",
        "versioning/modern-only-refuses-initialize versioning/initialize-refusal-names-versions"
        " jsonrpc/every-request-answered-once",
        "the server is modern only, and does not answer initialize",
        several(modern_only, on_response(("initialize",), _silent_initialize)),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "discover-comes-first",
        "versioning/first-request-served versioning/no-connection-affinity",
        "requests before server/discover are refused",
        _discover_first(),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "discover-comes-before-calls",
        "versioning/first-request-served",
        "lists are served at once, calls of tools only after server/discover",
        _discover_first("tools/call"),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "discover-comes-before-prompts",
        "versioning/first-request-served",
        "prompts/get is served only after server/discover",
        _discover_first("prompts/get"),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "initialize-comes-before-tools",
        "versioning/first-request-served tools/methods-available",
        "tools are listed only after initialize",
        _discover_first("tools/list", first="initialize"),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "initialize-comes-before-prompts",
        "versioning/first-request-served prompts/methods-available",
        "prompts are listed only after initialize",
        _discover_first("prompts/list", first="initialize"),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "capabilities-remembered",
        "versioning/no-context-from-prior-requests meta/missing-client-capabilities-refused"
        " discovery/only-declared-client-capabilities meta/malformed-field-refused meta/missing-field-http-400"
        " meta/missing-capability-refused",
        "client capabilities of earlier requests go on holding",
        _remembered(),
        since="2026-07-28",
    ),
    Fault(
        "cursors-of-this-process",
        "versioning/no-connection-affinity pagination/invalid-cursor-refused",
        "a cursor is good only in the process that made it",
        _cursors_of_this_process,
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "removed-methods-served",
        "versioning/removed-methods-unknown",
        "ping, setLevel and subscribe still work in 2026-07-28",
        around(_old_ping),
        since="2026-07-28",
    ),
    Fault(
        "tasks-list-kept",
        "versioning/removed-methods-unknown",
        "tasks/list still works in 2026-07-28",
        instead("tasks/list", _old_task_list),
        since="2026-07-28",
    ),
    Fault(
        "removed-notification-sent",
        "versioning/removed-notifications-not-sent",
        "notifications/elicitation/complete is sent with every tool result",
        on_response(("tools/call",), _vendor_notification),
        since="2026-07-28",
    ),
)
