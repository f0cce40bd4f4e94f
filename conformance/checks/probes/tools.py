"""Probes of the area tools."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from conformance.checks.invariants.structured import Undecidable, misfit_of
from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import call_each, call_quickly, cancel, soon
from conformance.checks.probes.listed import unknown
from conformance.checks.probes.lists import compare
from conformance.checks.probes.outcome import code_of, complete, succeeded
from conformance.checks.probes.structured import outdated, text_beside
from conformance.codes import INTERNAL_ERROR
from conformance.model import Json, members
from conformance.session.session import Call, Session
from conformance.survey.picks import PICKS
from conformance.survey.survey import Unavailable
from conformance.survey.variations import variations

QUICK = 0.1
"""Seconds that a tool may take that is called again with other arguments."""
SECONDS = 2.0
"""After that no further one is called so."""
MOST_VARIED, MOST_ABROAD, MOST_UNSTRUCTURED = 24, 10, 6
"""How often a tool is called so, one that may reach out into the world, and one without outputSchema."""
INDEPENDENT = ("tools", "resources", "prompts")


def results(bench: Bench) -> Iterator[Observation]:
    """Each tool that may be called, with the smallest arguments, and with others if it fails with them.

    It makes up arguments, and holds results against the tools' own schemas and against the text beside them.
    """
    failing: dict[str, bool] = {}
    quick: list[Json] = []
    for tool, call in _calls_of_each(bench):
        failing[str(tool.get("name"))] = not succeeded(call)
        failed = [name for name, fails in failing.items() if fails]
        hint = f"; {_named_briefly(failed)} failed: sample arguments in a target file may help" if failed else ""
        facts = _returned(bench, tool, call)
        facts["hint"] = hint
        facts["unknown"] = bool(call.answers) and not succeeded(call) and unknown(bench.session, call, "name")
        yield Observation(facts, call)
        if facts["succeeds"] and call.answers[0].at - call.sent.at < QUICK and tool not in quick:
            quick.append(tool)
    if not failing:
        raise Unavailable("no tool that was called has answered")
    for tool, call in _varied(bench, quick):
        yield Observation({**_returned(bench, tool, call), "hint": "", "unknown": False}, call)


def _returned(bench: Bench, tool: Json, call: Call) -> dict[str, Json]:
    """Whether a call succeeds, and how what it returns fits the outputSchema and the text beside it."""
    facts: dict[str, Json] = {"tool": tool.get("name"), "succeeds": complete(call) and succeeded(call)}
    if facts["succeeds"]:
        facts |= _structure(bench, tool, call)
        if beside := text_beside(call, bench.session.revision.date):
            facts["text"] = beside
    return facts


def _varied(bench: Bench, tools: list[Json]) -> Iterator[tuple[Json, Call]]:
    """Calls of quick tools that only read, with other arguments: a result may go wrong with some only.

    Those that succeed, or fail inside the server; others may have their reasons.
    """
    session, until = bench.session, time.monotonic() + SECONDS
    for tool in tools:
        hints = members(tool.get("annotations"))
        most = MOST_VARIED if tool.get("outputSchema") is not None else MOST_UNSTRUCTURED
        if hints.get("openWorldHint") is not False:
            most = min(most, MOST_ABROAD)
        for arguments in islice(variations(tool.get("inputSchema")), most if hints.get("readOnlyHint") is True else 0):
            if time.monotonic() > until or not session.alive:
                return
            call = session.send("tools/call", {"name": tool.get("name"), "arguments": arguments})
            if not session.wait(call, timeout=soon(session)):
                cancel(session, call)
                session.give_up(call)
                break
            if code_of(call) == INTERNAL_ERROR or (complete(call) and succeeded(call)):
                yield tool, call


def _structure(bench: Bench, tool: Json, call: Call) -> dict[str, Json]:
    """What the tool's outputSchema has to say of the result."""
    schema = tool.get("outputSchema")
    if schema is None:
        return {}
    try:
        wrong = misfit_of(schema, call.result, bench.session.revision.date)
        if wrong and outdated(bench.session, tool):
            return {"undecidable": "its outputSchema has changed since it was listed"}
        return {"schema": schema, "misfit": wrong}
    except Undecidable as reason:
        return {"undecidable": str(reason)}


def _calls_of_each(bench: Bench) -> Iterator[tuple[Json, Call]]:
    for tool, call in call_each(bench):
        yield tool, call
        if succeeded(call) or call.error is not None:
            continue
        for arguments in bench.survey.other_arguments(tool):
            further = call_quickly(bench.session, {"name": tool.get("name"), "arguments": arguments})
            if not further.answers:
                break
            yield tool, further
            if succeeded(further):
                break


def _named_briefly(names: list[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def independence(bench: Bench) -> Iterator[Observation]:
    """Each list on two fresh connections, since tools that were called may have changed what the present one sees.

    It compares sets, which change over time: a difference counts once it has shown three times.
    """
    shared = not bench.session.transport.process_per_session
    connections = [bench.connect(open=False, shared=shared) for _ in range(2)]
    kinds = [kind for kind in INDEPENDENT if bench.survey.declares(kind)]
    same = []
    for kind in kinds:
        seen = compare(kind, connections)
        yield seen
        same += [kind] if seen.values.get("seen") == "the same" else []
    if shared:  # where each has a process of its own, a tool may change what its process lists
        _use(bench, connections[0])
        for kind in same:
            seen = compare(kind, connections)
            yield replace(seen, values={**seen.values, "after-calls": True})


def _use(bench: Bench, connection: Session) -> None:
    """Ask on one connection for something of each kind, each time with success as far as is known."""
    with suppress(Unavailable):
        for asked in PICKS["good-request"](bench.survey):
            if asked["method"] in ("tools/call", "prompts/get", "resources/read"):
                connection.request(asked["method"], asked["params"])
