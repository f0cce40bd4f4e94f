"""What may be completed: arguments of prompts and variables of templates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from conformance.model import Json
from conformance.survey.survey import Survey

MAX_EACH = 8
"""How many arguments of prompts, and how many variables of templates, are completed."""

_EXPRESSION = re.compile(r"\{[+#./;?&]?([^{}]*)\}")
_MODIFIER = re.compile(r"(\*|:\d+)$")

NO_SUCH_PROMPT = "mcp-conform-no-such-prompt"


def completions(survey: Survey) -> list[Json]:
    """What may be completed, the first MAX_EACH arguments and variables by turns.

    Each is an object with `ref` and `argument` as in the params of completion/complete, with nothing typed yet. It has
    `context` as well, with a value for another argument of the same prompt or template, if there is another.
    """
    kinds = (list(_of_prompts(survey))[:MAX_EACH], list(_of_templates(survey))[:MAX_EACH])
    return [each for pair in zip_longest(*kinds) for each in pair if each is not None]


def completions_or_none_such(survey: Survey) -> list[Json]:
    """The same with `listed: true`, or one of a prompt that does not exist, with `listed: false`."""
    unknown = _completion({"type": "ref/prompt", "name": NO_SUCH_PROMPT}, "x", [])
    return [{**each, "listed": True} for each in completions(survey)] or [{**unknown, "listed": False}]


def _of_prompts(survey: Survey) -> Iterator[Json]:
    for prompt in survey.named_prompts:
        listed = prompt.get("arguments")
        arguments = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        names = [each["name"] for each in arguments if isinstance(each.get("name"), str)]
        for name in names:
            yield _completion({"type": "ref/prompt", "name": prompt["name"]}, name, names)


def _of_templates(survey: Survey) -> Iterator[Json]:
    for template in survey.templates:
        pattern = template.get("uriTemplate")
        if isinstance(pattern, str):
            variables = [variable for listed in _EXPRESSION.findall(pattern) for variable in listed.split(",")]
            names = [_MODIFIER.sub("", variable) for variable in variables]
            for name in names:
                yield _completion({"type": "ref/resource", "uri": pattern}, name, names)


def _completion(ref: Json, name: str, names: list[str]) -> Json:
    found: Json = {"ref": ref, "argument": {"name": name, "value": ""}}
    other = next((each for each in names if each != name), None)
    return found if other is None else {**found, "context": {"arguments": {other: "x"}}}
