"""Faults that show only sometimes: on the second page or call, for one kind of id, while two requests are in flight."""

from __future__ import annotations

from collections import Counter
from itertools import count

from conformance.reference.faults.base import (
    LISTS,
    Fault,
    forgiving,
    instead,
    on_notification,
    on_response,
    on_result,
    sending,
    setting,
    several,
)
from conformance.reference.server import cursor, offset
from conformance.reference.shape import text
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.faults.base import Apply, Proceed
    from conformance.reference.server import Server

UNIQUE = "tools/name-unique resources/uri-unique prompts/name-unique"
VARIES = "tools/list-order-deterministic tools/list-independent-of-connection"
VARIES += " resources/list-independent-of-connection prompts/list-independent-of-connection"
ACCEPTED = "pagination/cursor-accepted"
REFUSED = "pagination/invalid-cursor-refused"
STABLE = "pagination/stable-cursors"
AFFINITY = "versioning/no-connection-affinity"
ECHOED = "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once"
UTF8 = "jsonrpc/messages-utf8"


# Pages.


def _in_list(wanted: str, read: Callable[[str, str], int]) -> Apply:
    """Read the cursors of one list otherwise."""
    return setting("offset", lambda kind, given: read(kind, given) if kind == wanted else offset(kind, given))


def _refuse(kind: str, given: str) -> int:
    raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor")


def _lenient(kind: str, given: str) -> int:
    try:
        return offset(kind, given)
    except RpcError:
        return 0


def _good_once(server: Server) -> None:
    handed: dict[str, str] = {}
    numbers = count(1)

    def hand_out(kind: str, position: int) -> str:
        name = f"{cursor(kind, position)}-{next(numbers)}"
        handed[name] = cursor(kind, position)
        return name

    server.cursor = hand_out
    server.offset = lambda kind, given: offset(kind, handed.pop(given, "none"))


def _empty_at_the_end(result: Message, call: Call) -> None:
    result.setdefault("nextCursor", "")


# Ids and tokens.


def _id(concerns: Callable[[Any], bool], change: Callable[[Any], Any], errors_only: bool = False) -> Apply:
    """Change the ids of responses that `concerns` is true of."""

    def change_id(message: Message, call: Call | None) -> None:
        if "method" not in message and ("error" in message or not errors_only) and concerns(message.get("id")):
            message["id"] = change(message["id"])

    return sending(change_id)


def _token_as_text(message: Message, call: Call | None) -> None:
    message["params"]["progressToken"] = str(message["params"]["progressToken"])


def _ascii(words: str) -> str:
    return words.encode("ascii", "replace").decode()


def _echo_in_ascii(result: Message, call: Call) -> None:
    if call.params.get("name") == "echo":
        result["content"] = [text(_ascii(block["text"])) for block in result["content"]]


def _prompt_in_ascii(result: Message, call: Call) -> None:
    if call.params.get("name") == "greet":
        result["messages"] = [
            {**message, "content": text(_ascii(message["content"]["text"]))} for message in result["messages"]
        ]


# What came before, and what goes on meanwhile.


def _dropped_while_busy(message: Message, call: Call) -> Any:
    running = list(call.peer.running.values())
    return [] if any(other.method == "tools/call" and other is not call for other in running) else message


def _id_stuck_after_an_error() -> Apply:
    failed: list[Any] = []

    def change(message: Message, call: Call | None) -> None:
        if "error" in message and call and isinstance(call.id, int):
            failed.append(call.id)
        elif "result" in message and len(failed) == 1:
            message["id"] = failed[0]
            failed.append(None)

    return sending(change)


def _second_list_bare() -> Apply:
    walks: Counter[str] = Counter()

    def change(result: Message, call: Call) -> None:
        walks["begun"] += "cursor" not in call.params
        if walks["begun"] > 1:
            for tool in result["tools"]:
                del tool["inputSchema"]

    return on_result(("tools/list",), change)


def _second_call_bare() -> Apply:
    calls: Counter[str] = Counter()

    def change(result: Message, call: Call) -> None:
        calls[call.params["name"]] += 1
        if calls[call.params["name"]] > 1:
            result.pop("content", None)

    return on_result(("tools/call",), change)


def _last_subscription_only(call: Call, proceed: Proceed) -> Message | None:
    call.peer.subscribed.clear()
    return proceed(call)


def _one_of_the_prompts(call: Call) -> bool:
    return call.method == "prompts/get" and call.params.get("name") == "summarize"


