"""Probes of servers that run their own requests as tasks of the client, in 2025-11-25."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import callable_tools, soon
from conformance.model import Json
from conformance.session.client_tasks import TERMINAL, ClientTask
from conformance.session.messages import is_id
from conformance.session.session import Call
from conformance.survey.survey import Unavailable, walk

INTERVAL = 50
"""The pollInterval that the server is told, in milliseconds."""
SLICE = 0.02
PATIENT = 4
"""How often a server may ask for the status of a task that needs input before it counts as not fetching."""
NOBODY = "the tools that were called create no task on the client"


def requestor(bench: Bench) -> Iterator[Observation]:
    """Each tool that may be called, by a client that offers tasks; those that use them again in other situations.

    It finds out which tools create tasks, and plays the tasks: a course of statuses, with notifications or without.
    """
    augmenting: list[Json] = []
    # Some servers offer tools that need the client only to a client that can do what they need.
    offered = tuple(tool for _, page in walk(bench.session, "tools/list", "tools") for tool in page)
    deadline = time.monotonic() + 2 * bench.session.limits.answer
    start = bench.session.position
    for _tool, params in callable_tools(replace(bench, survey=replace(bench.survey, tools=offered))):
        if not bench.session.alive or time.monotonic() > deadline:
            break
        task, call = _call(bench, params, ("working", "working", "completed"), lambda task: False)
        if _nameless(bench, start):
            break
        if task is not None:
            augmenting.append(params)
            yield _polling(bench, params, task, call)
    for params in augmenting[:1]:
        yield from _input(bench, params)
        _cancel(bench, params)
    if not augmenting:
        raise Unavailable("the tools that were called create no task on the client")


def _nameless(bench: Bench, start: int) -> bool:
    """Whether the server asks in requests without a valid id, which cannot be answered so that it understands."""
    heard = [frame.message for frame in bench.session.since(start) if frame.origin == "target"]
    return any(isinstance(each, dict) and "method" in each and "id" in each and not is_id(each["id"]) for each in heard)


def _call(
    bench: Bench, params: Json, course: tuple[str, ...], stop: Callable[[ClientTask], bool]
) -> tuple[ClientTask | None, Call]:
    """Call a tool, and wait for its answer or until `stop`; the first task that it creates on the client, if any."""
    session, tasks = bench.session, bench.session.answers.tasks
    tasks.course, tasks.interval = course, INTERVAL
    before = len(tasks.tasks)
    call = session.send("tools/call", params)
    began = time.monotonic()
    while session.alive and not call.done:
        task = tasks.tasks[before] if len(tasks.tasks) > before else None
        if task is not None and stop(task):
            break
        if time.monotonic() - began > (soon(session) if task is None else session.limits.answer):
            break
        session.listen(SLICE, until=lambda: call.done)
    return (tasks.tasks[before] if len(tasks.tasks) > before else None), call


def _polling(bench: Bench, params: Json, task: ClientTask, call: Call) -> Observation:
    """How the server followed `task`, which the tool had created that `call` called with `params`."""
    if not call.answers:
        return Observation({"about": "polling", "ended": False}, frames=call.proof)
    if not (task.fetched or task.cancelled or task.shown in TERMINAL):
        return _told(bench, params, call)
    least = len(task.asked) * INTERVAL / 1000 / 2
    took = task.asked[-1] - task.created if task.asked else 0.0
    values = {"about": "polling", "ended": True, "follows": "by itself", "keeps-interval": took >= least}
    actual = f"it took {took * 1000:.0f} ms for {len(task.asked)} of them"
    return Observation(values, frames=call.proof, actual=actual)


def _told(bench: Bench, params: Json, call: Call) -> Observation:
    """The server let go of its task: does it at least follow one of whose end it is told, each time?"""
    tasks = bench.session.answers.tasks
    told: list[ClientTask] = []

    def tell(task: ClientTask) -> bool:
        if not told:
            task.status = "completed"
            bench.session.notify("notifications/tasks/status", tasks.shown(task))
            told.append(task)
        return False

    task, again = _call(bench, params, ("completed",), tell)
    values: dict[str, Json] = {"about": "polling", "ended": True}
    if task is None or not task.fetched:
        return Observation({**values, "follows": "never"}, frames=call.proof, actual="the tool ended before the task")
    silent, _ = _call(bench, params, ("working", "working", "completed"), lambda task: False)
    follows = silent is None or silent.fetched or silent.shown in TERMINAL
    return Observation(
        {**values, "follows": "by chance" if follows else "when told"},
        frames=(*call.proof, *again.proof),
        actual="neither, until the notification came",
    )


def _input(bench: Bench, params: Json) -> Iterator[Observation]:
    """A task that says that it needs input: its result is to be asked for."""
    tasks = bench.session.answers.tasks
    task, call = _call(bench, params, ("input_required",), lambda task: task.asked_since_input >= PATIENT)
    tasks.course = ("completed",)
    bench.session.wait(call)
    if task is None or not (task.asked or task.fetched):
        return
    fetches = task.fetched_for_input or (task.fetched and task.shown == "working")
    actual = f"{task.asked_since_input} times tasks/get instead"
    yield Observation({"about": "input", "fetches": fetches}, frames=call.proof, actual=actual)


def _cancel(bench: Bench, params: Json) -> None:
    """A tool that is cancelled while it waits for its task. What the server sends then is an invariant's to judge."""
    session = bench.session
    task, call = _call(bench, params, ("working",), lambda task: bool(task.asked or task.fetched))
    if task is None or call.done:  # a server that has not asked for the task need not know that there is one
        return
    start = session.position
    call.excused = True  # what is cancelled need not be answered
    session.notify("notifications/cancelled", {"requestId": call.id, "reason": "a test"})
    session.listen(
        max(1.0, session.limits.quiet),
        until=lambda: (
            task.cancelled
            or any(
                frame.origin == "target"
                and isinstance(frame.message, dict)
                and frame.message.get("method") == "notifications/cancelled"
                for frame in session.since(start)
            )
        ),
    )
    session.answers.tasks.course = ("completed",)
