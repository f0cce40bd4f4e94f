"""Takes what is secret out of all that reports are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from conformance.engine import events
from conformance.model import (
    Basis,
    Finding,
    Frame,
    Judged,
    KnownFailures,
    Played,
    Report,
    Requirement,
    Run,
    Tally,
    Target,
)
from conformance.survey.survey import Samples, Survey
from conformance.target.mask import CUT, Mask

DEPTH = 200
"""How deep what a server sent is looked through; what is deeper is left out."""

SPOKEN: Mapping[type, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        Target: "command url env cwd headers",
        Run: "server capabilities verdicts tallies left_out",
        Tally: "answers note",
        Judged: "reason findings flaky reproduce known",
        KnownFailures: "path stale untested",
        Finding: "message expected actual frames replay",
        Frame: "data headers fields",
        Requirement: "",
        Report: "target runs notes problem problems known",
        Survey: "capabilities tools resources templates prompts versions",
        events.Started: "target",
        events.Noted: "text",
        events.NotTested: "why",
        events.RevisionFound: "server",
        events.RevisionAbsent: "why",
        events.Surveyed: "server survey",
        events.Planned: "",
        events.CaseEnded: "outcome",
        events.Confirming: "",
        events.FrameSeen: "frame",
        events.Finished: "report",
    }.items()
}
"""What a server or a user may have put into words; it is masked."""

OURS: Mapping[type, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        Target: "name config via registers",
        Run: "revision era transport seconds name extent cases",
        Tally: "campaign frames planned restarts seed seconds",
        Judged: "requirement level basis verdict severity url seconds shown_by",
        KnownFailures: "",
        Played: "seconds excerpts",
        Finding: "requirement case ceiling confirmed occurrences diagnosis hint after tries silence",
        Frame: "number origin channel at readable case illegal part exchange status unread",
        Requirement: "id text levels bases urls observable transports capabilities client needs probe caution "
        "unobservable",
        Report: "version started seconds complete exit counts diagnosis hint untried fail_on",
        Survey: "policy pages quick given unread cut",
        events.Started: "",
        events.Noted: "",
        events.NotTested: "name",
        events.RevisionFound: "revision transport",
        events.RevisionAbsent: "revision",
        events.Surveyed: "revision transport",
        events.Planned: "total",
        events.CaseEnded: "revision transport case seconds",
        events.Confirming: "count",
        events.FrameSeen: "revision transport session",
        events.Finished: "unwritten",
    }.items()
}
"""Our own words, the catalogue's, numbers, and the names that the user gave to servers; it is left as it is."""

WITHHELD: Mapping[type, Mapping[str, Any]] = {
    Target: {"secrets": {}, "tokens": {}, "oauth": None},
    Frame: {"message": None},
    Survey: {"samples": Samples()},
}
"""What reporters have no use for: they get this instead. Of a frame they have the bytes."""

T = TypeVar("T")


def masked(mask: Mask, event: T) -> T:
    """An event, or any of the nouns, without the secrets."""
    return _masked(mask, event, DEPTH) if mask else event


def _masked(mask: Mask, value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return mask.text(value)
    if kind is bytes:
        return mask.text(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    if mask.numeric and (kind is float or (kind is int and abs(value) < 10**100)):
        masked = mask.text(str(value))
        return value if masked == str(value) else masked
    if kind in SPOKEN:
        return _noun(mask, value, kind, depth)
    if depth == 0 and isinstance(value, Mapping | tuple | list):
        return CUT
    if isinstance(value, Mapping):
        return {_masked(mask, name, depth): _masked(mask, member, depth - 1) for name, member in value.items()}
    if isinstance(value, tuple | list):
        return kind(_masked(mask, element, depth - 1) for element in value)
    return value


def _noun(mask: Mask, value: Any, kind: type, depth: int) -> Any:
    changed = {name: _masked(mask, getattr(value, name), depth) for name in SPOKEN[kind]}
    changed |= WITHHELD.get(kind, {})
    if isinstance(value, Frame):
        return value._replace(**changed)
    if isinstance(value, Judged) and value.basis is Basis.OWN:
        # The user's own rules are in the user's words: arguments of sample calls stand in them.
        rule = value.requirement
        changed["requirement"] = replace(rule, text=mask.text(rule.text))
    return replace(value, **changed) if changed else value


def undeclared(kind: type) -> set[str]:
    """The fields of a noun of which nobody said whether they are masked; those that do not exist any more, too."""
    there = {field.name for field in fields(kind)} if is_dataclass(kind) else set(getattr(kind, "_fields", ()))
    declared = [*SPOKEN[kind], *OURS[kind], *WITHHELD.get(kind, {})]
    twice = {name for name in declared if declared.count(name) > 1}
    return there.symmetric_difference(declared) | twice
