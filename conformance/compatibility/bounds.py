"""The bounds that a JSON Schema sets to numbers."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.model import Json

Bound = float | tuple[float, int] | None


def number(value: Json, otherwise: float | None) -> float | None:
    """`value` if it is a number, else `otherwise`."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def lower_bound(schema: Mapping[str, Json], whole: bool) -> tuple[float, int] | None:
    """The largest lower bound and whether it is itself excluded; for integers it never is."""
    inclusive, exclusive = number(schema.get("minimum"), None), number(schema.get("exclusiveMinimum"), None)
    bounds = [] if inclusive is None else [(inclusive, 0)]
    if exclusive is not None:
        bounds.append((exclusive + 1, 0) if whole and exclusive // 1 == exclusive else (exclusive, 1))
    return max(bounds, default=None)


def upper_bound(schema: Mapping[str, Json], whole: bool) -> tuple[float, int] | None:
    """The smallest upper bound, likewise."""
    inclusive, exclusive = number(schema.get("maximum"), None), number(schema.get("exclusiveMaximum"), None)
    bounds = [] if inclusive is None else [(inclusive, 0)]
    if exclusive is not None:
        bounds.append((exclusive - 1, 0) if whole and exclusive // 1 == exclusive else (exclusive, -1))
    return min(bounds, default=None)


def order(bound: float | tuple[float, int]) -> tuple[float, int]:
    """What bounds are compared by."""
    return bound if isinstance(bound, tuple) else (bound, 0)


def shown(bound: Bound) -> str:
    """A bound for people."""
    if bound is None:
        return "absent"
    if isinstance(bound, tuple):
        return shown(bound[0]) + (" (excluded)" if bound[1] else "")
    try:
        return f"{bound:g}"
    except OverflowError:  # an integer beyond every double
        return f"an integer of {len(str(abs(bound)))} digits"
