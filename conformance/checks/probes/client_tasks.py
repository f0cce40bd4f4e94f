"""Probes of servers that run their own requests as tasks of the client, in 2025-11-25."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.calls import callable_tools, soon
from conformance.model import Json, Severity
from conformance.session.client_tasks import TERMINAL, ClientTask
from conformance.session.messages import is_id
from conformance.session.session import Call
from conformance.survey.survey import walk

POLLS = "tasks/requestor-polls"
INDEPENDENT = "tasks/requestor-independent-of-notifications"
FETCHES = "tasks/requestor-fetches-on-input-required"
CANCELS = "cancellation/tasks-cancelled-by-tasks-cancel"
CURSORS = "tasks/requestor-cursors-opaque"
WITHOUT = "tasks/requestor-without-related-meta"
REQUESTOR = (POLLS, INDEPENDENT, FETCHES, CANCELS, CURSORS, WITHOUT)

INTERVAL = 50
"""The pollInterval that the server is told, in milliseconds."""
SLICE = 0.02
PATIENT = 4
"""How often a server may ask for the status of a task that needs input before it counts as not fetching."""
NOBODY = "the tools that were called create no task on the client"


@probe("tasks.requestor", *REQUESTOR)
def requestor(bench: Bench) -> None:
    """Each tool that may be called, by a client that offers tasks; those that use them again in other situations."""
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
            _judge_polling(bench, params, task, call)
    for params in augmenting[:1]:
        _input(bench, params)
        _cancel(bench, params)
    for requirement in REQUESTOR:
        bench.ledger.inconclusive(requirement, NOBODY if not augmenting else "the server did not get so far")


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


def _judge_polling(bench: Bench, params: Json, task: ClientTask, call: Call) -> None:
    ledger = bench.ledger
    if not call.answers:
        ledger.inconclusive(POLLS, "the tool that created a task did not end in time")
        return
    if not (task.fetched or task.cancelled or task.shown in TERMINAL):
        _judge_silence(bench, params, call)
        return
    ledger.held(INDEPENDENT)
    least = len(task.asked) * INTERVAL / 1000 / 2
    took = task.asked[-1] - task.created if task.asked else 0.0
    if took >= least:
        ledger.held(POLLS)
        return
    ledger.broke(
        POLLS,
        "the server polls a task of the client faster than it was asked to",
        expected=f"at most one tasks/get in {INTERVAL} ms, the pollInterval",
        actual=f"it took {took * 1000:.0f} ms for {len(task.asked)} of them",
        frames=call.proof,
    )


def _judge_silence(bench: Bench, params: Json, call: Call) -> None:
    """The server let go of its task: does it at least when it is told of the end?"""
    tasks = bench.session.answers.tasks
    told: list[ClientTask] = []

    def tell(task: ClientTask) -> bool:
        if not told:
            task.status = "completed"
            bench.session.notify("notifications/tasks/status", tasks.shown(task))
            told.append(task)
        return False

    task, again = _call(bench, params, ("completed",), tell)
    if task is not None and task.fetched:
        silent, _ = _call(bench, params, ("working", "working", "completed"), lambda task: False)
        if silent is None or silent.fetched or silent.shown in TERMINAL:
            bench.ledger.inconclusive(INDEPENDENT, "whether the server asks for its task is a matter of chance")
            return
        bench.ledger.broke(
            INDEPENDENT,
            "the server fetches the result of its task only when it is told that there is one",
            expected="tasks/get or tasks/result also without notifications/tasks/status",
            actual="neither, until the notification came",
            frames=(*call.proof, *again.proof),
        )
        bench.ledger.block(POLLS, INDEPENDENT)
        return
    bench.ledger.broke(
        POLLS,
        "the server lets go of a task that it created",
        expected="tasks/get until the task has ended, or tasks/result",
        actual="the tool ended before the task",
        frames=call.proof,
    )


def _input(bench: Bench, params: Json) -> None:
    """A task that says that it needs input: its result is to be asked for."""
    tasks = bench.session.answers.tasks
    task, call = _call(bench, params, ("input_required",), lambda task: task.asked_since_input >= PATIENT)
    tasks.course = ("completed",)
    bench.session.wait(call)
    if task is None or not (task.asked or task.fetched):
        return
    if task.fetched_for_input or (task.fetched and task.shown == "working"):
        bench.ledger.held(FETCHES)
        return
    bench.ledger.broke(
        FETCHES,
        "the server does not call tasks/result for a task that is input_required",
        expected="tasks/result",
        actual=f"{task.asked_since_input} times tasks/get instead",
        frames=(call.sent, *call.answers),
        ceiling=Severity.WARNING,
    )


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
