"""Faults that show with some arguments of a tool only (negative, zero, optional, one of several), or one variable."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.fault import Fault, on_result
from conformance.reference.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply

CONFORMS = "tools/structured-content-conforms tools/structured-content-text-copy"


def _where(fits: Callable[[Message], bool], change: Callable[[Message], Any]) -> Apply:
    """Change the results of calls whose arguments fit."""

    def change_result(result: Message, call: Call) -> None:
        arguments = call.params.get("arguments")
        if isinstance(arguments, dict) and fits(arguments) and result.get("isError") is not True:
            change(result)

    return on_result(("tools/call",), change_result)


def _number(arguments: Message, name: str) -> float:
    value = arguments.get(name, 1)
    return value if isinstance(value, (int, float)) else 1


def _texts_null(result: Message) -> None:
    for block in result["content"]:
        block["text"] = None


def _second_item_number(result: Message, call: Call) -> None:
    if call.params["uri"] == "reference://items/2":
        result["contents"][0]["text"] = 2


FAULTS = (
    Fault(
        "second-item-text-number",
        "resources/read-shape",
        "of what a template makes, one has a text that is a number",
        on_result(("resources/read",), _second_item_number),
        since="2025-06-18",
    ),
    Fault(
        "negative-argument-misfits",
        CONFORMS,
        "structured content breaks the outputSchema where an argument is negative",
        _where(lambda given: _number(given, "a") < 0, lambda result: result.update(structuredContent={"sum": "less"})),
        since="2025-06-18",
    ),
    Fault(
        "zero-argument-misfits",
        CONFORMS,
        "structured content breaks the outputSchema where an argument is 0",
        _where(lambda given: _number(given, "b") == 0, lambda result: result.update(structuredContent={})),
        since="2025-06-18",
    ),
    Fault(
        "optional-argument-misfits",
        CONFORMS,
        "structured content breaks the outputSchema where an optional argument is given",
        _where(lambda given: "steps" in given, lambda result: result.update(structuredContent={"steps": "some"})),
        since="2025-06-18",
    ),
    Fault(
        "choice-without-text",
        "content/text-shape",
        "the text of a result is null for one of the values of an enum",
        _where(lambda given: given.get("area") == "texts", _texts_null),
        since="2025-03-26",
    ),
)
