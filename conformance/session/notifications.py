"""Which notification belongs to a request."""

from __future__ import annotations

from conformance.model import Frame, members
from conformance.session.eras.stateless import META
from conformance.session.messages import Call, id_key, is_id
from conformance.session.session import Session

SUBSCRIPTION = META + "subscriptionId"


def notified(session: Session, call: Call, method: str) -> Frame | None:
    """The first notification of that method since `call` was sent that may be its own, None if there is none.

    Over HTTP its own come in the answer to it, and what names another subscription of ours belongs to that.
    """
    for frame in session.since(call.sent.number):
        message = frame.message
        if frame.origin != "target" or frame.exchange not in (None, call.sent.exchange):
            continue
        if not isinstance(message, dict) or message.get("method") != method or "id" in message:
            continue
        named = members(members(message.get("params")).get("_meta")).get(SUBSCRIPTION)
        if not is_id(named) or named == call.id or id_key(named) not in session.calls:
            return frame
    return None
