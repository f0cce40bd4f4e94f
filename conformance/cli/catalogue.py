"""What the suite knows: `list` and `explain`."""

from __future__ import annotations

import click

from conformance.cli.wrong_use import wrong


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--state", type=click.Choice(["checked", "unobservable", "not yet"]), help="Only those in this state.")
@click.option("--area", default="", metavar="AREA", help="Only those of this area.")
@click.option("--revision", default="", metavar="DATE", help="Only those that hold in this revision.")
def list_requirements(as_json: bool, state: str | None, area: str, revision: str) -> None:
    """List the requirements and how each is checked."""
    import json

    from conformance.catalogue.requirements import load
    from conformance.checks.profiles import rules as profiles
    from conformance.checks.registry import checks, coverage
    from conformance.reporters.catalogue import advice, covered, entry, listing
    from conformance.reporters.catalogue import state as state_of
    from conformance.revisions import BY_DATE

    requirements, by = load(), checks()
    rules = profiles.load()[1]
    areas = list(dict.fromkeys(requirement.area for requirement in requirements.values()))
    if area == profiles.AREA:
        requirements, by = profiles.requirements(rules), profiles.checked_by(rules)
    elif area and area not in areas:
        wrong(f"there is no area {area!r}; there are {', '.join([*areas, profiles.AREA])}")
    if revision and revision not in BY_DATE:
        wrong(f"unknown revision {revision}; there are {', '.join(BY_DATE)}")
    chosen = [
        requirement
        for requirement in requirements.values()
        if (not area or requirement.area == area)
        and (not revision or revision in requirement.levels)
        and (state is None or state_of(requirement, by) == state)
    ]
    if as_json:
        click.echo(json.dumps([entry(requirement, by) for requirement in chosen], indent=2))
    else:
        click.echo(listing(chosen, by))
        if not area and state is None:
            click.echo(advice(profiles.requirements(rules).values(), profiles.checked_by(rules)))
            if not revision:
                click.echo(covered(coverage()))


@click.command()
@click.argument("requirement", metavar="ID")
def explain(requirement: str) -> None:
    """Explain a requirement: its text, its source, how it is checked.

    ID: for example tools/list-shape, or target-file for the keys of the target file.
    """
    import difflib

    from conformance.catalogue.mistakes import about
    from conformance.catalogue.requirements import load
    from conformance.checks.profiles import rules as profiles
    from conformance.checks.registry import checks
    from conformance.reporters.catalogue import explanation, target_file_keys
    from conformance.settings.settings import faults

    if requirement == "target-file":
        click.echo(target_file_keys())
        return
    rules = profiles.load()[1]
    known = {**load(), **profiles.requirements(rules)}
    if requirement not in known:
        near = difflib.get_close_matches(requirement, known, n=3, cutoff=0.5)
        near = near or [identifier for identifier in known if identifier.endswith(f"/{requirement}")]
        wrong(f"there is no requirement {requirement!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    click.echo(
        explanation(known[requirement], {**checks(), **profiles.checked_by(rules)}, faults(), about(requirement))
    )
