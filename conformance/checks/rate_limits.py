"""Whether a server refused something because it was asked too often: that breaks no rule, and shows nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from conformance.model import Frame, Json
from conformance.session.messages import parse

SAYS_SO = re.compile(
    r"rate.?limit|too many (requests|calls)|too (often|frequently)|throttl"
    r"|quota (is |was )?(exceeded|exhausted|reached)"
    r"|limit(ed)? (to|of) [0-9]+[a-z ]* (per|an?) (second|minute|hour|day)",
    re.I,
)
TOO_MANY_REQUESTS = 429
SHOWN = 100


def limited(frames: Iterable[Frame]) -> str:
    """Why what these frames show says nothing about any other rule, for people; "" if it may."""
    for frame in frames:
        if frame.origin == "target" and (told := _told(frame)):
            return f"the server limits how often it can be asked ({' '.join(told.split())[:SHOWN]!r})"
    return ""


def _told(frame: Frame) -> str:
    message = frame.message if isinstance(frame.message, dict) else parse(frame.data)[0]
    if not isinstance(message, dict):
        return ""
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        text = str(error.get("message") or "")
        return text if error.get("code") == TOO_MANY_REQUESTS or SAYS_SO.search(text[:1000]) else ""
    if isinstance(result, dict) and result.get("isError") is True:
        return next((text for text in _texts(result.get("content")) if SAYS_SO.search(text[:1000])), "")
    return ""


def _texts(content: Json) -> Iterable[str]:
    for block in content if isinstance(content, list) else []:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            yield text
