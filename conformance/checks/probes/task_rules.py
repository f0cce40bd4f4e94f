"""Probes of the area tasks in 2025-11-25: cancelling, listing, and asking for input."""

from __future__ import annotations

import time

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.askers import is_question
from conformance.checks.probes.outcome import answered, shown
from conformance.checks.probes.tasks import Run, abandon, begin, look, rest, task_calls
from conformance.model import Frame, Severity
from conformance.session.answers import CAPABILITY
from conformance.session.client_tasks import RELATED, related_task
from conformance.session.session import Call, encode
from conformance.survey.survey import Unavailable, walk

SEVERAL = 6
"""Tasks that are made to be listed."""
FEW = 2

MOVES = "tasks/cancel-moves-to-cancelled"
COMPLETE = "tasks/list-complete"
CURSOR = "tasks/list-next-cursor"
STATUS = "tasks/input-required-status-used"
INPUT = "tasks/input-requests-name-task"


@probe("tasks.cancel", MOVES)
def cancel(bench: Bench) -> None:
    """A task, cancelled as soon as it is there; afterwards it is watched for a while, which an invariant judges.

    It goes from tool to tool until a task is still under way, and then asks for as long as a server may take.
    """
    for tool, params in task_calls(bench):
        run = begin(bench, tool, params)
        if run is None:
            continue
        call = bench.session.request("tasks/cancel", {"taskId": run.identifier})
        if not answered(bench, call, MOVES):
            return
        if call.error is not None:
            continue  # it was over already, or is said to be
        status = call.result.get("status") if isinstance(call.result, dict) else None
        if status in ("completed", "failed"):
            continue  # as well, and accepting it then is judged elsewhere
        get = look(bench, run)
        if status != "cancelled":
            later = isinstance(get.result, dict) and get.result.get("status") == "cancelled"
            bench.ledger.broke(
                MOVES,
                "a task that is cancelled has another status in the answer",
                expected='the status "cancelled"',
                actual=shown(call),
                frames=(*call.proof, *get.proof),
                ceiling=Severity.WARNING if later else None,
            )
            return
        bench.ledger.held(MOVES)
        deadline = time.monotonic() + bench.session.limits.quiet
        while time.monotonic() < deadline and get.error is None and bench.session.alive:
            rest(bench, run)
            get = look(bench, run)
        return
    raise Unavailable("no tool that may be called as a task takes long enough to be cancelled")


@probe("tasks.several", COMPLETE, CURSOR)
def several(bench: Bench) -> None:
    """Several tasks of one tool, and the list over all its pages.

    It compares the list with all tasks of the session, and finds out where those that are missing would stand.
    """
    tool, params = next(task_calls(bench))
    runs = [run for run in (begin(bench, tool, params) for _ in range(SEVERAL)) if run is not None]
    if len(runs) < SEVERAL:
        raise Unavailable(f"the tool {tool.get('name')!r} does not run as a task {SEVERAL} times")
    _judge_list(bench)


def _judge_list(bench: Bench) -> None:
    """All tasks of the session that can still be had, against the list over all its pages."""
    pages = list(walk(bench.session, "tasks/list", "tasks"))
    if not all(answered(bench, call, COMPLETE, CURSOR) and call.error is None for call, _ in pages):
        bench.ledger.inconclusive(COMPLETE, "tasks/list cannot be walked to its end")
        bench.ledger.inconclusive(CURSOR, "tasks/list cannot be walked to its end")
        return
    if not all(isinstance(call.result.get("tasks"), list) for call, _ in pages):
        bench.ledger.block(COMPLETE, "tasks/list-shape")
        bench.ledger.block(CURSOR, "tasks/list-shape")
        return
    listed = {str(task.get("taskId")) for _, page in pages for task in page}
    known = [
        call.result["task"]["taskId"]
        for call in bench.session.calls.values()
        if call.method == "tools/call" and isinstance(call.result, dict) and isinstance(call.result.get("task"), dict)
    ]
    missing: list[tuple[str, Call]] = []
    for identifier in known:
        if identifier not in listed:
            call = bench.session.request("tasks/get", {"taskId": identifier})
            if isinstance(call.result, dict):
                missing.append((identifier, call))
    if not missing:
        bench.ledger.held(COMPLETE)
        if len(pages) > 1:
            bench.ledger.held(CURSOR)
        else:
            bench.ledger.inconclusive(CURSOR, "all tasks fit on one page of tasks/list")
        return
    # Tasks that are missing at one end of the line look like pages that cannot be reached.
    names = [identifier for identifier, _ in missing]
    cut = len(pages) == 1 and bool(listed) and names in (known[: len(names)], known[-len(names) :])
    bench.ledger.broke(
        CURSOR if cut else COMPLETE,
        "tasks/list ends without a nextCursor before all tasks are listed"
        if cut
        else "a task that tasks/get finds is not in tasks/list",
        expected=f"{len(known)} tasks or more",
        actual=f"{len(listed)} tasks, without {names[0]!r}",
        frames=(*pages[-1][0].proof, *missing[0][1].proof),
    )
    bench.ledger.block(COMPLETE if cut else CURSOR, CURSOR if cut else COMPLETE)


