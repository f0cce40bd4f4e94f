"""The requirements and how each is checked, for `list` and `explain`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from conformance.catalogue.mistakes import Mistake
from conformance.checks.registry import Coverage
from conformance.files.places import SCHEMAS
from conformance.model import Basis, Json, Requirement

CHECKED, UNOBSERVABLE, NOT_YET = "checked", "unobservable", "not yet"
STATES = (CHECKED, UNOBSERVABLE, NOT_YET)

Checks = Mapping[str, tuple[str, ...]]


def state(requirement: Requirement, checks: Checks) -> str:
    """One of STATES."""
    if requirement.unobservable:
        return UNOBSERVABLE
    return CHECKED if requirement.id in checks else NOT_YET


def entry(requirement: Requirement, checks: Checks) -> Json:
    """A requirement as JSON data."""
    return {
        "requirement": requirement.id,
        "text": _flat(requirement.text),
        "levels": dict(requirement.levels),
        "bases": dict(requirement.bases),
        "urls": {revision: list(urls) for revision, urls in requirement.urls.items()},
        "transports": list(requirement.transports),
        "capabilities": list(requirement.capabilities),
        "state": state(requirement, checks),
        "checked_by": list(checks.get(requirement.id, ())),
        "unobservable": _flat(requirement.unobservable),
        "caution": _flat(requirement.caution),
    }


def listing(requirements: Sequence[Requirement], checks: Checks) -> str:
    """One line for each requirement under its area, and how many there are in each state."""
    width = max((len(requirement.id) for requirement in requirements), default=0)
    lines: list[str] = []
    area = ""
    for requirement in requirements:
        if requirement.area != area:
            area = requirement.area
            lines += ["", area] if lines else [area]
        lines.append(f"  {requirement.id:{width}}  {_levels(requirement):10}  {_how(requirement, checks)}")
    totals = [state(requirement, checks) for requirement in requirements]
    lines += ["", f"{len(totals)} requirements: " + ", ".join(f"{totals.count(s)} {s}" for s in STATES)]
    return "\n".join(lines)


def advice(rules: Iterable[Requirement], checks: Checks) -> str:
    """The rules for clients: they are no requirements of the specification, and not among their number."""
    rows = [(rule, ", ".join(checks[rule.id])) for rule in rules]
    width = max(len(rule.id) for rule, _ in rows)
    return "\n".join(["", "advice for clients, with --profile", *(f"  {rule.id:{width}}  {how}" for rule, how in rows)])


def covered(coverage: Coverage) -> str:
    """How much of what cases decide can be read in them, as the last lines of a list."""
    return (
        f"\n{coverage.cases} cases, {coverage.without_probes} of them without a probe\n{len(coverage.decided)} "
        f"requirements decided by cases, campaigns left out, {len(coverage.by_yaml)} of them in YAML"
    )


def explanation(
    requirement: Requirement, checks: Checks, faults: Iterable[Json], mistakes: Iterable[Mistake] = ()
) -> str:
    """All that is known of one requirement. `faults` are rows of the reference server's list of faults."""
    lines = [requirement.id, "", *textwrap.wrap(_flat(requirement.text), 100), ""]
    whatever = Basis.CLIENT in requirement.bases.values()
    for revision, level in list(requirement.levels.items())[: 1 if whatever else None]:
        lines.append(f"  {'any revision' if whatever else revision}  {level}, {requirement.bases[revision]}")
        lines += [f"              {url}" for url in requirement.urls[revision]]
    if requirement.transports:
        lines += ["", f"Concerns only {', '.join(requirement.transports)}."]
    if requirement.capabilities:
        lines += ["", f"Applies to servers that declare {' or '.join(requirement.capabilities)}."]
    lines += ["", f"Checked by: {_how(requirement, checks)}"]
    if requirement.caution:
        lines += ["", *textwrap.wrap(f"Caution: {_flat(requirement.caution)}", 100)]
    for number, row in enumerate(mistakes):
        lines += ["", "Often behind it:"] if number == 0 else []
        lines += textwrap.wrap(f"{row.diagnosis} {row.hint}", 100, initial_indent="  ", subsequent_indent="    ")
    breaking = [fault for fault in faults if requirement.id in fault["requirements"][:1]]
    if breaking:
        options = "".join(f" --{name}" for name in checks.get(requirement.id, ())[:1] if whatever)
        lines += ["", "Faults of the reference server that prove that the check can fail:"]
        lines += [f"  mcp-conform demo --fault {fault['name']}{options}    ({fault['text']})" for fault in breaking]
    return "\n".join(lines)


def _how(requirement: Requirement, checks: Checks) -> str:
    if requirement.unobservable:
        return f"unobservable: {_flat(requirement.unobservable)}"
    return ", ".join(checks.get(requirement.id, (NOT_YET,)))


def _levels(requirement: Requirement) -> str:
    return "/".join(dict.fromkeys(requirement.levels.values()))


def _flat(text: str) -> str:
    return " ".join(text.split())


def target_file_keys() -> str:
    """What a target file may say, key by key."""
    schema = json.loads((SCHEMAS / "target.json").read_text(encoding="utf-8"))
    lines = [
        "mcp-conform.yaml, or the same keys under [tool.mcp-conform] in pyproject.toml. It is read from the working",
        "directory or from --target FILE. Command-line options override it.",
        "",
    ]
    for key, about in schema["properties"].items():
        inner = ", ".join(about.get("properties", {}))
        allowed = ", ".join(map(str, about.get("enum", [])))
        more = f" ({allowed})" if allowed else f" Keys: {inner}." if inner else ""
        text = f"{key:15} {about['description']}{more}"
        lines += textwrap.wrap(text, 100, subsequent_indent=" " * 16)
    return "\n".join(lines)
