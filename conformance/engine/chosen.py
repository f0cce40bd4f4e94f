"""What is played and reported: the patterns, and what a server that is not ours or a quick run is spared."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conformance.catalogue.cases import Case
from conformance.catalogue.selection import Selection, harmless, quick, select, without_campaigns
from conformance.checks.registry import judged_by_invariants
from conformance.engine.options import Options
from conformance.engine.own import Own
from conformance.engine.stage import SESSION_CASES


def chosen(
    cases: Iterable[Case], requirements: Collection[str], options: Options, *, ours: bool
) -> tuple[Selection, list[str]]:
    """The selection, and notes on what was left out; `ours` says that we start the server. Raises UsageError."""
    invariant = judged_by_invariants()
    notes: list[str] = []
    selected = select(cases, requirements, options.only, options.skip, invariant=invariant, extra=SESSION_CASES)
    if not (ours or options.harmful):
        own = options.own or Own()
        played = len(selected.cases)
        selected = harmless(selected, invariant, {case.id for case in own.cases})
        if left := played - len(selected.cases):
            what = "1 case that may hurt it is" if left == 1 else f"{left} cases that may hurt it are"
            notes.append(f"the server was not started by mcp-conform, so {what} left out; --harmful plays them")
    if options.quick:
        asked = len(selected.requirements)
        selected = quick(selected, invariant)
        left = asked - len(selected.requirements)
        notes.append(f"--quick left out {left} requirements that one session cannot tell at once")
    return (selected if options.fuzzing.examples else without_campaigns(selected)), notes
