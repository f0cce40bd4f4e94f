"""How a command says that it was used wrongly."""

from __future__ import annotations

from typing import NoReturn

import click

from conformance.standard_streams import say


def wrong(why: str) -> NoReturn:
    """Say `why` on stderr and end with exit status 2."""
    say(why)
    click.get_current_context().exit(2)
