"""What the suite knows, as text for a terminal of 80 columns and as JSON: `list` and `explain`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

from conformance.catalogue.cases import Case
from conformance.catalogue.sdks import SdkNote
from conformance.checks.registry import Coverage
from conformance.files.places import SCHEMAS
from conformance.model import Json
from conformance.reporters.addresses import page
from conformance.reporters.knowledge import STATES, UNOBSERVABLE, Catalogue, Known, flat

COLUMNS = 80
"""The longest line, but for addresses and commands, which must stay whole."""


def entry(known: Known) -> Json:
    """A requirement as JSON data."""
    requirement = known.requirement
    address = page(requirement.id)
    return {
        "requirement": requirement.id,
        "text": flat(requirement.text),
        "levels": dict(requirement.levels),
        "bases": dict(requirement.bases),
        "urls": {revision: list(urls) for revision, urls in requirement.urls.items()},
        "transports": list(requirement.transports),
        "capabilities": list(requirement.capabilities),
        "state": known.state,
        "checked_by": list(known.checks),
        "unobservable": flat(requirement.unobservable),
        "caution": flat(requirement.caution),
        **({"page": address} if address else {}),
    }


def listing(rows: Sequence[Known]) -> str:
    """One line for each requirement under its area, and how many there are in each state."""
    widths: dict[str, int] = {}
    for row in rows:
        widths[row.requirement.area] = max(widths.get(row.requirement.area, 0), len(row.requirement.id))
    lines: list[str] = []
    area = ""
    for row in rows:
        if row.requirement.area != area:
            area = row.requirement.area
            lines += ["", area] if lines else [area]
        lines.append(f" {row.requirement.id:{widths[area]}}  {levels(row):8}  {row.state}")
    totals = [row.state for row in rows]
    lines += ["", f"{len(totals)} requirements: " + ", ".join(f"{totals.count(s)} {s}" for s in STATES)]
    return "\n".join(lines)


def advice(rows: Sequence[Known]) -> str:
    """The rules for clients: they are no requirements of the specification, and not among their number."""
    width = max(len(row.requirement.id) for row in rows)
    told = (f" {row.requirement.id:{width}}  {', '.join(row.named('profile'))}" for row in rows)
    return "\n".join(["", "advice for clients, with --profile", *told])


def covered(coverage: Coverage) -> str:
    """How much of what cases decide can be read in them, as the last lines of a list."""
    return (
        f"\n{coverage.cases} cases, {coverage.without_probes} of them without a probe\n{len(coverage.decided)} "
        f"requirements decided by cases, campaigns left out, {len(coverage.by_yaml)} of them in YAML\n"
        "mcp-conform explain ID says how a requirement is checked."
    )


def explanation(known: Known) -> str:
    """All that is known of one requirement."""
    requirement = known.requirement
    lines = [requirement.id, "", *_wrapped(flat(requirement.text)), ""]
    for revision, level in list(requirement.levels.items())[: 1 if known.for_clients else None]:
        when = "any revision" if known.for_clients else revision
        severity = known.severity(revision)
        lines.append(f"  {when}  {level}, {requirement.bases[revision]}" + (f": {severity}" if severity else ""))
        lines += [f"              {url}" for url in requirement.urls[revision]]
    if address := page(requirement.id):
        lines += ["", f"Page: {address}"]
    if requirement.transports:
        lines += ["", f"Concerns only {', '.join(requirement.transports)}."]
    if requirement.capabilities:
        lines += ["", *_wrapped(f"Applies to servers that declare {' or '.join(requirement.capabilities)}.")]
    lines += ["", *_wrapped(f"Checked by: {how(known)}", hanging="  ")]
    if known.state != UNOBSERVABLE and requirement.needs:
        lines += _wrapped(f"To be tested it needs {flat(requirement.needs)}.")
    if requirement.caution:
        lines += ["", *_wrapped(f"Caution: {flat(requirement.caution)}")]
    lines += [line for number, text in enumerate(causes(known)) for line in _item(text, number, "Often behind it:")]
    lines += [line for number, note in enumerate(known.sdks) for line in _item(told(note), number, "In the SDKs:")]
    if known.faults:
        lines += ["", *_wrapped("Faults of the reference server that prove that the check can fail:")]
    for fault in known.faults:
        lines += [f"  {demo(known, fault)}", *_wrapped(fault["text"], "      ", "      ")]
    return "\n".join(lines)


def area_text(catalogue: Catalogue, area: str) -> str:
    """The requirements of an area with their texts, and the cases with that name. Raises KeyError if it has neither."""
    known = catalogue.within(area)
    cases = [case for case in catalogue.cases.values() if case.area == area]
    if not known and not cases:
        raise KeyError(area)
    title = catalogue.areas.get(area, "")
    lines = _wrapped(f"{area}: {title}" if title else area, hanging="  ")
    for row in known:
        lines += ["", f"{row.requirement.id}  {levels(row)}, {row.state}"]
        lines += _wrapped(flat(row.requirement.text), "  ", "  ")
    lines += ["", "Cases:"] if cases else []
    for case in cases:
        lines += [f"  {case.id}", *_wrapped(case.title, "    ", "    ")]
    return "\n".join(lines)


def case_text(catalogue: Catalogue, case: Case) -> str:
    """A case with what it judges, and its YAML. Lines of the YAML are as long as they are in the file."""
    lines = [case.id, "", *_wrapped(case.title), ""]
    lines += _wrapped(f"Judges {', '.join(case.requirements)}.", hanging="  ")
    lines += ["", f"mcp-conform demo --only {case.id}", "", catalogue.case_texts[case.id]]
    return "\n".join(lines)


def how(known: Known) -> str:
    """What checks it, or why nothing does."""
    if known.state == UNOBSERVABLE:
        return f"unobservable: {flat(known.requirement.unobservable)}"
    return ", ".join(known.checks or (known.state,))


def levels(known: Known) -> str:
    """Its levels over all revisions: `SHOULD/MUST`."""
    return "/".join(dict.fromkeys(known.requirement.levels.values()))


def causes(known: Known) -> Iterator[str]:
    """What often is behind a finding, and how to mend it."""
    return (f"{row.diagnosis} {row.hint}" for row in known.mistakes)


def told(note: SdkNote) -> str:
    """What an SDK does, in the version that was looked at, and what to do about it."""
    return f"{note.sdk.name} ({note.sdk.package} {note.sdk.version}): {note.does}" + (
        f" {note.fix}" if note.fix else ""
    )


def demo(known: Known, fault: Json) -> str:
    """The command that shows a fault of the reference server."""
    options = "".join(f" --profile {name}" for name in known.named("profile")[:1])
    return f"mcp-conform demo --fault {fault['name']}{options}"


def target_file_keys() -> str:
    """What a target file may say, key by key."""
    schema = json.loads((SCHEMAS / "target.json").read_text(encoding="utf-8"))
    intro = (
        "mcp-conform.yaml, or the same keys under [tool.mcp-conform] in pyproject.toml. It is read from the working "
        "directory or from --target FILE. Command-line options override it."
    )
    lines = [*_wrapped(intro), ""]
    for key, about in schema["properties"].items():
        inner = ", ".join(about.get("properties", {}))
        allowed = ", ".join(map(str, about.get("enum", [])))
        more = f" ({allowed})" if allowed else f" Keys: {inner}." if inner else ""
        lines += _wrapped(f"{key:15} {about['description']}{more}", hanging=" " * 16)
    return "\n".join(lines)


def _item(text: str, number: int, title: str) -> list[str]:
    return [*(["", title] if number == 0 else []), *_wrapped(text, "  ", "    ")]


def _wrapped(text: str, indent: str = "", hanging: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        COLUMNS,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
