"""How a command says that it was used wrongly."""

from __future__ import annotations

from typing import NoReturn

import click

from conformance.system.standard_streams import say


def wrong(why: str) -> NoReturn:
    """Say `why` on stderr, on one line, and end with exit status 2."""
    from conformance.reporters.words import shortened, visible  # takes a while, and is rarely needed

    say(visible(shortened(why, 4000)))
    click.get_current_context().exit(2)
