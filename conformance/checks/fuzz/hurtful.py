"""Kinds of examples that hurt the server: after a few the others of their kind are left out, and the report says so."""

from __future__ import annotations

from collections import Counter

from conformance.checks.fuzz.example import DIED, HUNG, SWALLOWED

ENOUGH = 2
"""Examples of a kind that may hurt the server before the others of that kind are left out."""
FATES = {DIED: "ended the server", HUNG: "hung it", SWALLOWED: "made it lose the message after them"}
"""What becomes of a server, as the end of a sentence."""


class Hurtful:
    """Counts by kind what hurt the server, and what was left out for that."""

    def __init__(self) -> None:
        self._hurt: Counter[str] = Counter()
        self._fates: dict[str, str] = {}
        self._left_out: Counter[str] = Counter()

    def hurt(self, kind: str, fate: str) -> None:
        """An example did that. One silence of a kind is enough, since each is waited for."""
        self._fates[kind] = fate
        self._hurt[kind] += 1 if fate == DIED else ENOUGH

    def leaves_out(self, kind: str) -> bool:
        """Whether an example of that kind is to be left out, which is counted."""
        if self._hurt[kind] < ENOUGH:
            return False
        self._left_out[kind] += 1
        return True

    @property
    def note(self) -> str:
        """Which examples were left out, and why; "" if none were."""
        parts = []
        for fate, did in FATES.items():
            kinds = [(kind, count) for kind, count in self._left_out.most_common() if self._fates[kind] == fate]
            if kinds:
                names = ", ".join(f"{kind} ({count})" for kind, count in kinds)
                parts.append(f"{sum(count for _, count in kinds)} after others of their kind {did}: {names}")
        if not parts:
            return ""
        return f"frames were left out, {'; '.join(parts)}; they are sent once the server survives the first of each"
