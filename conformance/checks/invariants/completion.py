"""Completion: no result has more values than the specification allows."""

from __future__ import annotations

from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.model import Frame
from conformance.session.messages import Call

LIMIT = "completion/at-most-100-values"
MOST = 100


class Completion(Watcher):
    """See the module. The shape of a result is judged in `wire.py`."""

    name = "completion"
    requirements: ClassVar[tuple[str, ...]] = (LIMIT,)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Count the values in a result of completion/complete."""
        if call is None or call.method != "completion/complete" or not isinstance(frame.message, dict):
            return
        result = frame.message.get("result")
        completion = result.get("completion") if isinstance(result, dict) else None
        values = completion.get("values") if isinstance(completion, dict) else None
        if not isinstance(values, list):
            return
        if len(values) <= MOST:
            self.ledger.held(LIMIT)
        else:
            what = "a completion has too many values"
            self.breach(LIMIT, what, f"at most {MOST} values", f"{len(values)} values", (call.sent, frame), None)
