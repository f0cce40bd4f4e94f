"""What the suite knows: `list` and `explain`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

import click

from conformance.cli.wrong_use import wrong

if TYPE_CHECKING:
    from conformance.reporters.knowledge import Catalogue

TARGET_FILE = "target-file"


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--state", type=click.Choice(["checked", "unobservable", "not yet"]), help="Only those in this state.")
@click.option("--area", default="", metavar="AREA", help="Only those of this area.")
@click.option("--revision", default="", metavar="DATE", help="Only those that hold in this revision.")
def list_requirements(as_json: bool, state: str | None, area: str, revision: str) -> None:
    """List the requirements and how each is checked."""
    import json

    from conformance.checks.registry import coverage
    from conformance.reporters.catalogue import advice, covered, entry, listing
    from conformance.reporters.knowledge import Catalogue
    from conformance.revisions import BY_DATE

    catalogue = Catalogue()
    if area and area not in catalogue.areas:
        wrong(f"there is no area {area!r}; there are {', '.join(catalogue.areas)}")
    if revision and revision not in BY_DATE:
        wrong(f"unknown revision {revision}; there are {', '.join(BY_DATE)}")
    rows = catalogue.within(area) if area else [catalogue.of(name) for name in catalogue.requirements]
    chosen = [
        row
        for row in rows
        if (not revision or revision in row.requirement.levels) and (state is None or row.state == state)
    ]
    if as_json:
        click.echo(json.dumps([entry(row) for row in chosen], indent=2))
    else:
        click.echo(listing(chosen))
        if not area and state is None:
            click.echo(advice([catalogue.of(name) for name in catalogue.rules]))
            if not revision:
                click.echo(covered(coverage()))


@click.command()
@click.argument("subject", metavar="ID")
def explain(subject: str) -> None:
    """Explain a requirement: its text, its source, how it is checked.

    ID: for example tools/list-shape; a case, such as tools/call-each; an area, such as tools; or target-file for the
    keys of the target file.
    """
    from conformance.reporters.catalogue import area_text, case_text, explanation, target_file_keys
    from conformance.reporters.knowledge import Catalogue
    from conformance.settings.settings import faults

    if subject == TARGET_FILE:
        click.echo(target_file_keys())
        return
    catalogue = Catalogue()
    told = []
    if subject in catalogue.requirements or subject in catalogue.rules:
        told.append(explanation(Catalogue(faults()).of(subject)))
    if subject in catalogue.cases:
        told.append(case_text(catalogue, catalogue.cases[subject]))
    if not told:
        try:
            told.append(area_text(catalogue, subject))
        except KeyError:
            _unknown(subject, catalogue)
    click.echo("\n\n".join(told))


def _unknown(subject: str, catalogue: Catalogue) -> NoReturn:
    """Say that there is nothing of that name, and what is nearly called so."""
    import difflib

    areas = {*catalogue.areas, *(case.area for case in catalogue.cases.values())}
    names = [*catalogue.requirements, *catalogue.rules, *catalogue.cases, *sorted(areas), TARGET_FILE]
    near: Iterable[str] = [name for name in names if name.endswith(f"/{subject}")]
    near = near or difflib.get_close_matches(subject, names, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else "mcp-conform list lists all requirements"
    wrong(f"there is no requirement, case or area {subject!r}; {hint}")
