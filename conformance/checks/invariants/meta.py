"""Meta: the keys of `_meta`, wherever the server sends it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.content import blocks, listed
from conformance.model import Frame, Json, Severity, elements
from conformance.session.messages import Call

FORMAT = "meta/key-format"
RESERVED = "meta/reserved-prefix-unused"
REVERSE = "meta/prefix-in-reverse-dns"
TRACE = "meta/trace-context-format"

EXPECTED = (
    "a name that begins and ends with a letter or digit, and before its slash only labels "
    "of letters, digits and inner hyphens, with dots between them"
)
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_KEY = re.compile(rf"(?:({_LABEL}(?:\.{_LABEL})*+)/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_OWN = ("modelcontextprotocol", "mcp")
_TOP_LEVEL = ("com", "org", "net", "io", "dev", "app", "ai")
_DEFINED = {
    "2025-11-25": ("related-task", "model-immediate-response"),
    "2026-07-28": ("serverInfo", "subscriptionId"),
}
"""What each revision itself defines below `io.modelcontextprotocol/` for messages of the server."""


class Meta(Watcher):
    """See the module. That `_meta` is an object is judged with the whole message, see `wire.py`."""

    name = "meta"
    requirements: ClassVar[tuple[str, ...]] = (FORMAT, RESERVED, REVERSE, TRACE)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge each key of each `_meta` in a result or a notification."""
        message = frame.message
        if not isinstance(message, dict) or self.session.revision.reserved_label is None:
            return
        proof = (frame,) if call is None else (call.sent, frame)
        for meta in _metas(message):
            for key, value in meta.items():
                self._key(key, value, proof)

    def _key(self, key: str, value: Json, proof: tuple[Frame, ...]) -> None:
        parts = _KEY.fullmatch(key)
        if parts is None:
            what = "a key of _meta is not a name with an optional prefix/"
            self.breach(FORMAT, what, EXPECTED, key, proof, None)
            return
        self.ledger.held(FORMAT)
        labels = parts[1].lower().split(".") if parts[1] else []
        if labels:
            self._prefix(key, labels, proof)
        elif key == "traceparent" and self.session.revision.era == "stateless":
            if isinstance(value, str) and _TRACEPARENT.fullmatch(value):
                self.ledger.held(TRACE)
            else:
                self.breach(
                    TRACE, "traceparent has not its W3C format", "version-trace-parent-flags", value, proof, None
                )

    def _prefix(self, key: str, labels: list[str], proof: tuple[Frame, ...]) -> None:
        if self._reserved(labels) and not self._defined(key):
            what = "a key of _meta has a prefix that is reserved for the protocol"
            # Registered extensions use the prefix too, and the rule has no keyword.
            self.breach(RESERVED, what, "a prefix of the server's own", key, proof, Severity.WARNING)
        else:
            self.ledger.held(RESERVED)
        if len(labels) > 1 and labels[-1] in _TOP_LEVEL and labels[0] not in _TOP_LEVEL:
            what = "a prefix of _meta reads like a domain name in its usual order"
            self.breach(REVERSE, what, "reverse DNS, like com.example/", key, proof, Severity.ADVICE)
        else:
            self.ledger.held(REVERSE)

    def _reserved(self, labels: list[str]) -> bool:
        place = self.session.revision.reserved_label
        return place is not None and len(labels) > 1 and labels[place] in _OWN

    def _defined(self, key: str) -> bool:
        extensions = self.session.capabilities.get("extensions")
        if isinstance(extensions, dict) and any(key.startswith(name) for name in extensions):
            return True
        prefix, _, name = key.partition("/")
        return prefix == "io.modelcontextprotocol" and name in _DEFINED.get(self.session.revision.date, ())


def _metas(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Each `_meta` object of a message."""
    holders: list[Json] = [message.get("params")]
    result = message.get("result")
    if isinstance(result, dict) and result:
        holders += [result, *listed(result)]
        contents = result.get("contents")
        holders += elements(contents)
        for block in blocks(result):
            holders += [block, block.get("resource")]
    for holder in holders:
        if isinstance(holder, dict) and isinstance(holder.get("_meta"), dict):
            yield holder["_meta"]
