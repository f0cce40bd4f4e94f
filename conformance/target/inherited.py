"""The part of our own environment that servers which are started here get."""

from __future__ import annotations

import os

WITHHELD = "MCP_CONFORM_WITHHELD"
"""A variable with the names of others, separated by spaces, that are for us only: a fleet gives us what a target file
refers to, and the server gets it only under the names that its entry says."""


def inherited() -> dict[str, str]:
    """Our environment without what is for us only."""
    withheld = {WITHHELD, *os.environ.get(WITHHELD, "").split()}
    return {name: value for name, value in os.environ.items() if name not in withheld}
