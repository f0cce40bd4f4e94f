"""Faults in pagination."""

from __future__ import annotations

from conformance.reference.faults.base import LISTS, Fault, code, die, on_error, on_result, setting
from conformance.reference.server import cursor, offset
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.call import Call
    from conformance.reference.faults.base import Apply

SHAPES = "tools/list-shape resources/list-shape resources/templates-list-shape prompts/list-shape"
REPEATS = "tools/name-unique resources/uri-unique prompts/name-unique tools/list-order-deterministic"
VARIES = "tools/list-independent-of-connection resources/list-independent-of-connection"
VARIES += " prompts/list-independent-of-connection"
REFUSED = "pagination/invalid-cursor-refused"


def _null_at_the_end(result: Message, call: Call) -> None:
    result.setdefault("nextCursor", None)


def _none_accepted(kind: str, text: str) -> int:
    raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor")


def _shifting() -> Apply:
    uses: dict[str, int] = {}

    def read(kind: str, text: str) -> int:
        start = offset(kind, text)
        uses[text] = uses.get(text, -1) + 1
        return start + uses[text] % 2

    return setting("offset", read)


def _lenient(kind: str, text: str) -> int:
    try:
        return offset(kind, text)
    except RpcError:
        return 0


FAULTS = (
    Fault(
        "next-cursor-null",
        f"pagination/next-cursor-string {SHAPES}",
        "the last page of a list says nextCursor: null",
        on_result(LISTS, _null_at_the_end),
    ),
    Fault(
        "pages-endless",
        f"pagination/cursor-accepted pagination/stable-cursors {REPEATS} {VARIES}",
        "the second page of a list leads to itself",
        setting("cursor", lambda kind, position: cursor(kind, 5)),
    ),
    Fault(
        "cursor-refused",
        "pagination/cursor-accepted pagination/stable-cursors versioning/no-connection-affinity",
        "cursors that the server gave are refused",
        setting("offset", _none_accepted),
    ),
    Fault(
        "cursor-unstable",
        f"pagination/stable-cursors pagination/cursor-accepted {REPEATS} {VARIES}",
        "every second use of a cursor gives other items",
        _shifting(),
    ),
    Fault(
        "bad-cursor-accepted",
        f"{REFUSED} tasks/list-invalid-cursor-refused",
        "an invalid cursor gives the first page",
        setting("offset", _lenient),
    ),
    Fault(
        "bad-cursor-code",
        f"{REFUSED} tasks/list-invalid-cursor-refused",
        "an invalid cursor gives -32603",
        code("Invalid params: unknown cursor", -32603),
    ),
    Fault(
        "bad-cursor-kills",
        f"pagination/invalid-cursor-survived {REFUSED} jsonrpc/every-request-answered-once",
        "an invalid cursor ends the process",
        on_error("Invalid params: unknown cursor", die),
    ),
)
