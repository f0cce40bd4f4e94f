"""Completion: no result has more values than the specification allows, and what it says of their number agrees."""

from __future__ import annotations

from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.model import Frame, Json, Severity, members
from conformance.session.messages import Call

LIMIT = "completion/at-most-100-values"
SHAPE = "completion/result-shape"
MOST = 100


class Completion(Watcher):
    """See the module. The shape of a result is judged in `wire.py`."""

    name = "completion"
    requirements: ClassVar[tuple[str, ...]] = (LIMIT, SHAPE)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Count the values in a result of completion/complete."""
        if call is None or call.method != "completion/complete" or not isinstance(frame.message, dict):
            return
        completion = members(members(frame.message.get("result")).get("completion"))
        values = completion.get("values")
        if not isinstance(values, list):
            return
        if len(values) <= MOST:
            self.ledger.held(LIMIT)
        else:
            what = "a completion has too many values"
            self.breach(LIMIT, what, f"at most {MOST} values", f"{len(values)} values", (call.sent, frame), None)
        if wrong := _contradiction(completion, len(values)):
            what = "what a completion says of the number of its values contradicts itself"
            told = {name: completion[name] for name in ("total", "hasMore") if name in completion}
            self.breach(SHAPE, what, wrong, told, (call.sent, frame), Severity.ADVICE)


def _contradiction(completion: dict[str, Json], given: int) -> str:
    """What total and hasMore would have to be beside so many values, "" if they may be what they are."""
    total, more = completion.get("total"), completion.get("hasMore")
    if isinstance(total, bool) or not isinstance(total, int):
        return ""
    if total < given:
        return f"a total of at least {given}, since so many values came"
    if more is True and total == given:
        return f"hasMore false, since all {given} values came"
    if more is False and total > given:
        return f"hasMore true, since {given} of {total} values came"
    return ""
