"""The probe of JSON Schema dialects: arguments that only the right dialect refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import FEW, callable_tools
from conformance.checks.probes.outcome import complete, succeeded
from conformance.model import Json
from conformance.survey.arguments import Unfillable, smallest_arguments
from conformance.validation.json_schemas import DIALECTS, Unusable, misfit

LATEST, SEVENTH = "Draft202012Validator", "Draft7Validator"

SENSITIVE = re.compile(
    r'"(prefixItems|dependentRequired|dependentSchemas|unevaluatedProperties|unevaluatedItems|minContains|maxContains'
    r'|dependencies|additionalItems|items": \[)'
)
"""What a schema has in it, as JSON text, if a dialect may matter."""

VALUES: tuple[Json, ...] = ("x", 1, True, [], ["x"], [1], ["x", "x"], [1, 1], [True, True], [1, 1, 1], {}, {"x": 1})


def dialects(bench: Bench) -> Iterator[Observation]:
    """Calls of tools whose inputSchema means something else in another dialect, with arguments that it alone refuses.

    Which arguments tell two dialects apart is found by validating with both.
    """
    tried = 0
    for tool, params in callable_tools(bench):
        schema = tool.get("inputSchema")
        if tried == FEW or not isinstance(schema, dict) or not SENSITIVE.search(json.dumps(schema)):
            continue
        apart = next(telling(schema, params["arguments"]), None)
        if apart is None:
            continue
        tried += 1
        good = bench.session.request("tools/call", params)
        if not (good.answers and succeeded(good) and complete(good)):
            continue
        wrong = bench.session.request("tools/call", {**params, "arguments": apart})
        yield Observation({"tool": tool.get("name"), "declares-a-dialect": "$schema" in schema}, wrong)


def telling(schema: dict[str, Json], good: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Arguments that `schema` refuses in its dialect and admits in another one."""
    own = DIALECTS.get(str(schema.get("$schema", "https://json-schema.org/draft/2020-12/schema")).rstrip("#"))
    other = SEVENTH if own == LATEST else LATEST
    if own is None or _refuses(own, schema, good) is not False:
        return
    properties = schema.get("properties")
    for name in properties if isinstance(properties, dict) else ():
        for value in (*_fitting(schema, name), *VALUES):
            arguments = {**good, name: value}
            if _refuses(own, schema, arguments) is True and _refuses(other, schema, arguments) is False:
                yield arguments


def _fitting(schema: dict[str, Json], name: str) -> list[Json]:
    try:
        return [smallest_arguments({**schema, "required": [name]})[name]]
    except Unfillable:
        return []


def _refuses(dialect: str, schema: dict[str, Json], value: Json) -> bool | None:
    """None where the dialect cannot be applied to the schema."""
    try:
        return misfit(schema, value, dialect) is not None
    except Unusable:
        return None
