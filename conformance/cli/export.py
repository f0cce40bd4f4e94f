"""The cases for runners in other languages: `export`."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.wrong_use import wrong


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def export(folder: Path) -> None:
    """Write requirements, cases and schemas as JSON, for runners in other languages.

    DIR: is created, or must be empty or hold an earlier export, which is replaced. DIR/README.md explains the files.

    Exit status: 0 it was written; 2 it was not.
    """
    from conformance.catalogue.requirements import load
    from conformance.checks.registry import cases
    from conformance.reporters.export import Occupied, files, write

    found = files(load(), cases())
    try:
        write(folder, found)
    except Occupied as error:
        wrong(str(error))
    except OSError as error:
        wrong(f"{error.filename or folder} cannot be written: {error.strerror}")
    click.echo(f"{len(cases())} cases and {len(load())} requirements are in {folder}")
