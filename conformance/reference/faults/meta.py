"""Faults in the members of _meta."""

from __future__ import annotations

from conformance.reference import server as correct
from conformance.reference.fault import Fault, around, code, modern_only, on_item, on_response, setting, several
from conformance.reference.wire import CLIENT, INVALID_PARAMS, INVALID_REQUEST, VERSION, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.wire import Message

TOLERATED = "meta/unknown-keys-tolerated"
NEW = "2026-07-28"
LEVEL = "io.modelcontextprotocol/logLevel"


def _strict(*methods: str) -> Apply:
    """Refuse requests of some methods with a key in _meta that is none of the protocol's."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method in methods and any(key.startswith("com.example") for key in call.meta):
            raise RpcError(INVALID_PARAMS, "Unrecognized key in _meta")
        return proceed(call)

    return around(serve)


def _info_needed(*methods: str) -> Apply:
    """Refuse requests of some methods that do not name the client."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method in methods and "io.modelcontextprotocol/clientInfo" not in call.meta:
            raise RpcError(INVALID_PARAMS, "clientInfo is required")
        return proceed(call)

    return around(serve)


def _capabilities_assumed(*methods: str) -> Apply:
    """Take a client of some methods that declares nothing to be one without capabilities."""

    def check(call: Call) -> None:
        if call.method in methods and VERSION in call.meta:
            call.meta.setdefault(CLIENT, {})
        correct.check_meta(call)

    return setting("check_meta", check)


def _put_right(key: str, right: Any, wrong: Callable[[Any], bool], *methods: str) -> Apply:
    """Take a member of _meta that is wrong for the right one, in requests of some methods, or of all."""

    def check(call: Call) -> None:
        if (not methods or call.method in methods) and wrong(call.meta.get(key)):
            call.meta[key] = right
        correct.check_meta(call)

    return setting("check_meta", check)


def _capabilities_missed(*methods: str) -> Apply:
    """Refuse requests of some methods that declare no capabilities with another code."""

    def check(call: Call) -> None:
        if call.method in methods and CLIENT not in call.meta:
            raise RpcError(INVALID_REQUEST, "The client declares no capabilities")
        correct.check_meta(call)

    return setting("check_meta", check)


def _nothing_requested(response: Message, call: Call) -> None:
    if isinstance(response.get("error", {}).get("data"), dict):
        response["error"]["data"].pop("requested", None)


def _nearly(*rows: tuple[str, str, Callable[[str, str], bool]]) -> tuple[Fault, ...]:
    """Faults of servers that take a version for NEW if it is alike."""

    def alike(rule: Callable[[str, str], bool]) -> Callable[[Any], bool]:
        return lambda given: isinstance(given, str) and rule(given, NEW)

    return tuple(
        Fault(name, "versioning/unsupported-version-refused", text, _put_right(VERSION, NEW, alike(rule)), since=NEW)
        for name, text, rule in rows
    )


def _not_needed(*methods: str) -> Apply:
    """Serve what has no _meta, as for a client without capabilities."""

    def check(call: Call) -> None:
        if call.method not in methods or "_meta" in call.params:
            correct.check_meta(call)

    return setting("check_meta", check)