def _known_context_refused(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("context", {}).get("arguments"):
        raise RpcError(INVALID_PARAMS, "Invalid params: context.arguments is not known")
    return proceed(call)


FAULTS = (
    Fault(
        "page-overlaps",
        UNIQUE,
        "each page after the first begins with the last item of the one before",
        setting("offset", lambda kind, given: offset(kind, given) - 1),
    ),
    Fault(
        "template-cursor-refused",
        f"{ACCEPTED} {STABLE} {AFFINITY}",
        "of the four lists one refuses its own cursors: that of templates",
        _in_list("resourceTemplates", _refuse),
    ),
    Fault(
        "resource-cursor-ignored",
        f"{ACCEPTED} {UNIQUE} {VARIES} {STABLE} {REFUSED}",
        "whatever the cursor, resources/list gives its first page",
        _in_list("resources", lambda kind, given: 0),
    ),
    Fault(
        "template-bad-cursor-accepted",
        REFUSED,
        "of the four lists one takes an invalid cursor for none: that of templates",
        _in_list("resourceTemplates", _lenient),
    ),
    Fault(
        "cursor-good-once",
        f"{STABLE} {AFFINITY}",
        "a cursor is refused when it is used again",
        _good_once,
    ),
    Fault(
        "next-cursor-empty",
        f"{ACCEPTED} {UNIQUE} {VARIES} {STABLE}",
        "the last page of a list says nextCursor: an empty string, which gives the first page again",
        several(
            on_result(LISTS, _empty_at_the_end),
            setting("offset", lambda kind, given: offset(kind, given) if given else 0),
        ),
    ),
    Fault(
        "id-negative-null",
        ECHOED,
        "a negative id is answered as null",
        _id(lambda given: type(given) is int and given < 0, lambda given: None),
    ),
    Fault(
        "id-in-ascii",
        ECHOED,
        "an id with characters beyond ASCII comes back without them",
        _id(lambda given: isinstance(given, str) and not given.isascii(), _ascii),
    ),
    Fault(
        "id-text-lost-in-errors",
        ECHOED,
        "an error has the id null where the id of the request is text",
        _id(lambda given: isinstance(given, str), lambda given: None, errors_only=True),
    ),
    Fault(
        "progress-token-as-text",
        "progress/known-token-only",
        "a progress token that is a number comes back as text",
        on_notification("notifications/progress", _token_as_text),
    ),
    Fault(
        "tool-text-in-ascii",
        UTF8,
        "the tool echo loses characters beyond ASCII",
        on_result(("tools/call",), _echo_in_ascii),
        since="2025-03-26",
    ),
    Fault(
        "prompt-text-in-ascii",
        UTF8,
        "the prompt greet loses characters beyond ASCII",
        on_result(("prompts/get",), _prompt_in_ascii),
        since="2025-03-26",
    ),
    Fault(
        "lists-dropped-while-busy",
        "jsonrpc/every-request-answered-once versioning/interleaved-requests-handled",
        "lists that are asked for while a tool runs never come",
        on_response(LISTS, _dropped_while_busy),
        transports="stdio",
    ),
    Fault(
        "id-stuck-after-error",
        f"{ECHOED} jsonrpc/every-request-answered-once resources/read-shape tasks/task-shape tasks/id-is-string",
        "the answer that follows the first error has the id of the request that failed",
        _id_stuck_after_an_error(),
        transports="stdio",
    ),
    Fault(
        "second-list-without-schemas",
        "tools/input-schema-object tools/list-shape",
        "when the tools are listed for the second time they have no inputSchema",
        _second_list_bare(),
        until="2025-11-25",
    ),
    Fault(
        "second-call-without-content",
        "tools/call-result-shape tasks/result-is-final",
        "the second call of a tool has no content in its result",
        _second_call_bare(),
    ),
    Fault(
        "last-subscription-only",
        "resources/update-announced",
        "each subscription ends the one before",
        instead("resources/subscribe", _last_subscription_only),
        until="2025-11-25",
    ),
    Fault(
        "one-prompt-unchecked",
        "prompts/missing-argument-refused prompts/arguments-validated",
        "one of the prompts is filled without its required argument",
        forgiving(_one_of_the_prompts, lambda call: {"messages": [{"role": "user", "content": text("Summarize.")}]}),
    ),
    Fault(
        "completion-with-context-refused",
        "completion/context-accepted",
        "a completion is refused when the context holds the value of another argument",
        instead("completion/complete", _known_context_refused),
        since="2025-06-18",
    ),
)