@probe("tasks.asking", STATUS, INPUT)
def asking(bench: Bench) -> None:
    """Tools that ask the client, run as tasks: what they ask names the task, which waits as input_required.

    It asks for the status until a question comes, holds the answer back, and gives it later.
    """
    asked = 0
    session = bench.session
    for tool, params in task_calls(bench):
        start = session.position
        session.answers.held.update(CAPABILITY)
        try:
            run = begin(bench, tool, params)
            if run is None:
                continue
            request = _await_question(bench, run, start)
        finally:
            session.answers.held.difference_update(CAPABILITY)
        if request is not None:
            asked += 1
            _judge_question(bench, run, request)
            _answer(bench, request)
        _let_end(bench, run)
        if asked == FEW or not session.alive:
            break
    if not asked:
        raise Unavailable("no tool that was called as a task asks the client for anything")


def _await_question(bench: Bench, run: Run, start: int) -> Frame | None:
    """Poll until the server asks something, fetching the result once the status calls for it; None if it never does."""
    session = bench.session
    deadline = time.monotonic() + session.limits.answer
    while session.alive and time.monotonic() < deadline:
        get = look(bench, run)
        request = next((frame for frame in session.since(start) if _asks(frame)), None)
        if request is not None:
            look(bench, run)  # the status while it waits
            if run.status == "working":
                rest(bench, run)
                look(bench, run)
            return request
        if run.over or not isinstance(get.result, dict):
            return None
        if run.status == "input_required" and run.fetch is None:
            run.fetch = session.send("tasks/result", {"taskId": run.identifier})
        rest(bench, run)
    return None


def _asks(frame: Frame) -> bool:
    if not is_question(frame):
        return False
    message = frame.message
    # For the roots a server may ask by itself: those are asked for by the task only if they name it.
    return message["method"] != "roots/list" or related_task(message.get("params")) is not None


def _judge_question(bench: Bench, run: Run, request: Frame) -> None:
    named = related_task(request.message.get("params"))
    if isinstance(named, dict) and named.get("taskId") == run.identifier:
        bench.ledger.held(INPUT)
    else:
        bench.ledger.broke(
            INPUT,
            f"the {request.message['method']} of a task does not name it",
            expected=f"_meta {RELATED} with taskId {run.identifier!r}",
            actual=encode(request.message).decode("utf-8", "replace")[:300],
            frames=(*run.created.proof, request),
        )
    if any(isinstance(get.result, dict) and get.result.get("status") == "input_required" for get in run.gets):
        bench.ledger.held(STATUS)
    elif run.status == "working":
        bench.ledger.broke(
            STATUS,
            "a task that waits for an answer of the client is working",
            expected='the status "input_required"',
            actual=shown(run.gets[-1]),
            frames=(*run.created.proof, request, *run.gets[-1].proof),
        )
    else:
        bench.ledger.inconclusive(STATUS, f"the task was {run.status} before its status could be asked for")


def _answer(bench: Bench, request: Frame) -> None:
    """Answer a request that was held back."""
    reply = bench.session.answers.reply(request.message["method"], request.message.get("params"))
    if reply is not None and bench.session.alive:
        bench.session.raw(encode({"jsonrpc": "2.0", "id": request.message["id"], **reply}), illegal=False)


def _let_end(bench: Bench, run: Run) -> None:
    """Follow a task to its end, as long as that takes no longer than an answer may."""
    session = bench.session
    deadline = time.monotonic() + session.limits.answer
    while session.alive and time.monotonic() < deadline and not run.over:
        if not isinstance(look(bench, run).result, dict):
            return
        rest(bench, run)
    if run.fetch is not None and run.over:
        session.wait(run.fetch)
    if not run.over:
        abandon(bench, run)
