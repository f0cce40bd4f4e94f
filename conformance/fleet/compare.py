"""What changed between two runs: servers that are new or gone, and the rules that they break now or no longer."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.fleet.outcome import NOT_TESTED
from conformance.model import Json, Severity


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed of one server. `new` and `fixed` are rules by severity."""

    name: str
    before: str
    after: str
    new: dict[str, list[str]]
    fixed: dict[str, list[str]]

    @property
    def worse(self) -> bool:
        """Whether it violates a rule that it did not, or could not be tested any more."""
        lost = self.after == NOT_TESTED and self.before not in ("", NOT_TESTED)
        return bool(self.new[Severity.VIOLATION]) or lost


def compare(old: Json, new: Json) -> list[Difference]:
    """The servers that differ, by name. Without a server `before` or `after` is ""."""
    was = {row["name"]: row for row in old["servers"]}
    now = {row["name"]: row for row in new["servers"]}
    found = []
    for name in sorted({*was, *now}, key=str.casefold):
        a, b = was.get(name), now.get(name)
        fresh, gone = _rules(a, b), _rules(b, a)
        states = a["outcome"] if a else "", b["outcome"] if b else ""
        difference = Difference(name, *states, fresh, gone)
        if states[0] != states[1] or any(fresh.values()) or any(gone.values()):
            found.append(difference)
    return found


def _rules(a: Json, b: Json) -> dict[str, list[str]]:
    """The rules that `b` breaks and `a` does not, by severity; none unless both were tested."""
    if a is None or b is None or not a["tested"] or not b["tested"]:
        return {str(severity): [] for severity in Severity}
    return {str(s): sorted(set(b["broken"][s]) - set(a["broken"][s])) for s in Severity}
