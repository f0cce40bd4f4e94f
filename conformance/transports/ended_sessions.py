"""Whether an HTTP answer says that the session is over, or that nobody is served now: neither breaks a rule."""

from __future__ import annotations

import re

TALKS_OF_IT = re.compile(rb"session", re.I)
OVER = re.compile(
    rb"session[^.]{0,60}(not found|unknown|invalid|expired|terminated|ended|closed|no longer|does ?n.{1,3}t exist)"
    rb"|(no|not|unknown|invalid|expired|terminated|missing|no valid)[^.]{0,20}session",
    re.I,
)
SHOWN = 200
NO_ID = re.compile(rb'"id"\s*:\s*null')
AWAY = {401: "Unauthorized", 429: "Too Many Requests", 503: "Service Unavailable"}


def session_ended(status: int, body: bytes) -> str:
    """Why the session is over, for people, if the answer to a message that named it says so; else "".

    404 is what the specification has for that. Servers answer it to unknown methods, too, with an error that does not
    talk of sessions; and some say 400 where they do.
    """
    if status == 404:
        over = bool(TALKS_OF_IT.search(body)) or b'"code"' not in body
    else:
        over = status == 400 and bool(OVER.search(body))
    if not over:
        return ""
    return f"the server has ended the session (HTTP status {status}{_shown(body)})"


def turned_away(status: int, body: bytes) -> str:
    """Why no message gets through, for people, if the answer is HTTP's alone and none to the message; else ""."""
    if status not in AWAY or (b'"jsonrpc"' in body and b'"id"' in body and not NO_ID.search(body)):
        return ""
    return f"the server lets nothing through (HTTP status {status} {AWAY[status]}{_shown(body)})"


def _shown(body: bytes) -> str:
    text = " ".join(body[:SHOWN].decode("utf-8", "backslashreplace").split())
    return f": {text}" if text else ""
