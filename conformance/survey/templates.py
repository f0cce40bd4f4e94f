"""What resource templates make of values."""

from __future__ import annotations

import re

from conformance.model import Json
from conformance.survey.survey import Survey, Unavailable

VARIABLE = re.compile(r"\{\w+\}")
"""A plain expression of a template, with one variable."""
NO_SUCH_VALUE = "mcpconform7f3a"


def unknown_behind_templates(survey: Survey) -> list[Json]:
    """What each template makes of a value that nobody has, as far as its variables are plain. Raises Unavailable."""
    found: list[Json] = []
    for each in survey.templates:
        template = str(each.get("uriTemplate"))
        uri = VARIABLE.sub(NO_SUCH_VALUE, template)
        if uri != template and "{" not in uri:
            found.append({"template": template, "uri": uri})
    if not found:
        raise Unavailable("no template of the server has plain variables")
    return found
