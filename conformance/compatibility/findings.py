"""Which findings of one report are new in another, which are mended, and which are still there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.model import Json, Severity

STATES = ("new", "mended", "unchanged", "untested")
TESTED = ("passed", "failed")


@dataclass(frozen=True, slots=True)
class Difference:
    """A finding and what became of it: one of STATES; `untested` means that its requirement was not tested again."""

    state: str
    run: str
    requirement: str
    severity: str
    message: str

    @property
    def fails(self) -> bool:
        """Whether it is a new violation."""
        return self.state == "new" and self.severity == Severity.VIOLATION

    @property
    def warns(self) -> bool:
        """Whether it is a new warning."""
        return self.state == "new" and self.severity == Severity.WARNING


def compare_reports(old: Json, new: Json) -> list[Difference]:
    """What became of each finding, in the order of STATES.

    A finding is the same if run, requirement and message are. Runs are the same if revision, transport and server are,
    or, where nothing else is, revision and transport: a server may have changed its name. Servers of a client
    configuration are told apart by their names in it.
    """
    pairs = [*_pairs(old["runs"], new["runs"])]
    found = [difference for before, after in pairs for difference in _compare(before, after)]
    return sorted(found, key=lambda difference: STATES.index(difference.state))


@dataclass(frozen=True, slots=True)
class Gap:
    """What one of two reports lacks, so that it cannot be compared; `fails` if NEW lacks what OLD had."""

    what: str
    fails: bool


def gaps(old: Json, new: Json) -> list[Gap]:
    """Why not all of both reports can be compared: an interrupted run, servers and revisions that were not tested."""
    found = []
    if not new.get("complete", True):
        found.append(Gap("NEW was interrupted: what it does not show may be there", old.get("complete", True)))
    if not old.get("complete", True):
        found.append(Gap("OLD was interrupted: what is new may have been there", False))
    before, after = (any(map(_tested, report["runs"])) for report in (old, new))
    if new.get("problem") and (before or not after):
        found.append(
            Gap(f"NEW was not tested, or not all of it: {new['problem']}", not old.get("problem") or not after)
        )
    if old.get("problem") and new.get("problem") != old["problem"]:
        found.append(Gap(f"OLD was not tested, or not all of it: {old['problem']}", False))
    for name, why in new.get("problems", {}).items():
        found.append(Gap(f"{name} was not tested in NEW: {why}", name not in old.get("problems", {})))
    for mine, theirs in _pairs(old["runs"], new["runs"]):
        if mine is not None and _tested(mine) and not (theirs is not None and _tested(theirs)):
            found.append(Gap(f"{_called(mine)} was tested in OLD and not in NEW", True))
        elif theirs is not None and _tested(theirs) and not (mine is not None and _tested(mine)):
            found.append(Gap(f"{_called(theirs)} was not tested in OLD", False))
    if not before and not after and not found:
        found.append(Gap("neither report says that anything was tested", True))
    return found


def _tested(run: Json) -> bool:
    """Whether anything was put to the test."""
    return any(each["verdict"] == "passed" or each["findings"] for each in run["verdicts"])


def _called(run: Json) -> str:
    return " ".join(part for part in (str(run.get("name", "")), run["revision"], run["transport"]) if part)


def _pairs(old: list[Json], new: list[Json]) -> Iterator[tuple[Json, Json]]:
    left = list(old)
    pairs: dict[int, Json] = {}
    for key in (_named, _unnamed):
        for i, run in enumerate(new):
            if i not in pairs and (mine := next((other for other in left if key(other) == key(run)), None)) is not None:
                pairs[i] = mine
                left.remove(mine)
    for i, run in enumerate(new):
        yield pairs.get(i), run
    for run in left:
        yield run, None


def _named(run: Json) -> tuple[str, ...]:
    return (*_unnamed(run), str(run.get("server", {}).get("name", "")))


def _unnamed(run: Json) -> tuple[str, ...]:
    return run["revision"], run["transport"], str(run.get("name", ""))


def _compare(old: Json, new: Json) -> Iterator[Difference]:
    before, after = _findings(old), _findings(new)
    verdicts = {each["requirement"]: each["verdict"] for each in new["verdicts"]} if new else {}
    run = _called(new or old)
    for (requirement, message), severity in after.items():
        state = "unchanged" if (requirement, message) in before else "new"
        yield Difference(state, run, requirement, severity, message)
    for (requirement, message), severity in before.items():
        if (requirement, message) not in after:
            state = "mended" if verdicts.get(requirement) in TESTED else "untested"
            yield Difference(state, run, requirement, severity, message)


def _findings(run: Json) -> Mapping[tuple[str, str], str]:
    return {
        (verdict["requirement"], finding["message"]): str(verdict["severity"])
        for verdict in (run["verdicts"] if run else ())
        for finding in verdict["findings"]
    }
