"""How a command says that it was used wrongly."""

from __future__ import annotations

from typing import NoReturn

import typer


def wrong(why: str) -> NoReturn:
    """Say `why` on stderr and end with exit status 2."""
    typer.echo(f"mcp-conform: {why}", err=True)
    raise typer.Exit(2)
