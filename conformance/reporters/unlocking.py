"""The one thing that the user can do to have more rules decided."""

from __future__ import annotations

from conformance.model import Report, Verdict
from conformance.reporters.grouping import by_reason, left_out

CALL, SAMPLES = "--call-tool", "target file"
"""What a reason names that the user could do."""
HOW = {
    CALL: "--call-tool NAME or --call-tools all",
    SAMPLES: "sample arguments in a target file, which mcp-conform init writes,",
}


def unlocking(report: Report) -> str:
    """What to allow or to give, and how many of the inconclusive rules wait for it; "" if there is no such thing."""
    reasons = by_reason(report, Verdict.INCONCLUSIVE)
    waiting = {what: len({rule for why, rules in reasons.items() if what in why for rule in rules}) for what in HOW}
    if not any(CALL in why for why in left_out(report)):
        waiting[CALL] = 0  # every tool may be called already
    most = max(waiting, key=lambda what: waiting[what])
    return f"{HOW[most]} may decide {waiting[most]} of them" if waiting[most] else ""
