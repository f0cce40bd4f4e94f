"""What changed between two snapshots, or between two reports: `diff`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.cli.wrong_use import wrong

if TYPE_CHECKING:
    from conformance.compatibility.changes import Change
    from conformance.compatibility.findings import Difference, Gap
    from conformance.model import Json

FORMAT = 1


@click.command()
@click.argument("old", metavar="OLD", type=click.Path(path_type=Path))
@click.argument("new", metavar="NEW", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Changes that may break fail too, and so do new warnings.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff(old: Path, new: Path, strict: bool, as_json: bool) -> None:
    """Compare two snapshots or two JSON reports.

    OLD and NEW: what --snapshot FILE, or --json FILE, wrote.

    Snapshots: which changes break clients, and which do not. Reports: which findings are new, fixed or unchanged.

    Exit status: 0 nothing breaks, no new violation; 1 something does, or NEW could not test what OLD tested;
    2 wrong use.
    """
    from conformance.cli.written import read

    (kind, before), (other, after) = read(old), read(new)
    if kind != other:
        wrong(f"{old} is a {kind} and {new} is a {other}: both must be of the same kind")
    if kind == "snapshot":
        from conformance.compatibility.surface import compare_snapshots

        status = _tell_changes(compare_snapshots(before, after), strict, as_json)
    else:
        from conformance.compatibility.findings import compare_reports, gaps

        status = _tell_findings(compare_reports(before, after), gaps(before, after), strict, as_json)
    click.get_current_context().exit(status)


def _tell_changes(changes: list[Change], strict: bool, as_json: bool) -> int:
    from conformance.compatibility.changes import ChangeKind

    counts = {kind: sum(change.kind is kind for change in changes) for kind in ChangeKind}
    status = 1 if counts[ChangeKind.BREAKING] or (strict and counts[ChangeKind.UNDECIDED]) else 0
    if as_json:
        rows = [{"kind": c.kind, "item": c.item, "place": c.place, "what": c.what} for c in changes]
        _print_json({"compared": "snapshots", "changes": rows, "counts": counts, "exit": status})
        return status
    for kind in ChangeKind:
        _section(
            kind.capitalize(),
            (f"{c.item}{f' at {c.place}' if c.place else ''}: {c.what}" for c in changes if c.kind is kind),
        )
    numbers = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    _end(f"{numbers}." if changes else "Nothing changed.", status)
    return status


def _tell_findings(differences: list[Difference], gaps: list[Gap], strict: bool, as_json: bool) -> int:
    from conformance.compatibility.findings import STATES

    fails = any(d.fails for d in differences) or any(gap.fails for gap in gaps)
    warns = strict and not fails and any(d.warns for d in differences)
    status = 1 if fails or warns else 0
    found = {state: [d for d in differences if d.state == state] for state in STATES}
    if as_json:
        rows = {
            state: [
                {"run": d.run, "requirement": d.requirement, "severity": d.severity, "message": d.message} for d in each
            ]
            for state, each in found.items()
        }
        counts = {state: len(each) for state, each in found.items()}
        lacking = [gap.what for gap in gaps]
        _print_json({"compared": "reports", **rows, "gaps": lacking, "counts": counts, "exit": status})
        return status
    _section("Not comparable", (gap.what for gap in gaps))
    words = {"mended": "fixed"}  # the JSON has the old word
    titles = {"untested": "Not found, but its requirement was not tested"}
    for state, each in found.items():
        lines = (f"{d.severity} {d.requirement} ({d.run}): {d.message}" for d in each)
        _section(titles.get(state, words.get(state, state).capitalize()), lines)
    why = ": there is no new violation, but new warnings fail" if warns else ""
    _end(", ".join(f"{len(each)} {words.get(state, state)}" for state, each in found.items()) + ".", status, why)
    return status


def _section(title: str, lines: Iterable[str]) -> None:
    from conformance.reporters.words import shortened, visible

    told = [f"  {visible(shortened(line, 600))}" for line in lines]
    if told:
        click.echo("\n".join([title, *told, ""]))


def _end(numbers: str, status: int, why: str = "") -> None:
    click.echo(f"{numbers} Exit status {status}{why}.")


def _print_json(data: Json) -> None:
    import json

    click.echo(json.dumps({"diff": FORMAT, **data}, indent=2))
