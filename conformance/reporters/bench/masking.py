"""Takes what is secret out of the report of a bench before any view of it is made."""

from __future__ import annotations

from conformance.model import Json
from conformance.target.mask import Mask


def masked(mask: Mask, report: Json) -> Json:
    """The report without secrets, whatever names and texts of the server they stand in."""
    if isinstance(report, dict):
        return {mask.text(name): masked(mask, value) for name, value in report.items()}
    if isinstance(report, list):
        return [masked(mask, each) for each in report]
    return mask.text(report) if isinstance(report, str) else report