FAULTS = (
    Fault(
        "client-info-needed-by-completion",
        "meta/client-info-optional",
        "completion/complete is refused without clientInfo",
        _info_needed("completion/complete"),
        since="2026-07-28",
    ),
    Fault(
        "client-info-needed-by-subscriptions",
        "meta/client-info-optional",
        "subscriptions/listen is refused without clientInfo",
        _info_needed("subscriptions/listen"),
        since="2026-07-28",
    ),
    Fault(
        "meta-keys-refused-by-subscriptions",
        TOLERATED,
        "subscriptions/listen refuses unknown keys in _meta",
        _strict("subscriptions/listen"),
        since="2026-07-28",
    ),
    Fault(
        "client-capabilities-not-needed-by-reads",
        "meta/missing-client-capabilities-refused",
        "resources/read and prompts/get are served without clientCapabilities in their _meta",
        _capabilities_assumed("resources/read", "prompts/get"),
        since="2026-07-28",
    ),
    Fault(
        "client-capabilities-not-needed-by-subscriptions",
        "meta/missing-client-capabilities-refused",
        "subscriptions/listen is served without clientCapabilities in its _meta",
        _capabilities_assumed("subscriptions/listen"),
        since="2026-07-28",
    ),
    Fault(
        "version-not-needed-by-reads",
        "meta/missing-protocol-version-refused",
        "resources/read and completion/complete are served without a protocol version in their _meta",
        _put_right(VERSION, NEW, lambda given: given is None, "resources/read", "completion/complete"),
        since=NEW,
        transports="http",
    ),
    Fault(
        "meta-not-needed-by-reads",
        "meta/missing-meta-refused",
        "resources/read and prompts/get are served without _meta",
        _not_needed("resources/read", "prompts/get"),
        since=NEW,
        transports="http",
    ),
    Fault(
        "any-version-served-by-reads",
        "versioning/unsupported-version-refused",
        "resources/read and prompts/get are served in any version",
        _put_right(VERSION, NEW, lambda given: given is not None, "resources/read", "prompts/get"),
        since=NEW,
    ),
    Fault(
        "version-not-needed-by-subscriptions",
        "meta/missing-protocol-version-refused",
        "subscriptions/listen is served without a protocol version in its _meta",
        _put_right(VERSION, NEW, lambda given: given is None, "subscriptions/listen"),
        since=NEW,
        transports="http",
    ),
    Fault(
        "meta-not-needed-by-subscriptions",
        "meta/missing-meta-refused",
        "subscriptions/listen is served without _meta",
        _not_needed("subscriptions/listen"),
        since=NEW,
        transports="http",
    ),
    Fault(
        "any-version-served-by-subscriptions",
        "versioning/unsupported-version-refused",
        "subscriptions/listen is served in any version",
        _put_right(VERSION, NEW, lambda given: given is not None, "subscriptions/listen"),
        since=NEW,
    ),
    Fault(
        "unsupported-version-of-reads-without-data",
        "versioning/unsupported-version-error-data",
        "the error for resources/read and prompts/get in an unsupported version does not tell which was requested",
        on_response(("resources/read", "prompts/get"), _nothing_requested),
        since=NEW,
    ),
    Fault(
        "missing-meta-code-of-modern-only",
        "meta/missing-meta-refused",
        "the server is modern only, and a request without _meta gives -32600",
        several(modern_only, code("Invalid params: params._meta", -32600)),
        since=NEW,
        transports="http",
    ),
    Fault(
        "missing-version-code-of-modern-only",
        "meta/missing-protocol-version-refused",
        "the server is modern only, and a request without a protocol version gives -32603",
        several(modern_only, code("Invalid params: _meta io.modelcontextprotocol/protocolVersion", -32603)),
        since=NEW,
        transports="http",
    ),
    Fault(
        "client-capabilities-missing-code-of-reads",
        "meta/missing-client-capabilities-refused",
        "resources/read and prompts/get without clientCapabilities in their _meta give -32600",
        _capabilities_missed("resources/read", "prompts/get"),
        since=NEW,
        transports="http",
    ),
    *_nearly(
        ("version-by-its-beginning", "any version that begins as one does is served", lambda a, b: a.startswith(b)),
        ("version-abbreviated", "any beginning of a version is served", lambda a, b: b.startswith(a)),
        ("version-without-dashes", "dashes in a version make no difference", lambda a, b: a == b.replace("-", "")),
        ("version-older-served", "versions of the same month are served", lambda a, b: b[:8] <= a <= b),
    ),
    Fault(
        "client-capabilities-of-calls-may-be-text",
        "meta/malformed-field-refused",
        "tools/call is served with clientCapabilities that are text",
        _put_right(CLIENT, {}, lambda given: isinstance(given, str), "tools/call"),
        since=NEW,
    ),
    Fault(
        "unknown-log-level-served-by-reads",
        "logging/invalid-log-level-key-refused",
        "resources/read and prompts/get are served with a log level that does not exist",
        _put_right(LEVEL, "info", lambda given: given == "loud", "resources/read", "prompts/get"),
        since=NEW,
    ),
    Fault("meta-keys-refused-by-calls", TOLERATED, "tools/call refuses unknown keys in _meta", _strict("tools/call")),
    Fault(
        "meta-keys-refused-by-reads",
        TOLERATED,
        "reading refuses unknown keys in _meta",
        _strict("resources/read", "prompts/get"),
    ),
    Fault(
        "meta-keys-refused-by-second-list",
        TOLERATED,
        "all lists but that of tools refuse unknown keys in _meta",
        _strict("prompts/list", "resources/list", "resources/templates/list"),
    ),
    Fault(
        "meta-keys-refused-by-levels",
        TOLERATED,
        "logging/setLevel refuses unknown keys in _meta",
        _strict("logging/setLevel"),
        until="2025-11-25",
    ),
    Fault(
        "meta-keys-refused-by-initialize",
        TOLERATED,
        "initialize refuses unknown keys in _meta",
        _strict("initialize"),
        until="2025-11-25",
    ),
    Fault(
        "meta-prefix-forwards",
        "meta/prefix-in-reverse-dns",
        "a _meta key has a domain name in its usual order",
        on_item("tools/list", "echo", lambda item: item.update(_meta={"example.com/key": True})),
        since="2025-11-25",
    ),
)
