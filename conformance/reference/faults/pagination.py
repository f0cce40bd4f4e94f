"""Faults in pagination."""

from __future__ import annotations

from itertools import count

from conformance.reference.fault import LISTS, Fault, code, die, on_error, on_result, setting, several
from conformance.reference.server import cursor, offset
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.reference.call import Call
    from conformance.reference.fault import Apply
    from conformance.reference.server import Server

SHAPES = "tools/list-shape resources/list-shape resources/templates-list-shape prompts/list-shape"
REPEATS = "tools/name-unique resources/uri-unique prompts/name-unique tools/list-order-deterministic"
VARIES = "tools/list-independent-of-connection resources/list-independent-of-connection"
VARIES += " prompts/list-independent-of-connection"
REFUSED = "pagination/invalid-cursor-refused"
ACCEPTED = "pagination/cursor-accepted"
STABLE = "pagination/stable-cursors"
AFFINITY = "versioning/no-connection-affinity"


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


def _in_list(wanted: str, read: Callable[[str, str], int]) -> Apply:
    """Read the cursors of one list otherwise."""
    return setting("offset", lambda kind, given: read(kind, given) if kind == wanted else offset(kind, given))


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
    Fault(
        "template-cursor-refused",
        f"{ACCEPTED} {STABLE} {AFFINITY}",
        "of the four lists one refuses its own cursors: that of templates",
        _in_list("resourceTemplates", _none_accepted),
    ),
    Fault(
        "resource-cursor-ignored",
        f"{ACCEPTED} {REPEATS} {VARIES} {STABLE} {REFUSED}",
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
        f"{ACCEPTED} {REPEATS} {VARIES} {STABLE}",
        "the last page of a list says nextCursor: an empty string, which gives the first page again",
        several(
            on_result(LISTS, _empty_at_the_end),
            setting("offset", lambda kind, given: offset(kind, given) if given else 0),
        ),
    ),
)
