"""The probe of prompts and resources that ask for input."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice, zip_longest

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import without_meta
from conformance.checks.probes.input_required import (
    FEW,
    asked_anew,
    asks,
    can_be_retried,
    full_retry,
    retried,
)
from conformance.model import Json
from conformance.session.session import Call
from conformance.survey.survey import Survey, Unavailable

MOST = 50
"""Prompts and resources that are looked at."""
SECONDS = 5.0
"""After that no further one is looked at."""


def beside_tools(bench: Bench) -> Iterator[Observation]:
    """Prompts and resources, by a client with every capability; those that ask, again with and without answers.

    It finds out which of them ask, makes up the answers, and declares no capability in a second session, where it
    asks for them once more. Invariants judge the results.
    """
    asking = _those_that_ask(bench)
    if not asking:
        raise Unavailable("no prompt and no resource that was looked at asks for input")
    for first in asking:
        if can_be_retried(first):
            done = full_retry(bench.session, first)
            yield Observation({"client": "with answers", "name": _name(first)}, done, (*first.proof, *done.proof))
            other = asked_anew(bench.session, first) if done.answers and done.error is None else None
            if other is not None and "inputRequests" in other.result:
                again = bench.session.request(first.method, retried(other, {}))
                facts = {"client": "without answers", "name": _name(first)}
                yield Observation(facts, again, (*other.proof, *again.proof))
    bare = bench.connect(client={})
    for first in asking:
        if not bare.alive:
            return
        call = bare.request(first.method, without_meta(first.params))
        yield Observation({"client": "without capabilities", "name": _name(first)}, call, (*first.proof, *call.proof))


def _those_that_ask(bench: Bench) -> list[Call]:
    session, began = bench.session, time.monotonic()
    asking: list[Call] = []
    for method, params in islice(_requests(bench.survey), MOST):
        if not session.alive or len(asking) == FEW or time.monotonic() - began > SECONDS:
            break
        if session.patience.features.avoids(method, params):
            continue
        call = session.request(method, params)
        if asks(call):
            asking.append(call)
    return asking


def _requests(survey: Survey) -> Iterator[tuple[str, dict[str, Json]]]:
    """Good ones, by turns of prompts and resources."""
    for prompt, uri in zip_longest(survey.named_prompts, survey.readable):
        if prompt is not None:
            yield "prompts/get", {"name": prompt["name"], "arguments": survey.prompt_arguments(prompt)}
        if uri is not None:
            yield "resources/read", {"uri": uri}


def _name(call: Call) -> Json:
    return call.params["name" if call.method == "prompts/get" else "uri"]
