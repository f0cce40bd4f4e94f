"""The headers that a user adds to every HTTP request."""

from __future__ import annotations

import re

NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
OWN = re.compile(
    "content-length|transfer-encoding|last-event-id|mcp-(session-id|protocol-version|method|name|param-.*)"
)
"""Those that differ from request to request, in lower case. With one value in all, no session would come about."""


def header_flaw(name: str, value: str) -> str:
    """Why a header cannot be sent with every request, as the end of a sentence that begins with it; "" if it can.

    The value is not quoted, since it may be secret.
    """
    if not (NAME.fullmatch(name) and value.isascii() and value.replace("\t", "").isprintable()):
        return "has characters that HTTP does not carry"
    if OWN.fullmatch(name.lower()):
        return "is set by mcp-conform itself, in each request as is due"
    return ""
