"""JSON Schemas that others wrote. jsonschema-rs says yes at once; where it says no, jsonschema has the last word.

Nothing that such a schema refers to is ever fetched: a server shall not make us call other machines.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from conformance.model import Json

DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
}
"""URI of a dialect, without the empty fragment → its validator, of the same name in both libraries."""


Judge = Callable[[Json], bool]
"""Whether a value is valid under one schema."""


def judge(schema: Json, validator: str = "") -> Judge:
    """What jsonschema-rs says of values. `validator` is one of DIALECTS; without it `$schema` says which, or else it
    is 2020-12.

    Raises ValueError for what is no schema, or refers to what is elsewhere; so does the judge for a value that cannot
    pass into jsonschema-rs, such as half a surrogate pair.
    """
    return _judge(json.dumps(schema), validator)


def surely_fits(schema: Json, value: Json, validator: str = "") -> bool:
    """Whether jsonschema-rs finds `value` valid under `schema`; False also if it cannot tell."""
    try:
        return judge(schema, validator)(value)
    except ValueError:
        return False


def surely_a_schema(schema: dict[str, Json], dialect: str) -> bool:
    """Whether jsonschema-rs finds `schema` valid under the meta-schema of `dialect`; False also if it cannot tell."""
    import jsonschema_rs

    if dialect not in DIALECTS:  # it would fetch the meta-schema
        return False
    try:
        return bool(jsonschema_rs.meta.is_valid({**schema, "$schema": dialect}))
    except ValueError:
        return False


@lru_cache(maxsize=1024)
def _judge(schema: str, validator: str) -> Judge:
    import jsonschema_rs

    kind: Any = getattr(jsonschema_rs, validator) if validator else jsonschema_rs.validator_for
    try:
        judge: Judge = kind(json.loads(schema), offline=True).is_valid
    except jsonschema_rs.ReferencingError as error:
        raise ValueError(str(error)) from None
    return judge
