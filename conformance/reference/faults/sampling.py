"""Faults in what is asked of the client's model."""

from __future__ import annotations

from conformance.reference.fault import Fault, drop, on_question

FAULTS = (
    Fault(
        "sampling-without-limit",
        "sampling/request-shape",
        "sampling requests have no maxTokens",
        on_question("sampling/createMessage", lambda params: drop(params, "maxTokens")),
    ),
    Fault(
        "samples-with-tools-undeclared",
        "sampling/tools-need-capability",
        "sampling requests offer tools, although the client did not declare sampling.tools",
        on_question("sampling/createMessage", lambda params: params.update(tools=[], toolChoice={"mode": "auto"})),
        since="2025-11-25",
    ),
)
