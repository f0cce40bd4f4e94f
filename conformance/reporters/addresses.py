"""Where the page of a requirement is, on the site that `tox -e docs` builds."""

from __future__ import annotations

import os

from conformance.catalogue.cases import OWN

VARIABLE = "MCP_CONFORM_DOCS"
"""The environment variable with the address of the site."""


def page(requirement: str, base: str | None = None) -> str:
    """The address of the page of a requirement or rule; "" if none is known.

    `base` is the address of the site, by default the value of VARIABLE. Cases of the user have no pages.
    """
    base = (os.environ.get(VARIABLE, "") if base is None else base).strip().rstrip("/")
    if not base or requirement.startswith(f"{OWN}/"):
        return ""
    return f"{base}/rules/{requirement}/"
