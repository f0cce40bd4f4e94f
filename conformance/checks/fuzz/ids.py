"""Which ids are the same, to a server and to us."""

from __future__ import annotations

import math

from conformance.model import Json
from conformance.session.messages import Call, id_key, is_id


def whole(identifier: Json) -> str:
    """An id as text, of a number the part before the point, also if the number has become text."""
    try:
        number = float(identifier)
        return str(int(number)) if math.isfinite(number) else str(identifier)
    except (TypeError, ValueError, OverflowError):
        return str(identifier)


def same_id(identifier: object, call: Call) -> bool:
    """Whether a response repeats the id of the request, numbers compared as numbers."""
    return is_id(identifier) and id_key(identifier) == id_key(call.id)
