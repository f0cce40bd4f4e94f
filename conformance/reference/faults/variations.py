"""Faults in what may be sent in more than one way: one of the ways is refused, by all methods or by some."""

from __future__ import annotations

import json

from conformance.reference.fault import Fault, around, setting, several, when_ready
from conformance.reference.http_fault import handling
from conformance.reference.wire import INVALID_PARAMS, INVALID_REQUEST, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.wire import Message

IDS = "jsonrpc/response-id-echoed"
TOKENS = "progress/tokens-accepted"
KEYS = "meta/unknown-keys-tolerated"
OLD = {"until": "2025-11-25"}
BAD_ID = RpcError(INVALID_REQUEST, "The id must be another one")
MOST = 2**31
LONG = 36


def _refused(what: Callable[[Call], bool], error: RpcError, *methods: str) -> Apply:
    """Refuse requests that are sent in a certain way, of some methods or of all."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if (not methods or call.method in methods) and what(call):
            raise error
        return proceed(call)

    return around(serve)


def _ids(what: Callable[[object], bool], *methods: str) -> Apply:
    return _refused(lambda call: what(call.id), BAD_ID, *methods)


def _text(given: object) -> bool:
    return isinstance(given, str)


def _has_text_id(call: Call) -> bool:
    return isinstance(call.id, str) and call.method != "initialize"


def _big(given: object) -> bool:
    return isinstance(given, int) and given >= MOST


def _negative(given: object) -> bool:
    return isinstance(given, int) and given < 0


def _tokens(*methods: str) -> Apply:
    """Refuse progress tokens."""
    return _refused(
        lambda call: "progressToken" in call.meta, RpcError(INVALID_PARAMS, "There is no progress"), *methods
    )


def _keys(key: str, *methods: str) -> Apply:
    """Refuse a key in _meta."""
    error = RpcError(INVALID_PARAMS, f"Unrecognized key in _meta: {key}")
    return _refused(lambda call: key in call.meta, error, *methods)


def _turned_down(what: Callable[[Message], bool]) -> Apply:
    """Have HTTP refuse messages of some kind."""

    def post(handler: Any, proceed: Any, body: bytes) -> None:
        try:
            message = json.loads(body)
        except ValueError:
            message = None
        if isinstance(message, dict) and what(message):
            handler.answer(400, b"", {})
        else:
            proceed(body)

    return handling(_post=post)


def _opened_bare(call: Call, proceed: Proceed) -> Message | None:
    return proceed(call) if call.method in ("initialize", "ping") else when_ready(call, proceed)


def _empty_meta(call: Call) -> bool:
    return isinstance(call.params, dict) and call.params.get("_meta") == {}


FAULTS = (
    Fault(
        "text-ids-refused",
        IDS,
        "an id must be a number",
        _refused(_has_text_id, BAD_ID),
    ),
    Fault("text-ids-refused-by-calls", IDS, "the id of a call must be a number", _ids(_text, "tools/call")),
    Fault(
        "text-ids-refused-by-reads",
        IDS,
        "the id of a request to read something must be a number",
        _ids(_text, "resources/read", "prompts/get"),
    ),
    Fault(
        "text-ids-refused-by-levels",
        IDS,
        "the id of a request for a level must be a number",
        _ids(_text, "logging/setLevel"),
        **OLD,
    ),
    Fault(
        "text-ids-refused-by-initialize", IDS, "the id of initialize must be a number", _ids(_text, "initialize"), **OLD
    ),
    Fault(
        "text-ids-refused-by-subscribe",
        IDS,
        "the id of resources/subscribe must be a number",
        _ids(_text, "resources/subscribe"),
        **OLD,
    ),
    Fault(
        "long-ids-refused-by-prompts",
        IDS,
        "the id of prompts/get must not be longer than a UUID",
        _ids(lambda given: isinstance(given, str) and len(given) > LONG, "prompts/get"),
    ),
    Fault(
        "ids-of-completion-in-ascii",
        IDS,
        "the id of completion/complete must be of ASCII",
        _ids(lambda given: isinstance(given, str) and not given.isascii(), "completion/complete"),
        since="2025-03-26",
    ),
    Fault("big-ids-refused-by-calls", IDS, "the id of a call must be below 2^31", _ids(_big, "tools/call")),
    Fault(
        "big-ids-refused-by-subscribe",
        IDS,
        "the id of resources/subscribe must be below 2^31",
        _ids(_big, "resources/subscribe"),
        **OLD,
    ),
    Fault(
        "negative-ids-refused-by-lists",
        IDS,
        "the id of a request for resources or prompts must not be negative",
        _ids(_negative, "resources/list", "prompts/list"),
    ),
    Fault("tokens-refused-by-ping", TOKENS, "ping is refused with a progressToken", _tokens("ping"), **OLD),
    Fault(
        "tokens-refused-by-levels",
        TOKENS,
        "logging/setLevel is refused with a progressToken",
        _tokens("logging/setLevel"),
        **OLD,
    ),
    Fault(
        "tokens-refused-by-subscribe",
        TOKENS,
        "resources/subscribe is refused with a progressToken",
        _tokens("resources/subscribe"),
        **OLD,
    ),
    Fault(
        "tokens-refused-by-initialize",
        TOKENS,
        "initialize is refused with a progressToken",
        _tokens("initialize"),
        **OLD,
    ),
    Fault(
        "meta-keys-refused-by-subscribe",
        KEYS,
        "resources/subscribe is refused with an unknown key in _meta",
        _keys("com.example/mcp-conform", "resources/subscribe"),
        **OLD,
    ),
    Fault(
        "trace-context-refused-by-calls",
        KEYS,
        "tools/call is refused with a traceparent in _meta",
        _keys("traceparent", "tools/call"),
    ),
    Fault(
        "empty-meta-refused",
        KEYS,
        "requests with an empty _meta are refused",
        _refused(_empty_meta, RpcError(INVALID_PARAMS, "Invalid params: params._meta is empty")),
        **OLD,
    ),
    Fault(
        "text-ids-400",
        f"{IDS} subscriptions/listen-supported",
        "a request whose id is a string is refused with HTTP status 400",
        _turned_down(lambda message: _text(message.get("id")) and message.get("method", "initialize") != "initialize"),
        transports="http",
    ),
    Fault(
        "text-id-of-initialize-400",
        IDS,
        "initialize with a string as id is refused with HTTP status 400",
        _turned_down(lambda message: _text(message.get("id")) and message.get("method") == "initialize"),
        transports="http",
        **OLD,
    ),
    Fault(
        "initialized-with-params-ignored",
        KEYS,
        "notifications/initialized with params does not open a session",
        several(setting("opens", lambda params: not params), around(_opened_bare)),
        **OLD,
    ),
    Fault(
        "text-ids-refused-by-tasks",
        IDS,
        "the id of tasks/get must be a number",
        _ids(_text, "tasks/get"),
        since="2025-11-25",
    ),
    Fault(
        "negative-ids-refused-by-tasks",
        IDS,
        "the id of tasks/get must not be negative",
        _ids(_negative, "tasks/get"),
        since="2025-11-25",
    ),
    Fault(
        "meta-keys-refused-by-tasks",
        KEYS,
        "tasks/get is refused with an unknown key in _meta",
        _keys("com.example/mcp-conform", "tasks/get"),
        since="2025-11-25",
    ),
    Fault(
        "tokens-refused-by-tasks",
        TOKENS,
        "tasks/get is refused with a progressToken",
        _tokens("tasks/get"),
        since="2025-11-25",
    ),
    Fault(
        "text-ids-refused-by-updates",
        IDS,
        "the id of tasks/update must be a number",
        _ids(_text, "tasks/update"),
        since="2026-07-28",
    ),
    Fault(
        "meta-keys-refused-by-updates",
        KEYS,
        "tasks/update is refused with an unknown key in _meta",
        _keys("com.example/mcp-conform", "tasks/update"),
        since="2026-07-28",
    ),
    Fault(
        "text-ids-refused-by-listen",
        IDS,
        "the id of subscriptions/listen must be a number",
        _ids(_text, "subscriptions/listen"),
        since="2026-07-28",
    ),
    Fault(
        "meta-keys-refused-by-listen",
        KEYS,
        "subscriptions/listen is refused with an unknown key in _meta",
        _keys("com.example/mcp-conform", "subscriptions/listen"),
        since="2026-07-28",
    ),
    Fault(
        "tokens-refused-by-listen",
        TOKENS,
        "subscriptions/listen is refused with a progressToken",
        _tokens("subscriptions/listen"),
        since="2026-07-28",
    ),
)
