"""One defect is one finding: what only follows from another defect blames the server for nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from conformance.engine.consequences import causes
from conformance.engine.systematic import Defect, defects, elsewhere
from conformance.engine.units import State
from conformance.model import Finding, Severity

GENERAL = "jsonrpc/"


def settle(states: Iterable[State], severity: Callable[[Finding, State], Severity]) -> None:
    """Have what follows from a defect give way to the finding that tells it, in each run.

    Nothing that weighs more gives way to what weighs less, by the `severity` of findings.
    """
    for state in states:
        with state.lock:
            for cause, follows in causes([each for ledger in state.ledgers for each in ledger.findings]):
                for ledger in state.ledgers:
                    ledger.give_way(follows, cause)
            codes = {code for ledger in state.ledgers for code in ledger.codes}
            for defect in defects([each for ledger in state.ledgers for each in ledger.findings], codes):
                _tell_once(defect, state, severity)


def _tell_once(defect: Defect, state: State, severity: Callable[[Finding, State], Severity]) -> None:
    """Leave one finding of a defect, the heaviest and among those the one of messages as such, or the first."""
    there = [each for each in defect.findings if any(each is mine for led in state.ledgers for mine in led.findings)]
    there.sort(key=lambda each: (-severity(each, state).rank, not each.requirement.startswith(GENERAL)))
    others = [each for each in there if each.kind != there[0].kind]
    if not others:
        return
    cause = there[0]
    told = replace(cause, actual=elsewhere(cause, others), diagnosis=defect.diagnosis, hint=defect.hint)
    for ledger in state.ledgers:
        gone = [each for each in ledger.findings if any(each is other for other in others)]
        state.told_by += [(cause.kind, ledger, each) for each in gone]
        ledger.give_way(lambda each: any(each is other for other in others), cause.requirement)
        ledger.findings = [told if each is cause else each for each in ledger.findings]
    left = {each.requirement for ledger in state.ledgers for each in ledger.findings}
    for requirement in {each.requirement for each in others} - left:
        for ledger in state.ledgers:
            ledger.obscure(requirement, cause.requirement)


def unsettle(states: Iterable[State]) -> bool:
    """Take back what gave way to a finding that did not come back; whether there was any."""
    taken = False
    for state in states:
        with state.lock:
            doubted = {
                each.kind
                for led in state.ledgers
                for each in (*led.flaky, *(mine for mine in led.findings if mine.confirmed is False))
            }
            for kind, ledger, finding in state.told_by:
                if kind in doubted and not ledger.sealed:
                    ledger.findings.append(finding)
                    taken = True
            state.told_by = [each for each in state.told_by if each[0] not in doubted]
    return taken
