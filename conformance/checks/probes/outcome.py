"""How a request ended, and what it means when it ended without a response."""

from __future__ import annotations

from typing import Literal

from conformance.budget import KEPT_BYTES
from conformance.checks.probes import Bench
from conformance.model import Frame, Json, elements, members
from conformance.session.messages import is_reply, loosely, parse
from conformance.session.session import MAY_TAKE_LONG, Call, Session, encode

UNANSWERED = "jsonrpc/every-request-answered-once"
BADLY_WRITTEN = "a request is refused for how its HTTP is written"
UNKNOWN_STOPS = "after a request for an unknown method the server stops answering"
"""What findings of cases and of campaigns say, so that they are one."""
GATEWAY = (502, 503, 504)
"""HTTP statuses by which what stands before a server says that it does not answer."""
OF_OTHERS = {401, 403, 404, 407, 408, 429, *GATEWAY}
"""HTTP statuses that are about who asks, the session, how much is asked, or what stands before the server."""


def life(session: Session) -> Literal["goes on", "lost a request", "over"]:
    """Whether the server still answers the sentinel, or at least another one; silence is then told by who asks."""
    sentinel = session.hear_out()
    if sentinel is not None and sentinel.answers:
        return "goes on"
    again = session.hear_out(other=True)
    if again is not None and again.answers:
        return "lost a request"
    for lost in (sentinel, again):
        if lost is not None:
            lost.excused = True
    return "over"


def unanswered(bench: Bench, call: Call) -> tuple[Literal["inconclusive", "blocked", "broken"], str]:
    """What it means that `call` got no response, and why.

    Silence where a request was wrong on purpose breaks what it tests. The silence to a good one is the envelope
    invariant's to judge, and blocks it.
    """
    if turned_away(call):
        return "inconclusive", f"{call.method} is refused with HTTP status {_status(call)} and no JSON-RPC response"
    if call.redirected:
        return "inconclusive", f"{call.method}: {call.lost}"
    if any(_misdirected(frame, call) for frame in bench.session.since(call.sent.number)):
        return "blocked", "jsonrpc/response-id-echoed"
    if any(_spoilt(frame, call) for frame in bench.session.since(call.sent.number)):
        return "blocked", "transport-stdio/stdout-only-messages"
    if not bench.session.alive:
        ended = bench.session.ended
        return "blocked", ended.reason if ended else UNANSWERED
    if call.sent.illegal:
        return "broken", ""
    if call.method in MAY_TAKE_LONG:
        return "inconclusive", f"{call.method}: {call.lost}; --timeout gives it longer"
    return "blocked", UNANSWERED


def refused_by_http(call: Call) -> bool:
    """Whether HTTP has refused a request for what it says: not for who sent it, nor for how many there are."""
    return not call.answers and turned_away(call) and _status(call) not in OF_OTHERS


def turned_away(call: Call) -> bool:
    """Whether its HTTP status says that the client is wrong, for whatever reason, or that a gateway gave up."""
    return 400 <= _status(call) < 500 or behind_gateway(call)


def behind_gateway(call: Call) -> bool:
    """Whether what stands before the server has answered, since the server did not, or not in time."""
    return not call.answers and _status(call) in GATEWAY


def _status(call: Call) -> int:
    return (call.head.status or 0) if call.head is not None else 0


def _spoilt(frame: Frame, call: Call) -> bool:
    """Whether the answer is in a line that begins with something else."""
    if frame.channel != "stdout" or frame.readable or b"{" not in frame.data[:KEPT_BYTES]:
        return False
    message = parse(frame.data[frame.data.index(b"{") :])[0]
    return isinstance(message, dict) and "method" not in message and loosely(message.get("id")) == loosely(call.id)


def _misdirected(frame: Frame, call: Call) -> bool:
    """Whether the answer came with the call's id in another JSON type."""
    message = frame.message
    if frame.origin == "us" or not isinstance(message, dict) or "method" in message:
        return False
    return message.get("id") is not None and loosely(message["id"]) == loosely(call.id)


def succeeded(call: Call) -> bool:
    """Whether the answer is a result that does not say that a tool failed."""
    return isinstance(call.result, dict) and call.result.get("isError") is not True


def complete(call: Call) -> bool:
    """Whether the answer is a final result: no request for input and no task."""
    result = call.result
    if not isinstance(result, dict):
        return False
    return result.get("resultType", "complete") == "complete" and "task" not in result


def code_of(call: Call) -> Json:
    """The code of the error response, None if there is none."""
    return call.error.get("code") if isinstance(call.error, dict) else None


def shown(call: Call) -> str:
    """What came of `call`, for people; shortened."""
    if call.answers:
        text = encode(call.response).decode("utf-8", "replace")
        return text if len(text) <= 300 else text[:300] + "…"
    return call.lost or "no response"


def stray(frame: Frame, sentinel: Call) -> bool:
    """Whether the target sent a response here that is not the sentinel's."""
    message = frame.message
    if frame.origin == "us" or not is_reply(message):
        return False
    # The sentinel's own answer, its id in another type, is no answer to anything else.
    own = loosely(message.get("id")) == loosely(sentinel.id)
    return not own and all(frame.number != answer.number for answer in sentinel.answers)


def uris_of(call: Call) -> list[Json]:
    """The uri of each of the contents that were read, None where there is none."""
    contents = elements(members(call.result).get("contents"))
    return [each.get("uri") for each in contents if isinstance(each, dict)]
