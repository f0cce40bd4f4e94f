"""Probes of what belongs to one user, with the token of another one."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation, task_extension
from conformance.checks.probes import tasks as tasks_of_old
from conformance.checks.probes.authorization import needed, other
from conformance.checks.probes.input_required import has_state, responses_to, retried, those_that_ask
from conformance.checks.probes.visits import Visitor
from conformance.model import Json, elements, members
from conformance.session.eras.stateless import Stateless
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

FEW = 3
"""Tasks, and tools that ask for input, that are looked at; of tasks one more that asks, if none of these does."""
LOOKS = 2
"""Further looks at a task at work, which may be about to ask."""


def tasks(bench: Bench) -> Iterator[Observation]:
    """Tasks of one user, which another one asks for and looks for in the list.

    It takes tasks that still are there when their own user asks, and a second user who is served otherwise.
    """
    visitor, token = _stranger(bench)
    found = False
    for identifier, created, known in _created(bench):
        if not known.answers or known.error is not None:
            continue
        found = True
        visit = visitor.ask("tasks/get", {"taskId": identifier}, token)
        proof = (*created.proof, *visit.proof)
        yield Observation({"how": "asked for", "told": visit.served, "status": visit.status}, None, proof, visit.told)
        if isinstance(bench.session.era, Stateless):
            yield from _meddled(bench, visitor, token, known)
        if bench.survey.declares("tasks.list"):
            visit = visitor.ask("tasks/list", None, token)
            listed = elements(members(members(visit.response).get("result")).get("tasks"))
            told = any(members(task).get("taskId") == identifier for task in listed)
            proof = (*created.proof, *visit.proof)
            yield Observation({"how": "listed", "told": told, "status": visit.status}, None, proof, visit.told)
    visitor.leave(token)
    if not found:
        raise Unavailable("no tool that was called became a task that its own user could ask for")


def _meddled(bench: Bench, visitor: Visitor, token: str, known: Call) -> Iterator[Observation]:
    """What comes of a task, at work or waiting for input, that another user answers and cancels.

    An acknowledgment alone says nothing: what counts is what its own user sees of it afterwards.
    """
    seen, identifier = members(known.result), known.params["taskId"]
    answers = {
        key: bench.session.answers.plausible(str(members(asked).get("method")), members(asked).get("params"))
        for key, asked in members(seen.get("inputRequests")).items()
    }
    tries: list[tuple[str, str, dict[str, Json]]] = [("cancelled", "tasks/cancel", {})]
    if answers:
        tries.insert(0, ("answered", "tasks/update", {"inputResponses": answers}))
    for how, method, more in tries:
        before = members(bench.session.request("tasks/get", {"taskId": identifier}).result)
        if before.get("status") not in ("working", "input_required"):
            return
        visit = visitor.ask(method, {"taskId": identifier, **more}, token)
        after = bench.session.request("tasks/get", {"taskId": identifier})
        told = _moved(how, before, members(after.result))
        proof = (*visit.proof, *after.proof)
        yield Observation({"how": how, "told": told, "status": visit.status}, None, proof, visit.told)
        if told:
            return


def _moved(how: str, before: dict[str, Json], after: dict[str, Json]) -> bool:
    """Whether a task goes another way since it was meddled with."""
    if how == "cancelled":
        return after.get("status") == "cancelled"
    return "inputRequests" in before and bool(after) and after.get("inputRequests") != before["inputRequests"]


def states(bench: Bench) -> Iterator[Observation]:
    """The requestState that one user was given, in the retry of another one.

    It takes a tool whose retry comes to nothing without the state, and that the other user may call as well.
    """
    visitor, token = _stranger(bench)
    session, found = bench.session, False
    for first in [call for call in those_that_ask(bench) if has_state(call)][:FEW]:
        asked = {name: value for name, value in first.params.items() if name in ("name", "arguments")}
        answers = responses_to(session, first)
        bare = {**asked, "inputResponses": answers}
        if not _complete(visitor.ask("tools/call", asked, token).response, "input_required"):
            continue  # that user may not call it
        if _complete(visitor.ask("tools/call", bare, token).response, "complete"):
            continue  # the state is not needed
        visit = visitor.ask("tools/call", retried(first, answers), token)
        own = session.request("tools/call", retried(first, answers))
        if _complete({"result": own.result}, "complete"):
            found = True
            facts: dict[str, Json] = {"accepted": _complete(visit.response, "complete"), "status": visit.status}
            yield Observation(facts, None, (*first.proof, *visit.proof), visit.told)
    if not found:
        raise Unavailable("no tool that was called asks for input with a requestState that both users would need")


def _stranger(bench: Bench) -> tuple[Visitor, str]:
    """Another user, who is served. Raises Unavailable."""
    needed(bench)
    token = other(bench, "other-user")
    visitor = Visitor(bench, bench.web())
    if not visitor.open(token).served:
        raise Unavailable("the token of the other user is not accepted")
    return visitor, token


def _created(bench: Bench) -> Iterator[tuple[str, Call, Call]]:
    """Tasks: the id, the call that made it, and what its own user is told of it."""
    if isinstance(bench.session.era, Stateless):
        asking = False
        for number, task in enumerate(task_extension.tasks(bench)):
            known = task_extension.look(bench, task) if number < FEW or not asking else None
            for _ in range(LOOKS if number and not asking else 0):  # the first is to be met at work
                if task.status == "working":
                    known = task_extension.look(bench, task)
            asking |= task.status == "input_required"
            if known is not None and (number < FEW or task.status == "input_required"):
                yield task.identifier, task.created, known
        return
    for number, (tool, params) in enumerate(tasks_of_old.task_calls(bench)):
        run = tasks_of_old.begin(bench, tool, params) if number < FEW else None
        if run is not None:
            yield run.identifier, run.created, tasks_of_old.look(bench, run)
            tasks_of_old.abandon(bench, run)


def _complete(response: Json, kind: str) -> bool:
    """Whether a response has a result of that type, and no failure of the tool."""
    result = members(members(response).get("result"))
    return bool(result) and result.get("resultType") == kind and result.get("isError") is not True
