"""What the survey says where it has nothing to offer."""

from __future__ import annotations

import pytest

from conformance.survey.picks import pick
from conformance.survey.survey import CallPolicy, Survey, Unavailable

TOOL = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


def test_a_tool_that_is_not_annotated_as_safe_is_not_called_and_the_reason_says_so() -> None:
    survey = Survey({}, CallPolicy(), tools=({**TOOL, "annotations": {}},))
    with pytest.raises(Unavailable, match="none is annotated readOnlyHint; allow one with --call-tool"):
        pick("tool-call", survey)


def test_where_calls_are_switched_off_the_annotations_are_not_blamed() -> None:
    survey = Survey({}, CallPolicy("none"), tools=(TOOL,))
    with pytest.raises(Unavailable, match="no tool may be called: --call-tools none; allow one with --call-tool"):
        pick("tool-call", survey)


def test_a_named_tool_is_called_even_where_calls_are_switched_off() -> None:
    survey = Survey({}, CallPolicy("none", ("look",)), tools=(TOOL,))
    assert pick("tool-call", survey) == {"name": "look", "arguments": {}}
