"""Caching: the hints ttlMs and cacheScope of the stateless era."""

from __future__ import annotations

from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher, is_integer, is_number
from conformance.model import Frame, Json
from conformance.session.messages import Call

PRESENT = "caching/hints-present"
NON_NEGATIVE = "caching/ttl-non-negative"
INTEGER = "caching/ttl-integer"
SCOPE = "caching/scope-public-or-private"
NO_HINTS = "caching/no-hints-on-input-required"

CACHEABLE = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
HINTS = ("ttlMs", "cacheScope")


class Caching(Watcher):
    """See the module."""

    name = "caching"
    requirements: ClassVar[tuple[str, ...]] = (PRESENT, NON_NEGATIVE, INTEGER, SCOPE, NO_HINTS)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the hints of a result."""
        if call is None or self.session.revision.era != "stateless" or not isinstance(frame.message, dict):
            return
        if call.sent.illegal:
            return  # it had to be refused, or may have been taken for one of the other era
        result = frame.message.get("result")
        if not isinstance(result, dict):
            return
        proof = (call.sent, frame)
        if result.get("resultType") == "input_required":
            present = [name for name in HINTS if name in result]
            self._say(NO_HINTS, not present, "an input_required result has caching hints", "none", present, proof)
        elif call.method in CACHEABLE and result.get("resultType", "complete") == "complete":
            self._hints(result, call, proof)

    def _hints(self, result: dict[str, Json], call: Call, proof: tuple[Frame, ...]) -> None:
        absent = [name for name in HINTS if name not in result]
        what = f"the result of {call.method} has no {' and no '.join(absent)}"
        self._say(PRESENT, not absent, what, "ttlMs and cacheScope", sorted(result), proof)
        if "ttlMs" in result:
            ttl = result["ttlMs"]
            whole = is_integer(ttl)
            self._say(INTEGER, whole, "ttlMs is not an integer", "a whole number of milliseconds", ttl, proof)
            if is_number(ttl):
                self._say(NON_NEGATIVE, ttl >= 0, "ttlMs is negative", "0 or more", ttl, proof)
        if "cacheScope" in result:
            scope = result["cacheScope"]
            known = scope in ("public", "private")
            self._say(SCOPE, known, "cacheScope is unknown", '"public" or "private"', scope, proof)

    def _say(
        self, requirement: str, good: bool, what: str, expected: str, actual: Json, proof: tuple[Frame, ...]
    ) -> None:
        if good:
            self.ledger.held(requirement)
        else:
            self.ledger.broke(requirement, what, expected=expected, actual=shorten(actual), frames=proof)
