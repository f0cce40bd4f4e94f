"""The user's own cases, before they are played: `cases check`."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def cases() -> None:
    """Check your own cases without running them."""


@cases.command()
@click.argument("paths", metavar="FILE|FOLDER...", nargs=-1, required=True, type=click.Path(path_type=Path))
def check(paths: tuple[Path, ...]) -> None:
    """Check your own cases, without starting a server.

    FILE|FOLDER: files of cases, or folders of them as for --cases DIR. Prints a line for each case: what it tests,
    or what is wrong with it, with file and line.

    Exit status: 0 all cases are valid; 2 something is wrong.
    """
    from conformance.engine.own import check_own
    from conformance.files.yaml_files import FileError
    from conformance.reporters.words import shortened, visible

    well = wrong = 0
    for each in (each for path in paths for each in check_own(path)):
        if isinstance(each, FileError):
            wrong += 1
            line = str(each)
        else:
            well += 1
            line = f"{each.id}: {_number(len(list(each.plain_steps)), 'step')}, judges {', '.join(each.requirements)}"
        click.echo(visible(shortened(line, 4000)))
    click.echo(f"{_number(well, 'case')} valid, {_number(wrong, 'problem')}")
    click.get_current_context().exit(2 if wrong else 0)


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
