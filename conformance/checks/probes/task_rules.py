"""Probes of the area tasks in 2025-11-25: cancelling, listing, and asking for input."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import replace

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.askers import is_question
from conformance.checks.probes.calls import soon
from conformance.checks.probes.observed import TOO_SLOW
from conformance.checks.probes.outcome import shown
from conformance.checks.probes.tasks import (
    SLOW,
    TaskRun,
    abandon,
    as_task,
    begin,
    ill_formed,
    look,
    rest,
    run_of,
    task_calls,
)
from conformance.model import Frame, Json, members
from conformance.session.answers import CAPABILITY
from conformance.session.client_tasks import related_task
from conformance.session.session import Call, Session, encode
from conformance.survey.survey import Unavailable, walk

SEVERAL = 6
"""Tasks that are made to be listed."""
FEW = 2

ENDED = ("completed", "failed")
"""What a task may be that ends by itself."""

LINGER, LONGER = 1.0, 1.2
"""A cancelled task is watched for so many seconds, or so many times as long as one took that was left alone."""


def cancel(bench: Bench) -> Iterator[Observation]:
    """A task, cancelled as soon as it is there; afterwards it is watched for a while, which an invariant judges.

    It goes from tool to tool until a task is still under way, and then asks for as long as a server may take. At the
    end it cancels the task once more and fetches its result, and cancels a second one for whose result it waits.
    """
    ended: list[tuple[Json, Json]] = []
    for tool, params in task_calls(bench):
        run = begin(bench, tool, params)
        if run is None:
            continue
        call = bench.session.request("tasks/cancel", {"taskId": run.identifier})
        if not call.answers:
            yield Observation({"about": "status"}, call)
            return
        if call.error is not None:
            continue  # it was over already, or is said to be
        status = _status(call)
        if status in ENDED:
            ended.append((tool, params))
            continue  # as well, and accepting it then is judged elsewhere
        get = look(bench, run)
        later = _status(get) == "cancelled"
        yield Observation({"about": "status", "cancelled-later": later}, call, frames=(*call.proof, *get.proof))
        if status != "cancelled":
            return
        heard = yield from _waited_for(bench, tool, params)
        deadline = time.monotonic() + max(bench.session.limits.quiet, _longest(bench))
        while time.monotonic() < deadline and get.error is None and bench.session.alive:
            rest(bench, run)
            get = look(bench, run)
        if _status(get) == "cancelled" and bench.session.alive:
            yield from _over(bench, run, heard)
        return
    for tool, params in ended:
        if seen := list(_ended_instead(bench, tool, params)):
            yield from seen
            return
    raise Unavailable("no tool that may be called as a task takes long enough to be cancelled")


def _status(call: Call) -> Json:
    return members(call.result).get("status")


def _over(bench: Bench, run: TaskRun, fetched: bool) -> Iterator[Observation]:
    """A task that was cancelled: whether it can be cancelled again, and if `fetched` what its result is."""
    yield Observation({"about": "again"}, bench.session.request("tasks/cancel", {"taskId": run.identifier}))
    if not fetched or not bench.session.alive:
        return
    fetch = bench.session.send("tasks/result", {"taskId": run.identifier})
    if not bench.session.wait(fetch):
        bench.session.give_up(fetch)  # the case tells of it
    problem = ill_formed(fetch.result) if isinstance(fetch.result, dict) else ""
    if bench.session.alive and _status(look(bench, run)) == "cancelled":  # else it is gone, and may be
        facts: dict[str, Json] = {"about": "result", "answered": bool(fetch.answers), "problem": problem}
        yield Observation(facts, fetch, fetch.proof, f"{problem}: {shown(fetch)}" if problem else shown(fetch))


def _waited_for(bench: Bench, tool: Json, params: Json) -> Generator[Observation, None, bool]:
    """Two tasks more, of which one is cancelled while a request waits for its result: whether that is answered."""
    session = bench.session
    other, run = begin(bench, tool, params), begin(bench, tool, params)
    if run is None or other is None or len(set(_created(session))) < len(_created(session)):
        return True  # which of two tasks with one id is told of, nobody knows
    fetch = session.send("tasks/result", {"taskId": run.identifier})
    call = session.request("tasks/cancel", {"taskId": run.identifier})
    heard = True
    if call.error is None and call.answers:
        get = look(bench, other)
        if get.answers:
            ended = _status(get) == "cancelled"
            yield Observation({"about": "another", "ended": ended}, get, frames=(*call.proof, *get.proof))
        session.wait(fetch)
        heard = bool(fetch.answers)
        proof = tuple(sorted((*fetch.proof, *call.proof), key=lambda frame: frame.number))
        if session.alive:
            yield Observation({"about": "waiting", "answered": heard}, fetch, proof, shown(fetch))
    session.give_up(fetch)
    if session.alive and bench.survey.declares("tasks.list") and begin(bench, tool, params) is not None:
        seen = _listed(bench)  # with tasks that are under way among those that were cancelled
        yield replace(seen, values={"about": "list", **seen.values})
    if session.alive and not other.over:
        abandon(bench, other)
    return heard


def _ended_instead(bench: Bench, tool: Json, params: Json) -> Iterator[Observation]:
    """A task that is at work, but said to be over as soon as it is cancelled: told only if it takes long by itself."""
    alone, began = begin(bench, tool, params), time.monotonic()
    if alone is None:
        return
    _let_end(bench, alone)
    run = begin(bench, tool, params) if alone.over and time.monotonic() - began > SLOW else None
    if run is None or _status(look(bench, run)) != "working":
        return
    call = bench.session.request("tasks/cancel", {"taskId": run.identifier})
    if _status(call) in ENDED:
        yield Observation({"about": "status"}, call, frames=(*run.gets[-1].proof, *call.proof))


def fetched_twice(bench: Bench) -> Iterator[Observation]:
    """A task that two requests for its result wait for at the same time, once it has come to its end.

    It goes from tool to tool until a task is still under way when both wait.
    """
    session = bench.session
    deadline = time.monotonic() + session.limits.answer
    for tool, params in task_calls(bench):
        run = begin(bench, tool, params) if session.alive and time.monotonic() < deadline else None
        if run is None:
            continue
        fetches = [session.send("tasks/result", {"taskId": run.identifier}) for _ in range(2)]
        looks = 0
        while look(bench, run).result is not None and not run.over and time.monotonic() < deadline:
            rest(bench, run)
            looks += 1
        if run.over and looks:
            session.wait(*fetches)
            yield _fetched(session, fetches)
            return
        for fetch in fetches:
            session.give_up(fetch)
        if not run.over:
            abandon(bench, run)
    raise Unavailable("no tool that may be called as a task takes long enough, and comes to its end in time")


def _fetched(session: Session, fetches: list[Call]) -> Observation:
    answered = [call for call in fetches if call.answers]
    lost = [call for call in fetches if not call.answers]
    for call in lost:
        session.give_up(call)  # the case tells of it
    refused = [call for call in answered if call.error is not None]
    facts: dict[str, Json] = {"answered": len(answered), "refused": len(refused)}
    shows = (*refused, *lost, *answered)
    proof = (*fetches[0].proof, *fetches[1].proof)
    return Observation(facts, shows[0], tuple(sorted(proof, key=lambda frame: frame.number)), shown(shows[0]))


def _longest(bench: Bench) -> float:
    """Seconds after which a tool that was not stopped would have ended, by what tasks of the session took before."""
    fetches = [call for call in bench.session.calls.values() if call.method == "tasks/result" and call.answers]
    took = [call.answers[0].at - call.sent.at for call in fetches]
    return max(LINGER, min(TOO_SLOW, LONGER * max(took, default=0.0)))


def several(bench: Bench) -> Iterator[Observation]:
    """Several tasks of one tool, and the list over all its pages.

    It compares the list with all tasks of the session, of which one at least has come to its end if the tool is quick,
    and finds out where those that are missing would stand.
    """
    tool, params = next(task_calls(bench))
    runs = [run for run in (begin(bench, tool, params) for _ in range(SEVERAL)) if run is not None]
    if len(runs) < SEVERAL:
        raise Unavailable(f"the tool {tool.get('name')!r} does not run as a task {SEVERAL} times")
    _let_end_soon(bench, runs[SEVERAL // 2])
    yield _listed(bench)


def _let_end_soon(bench: Bench, run: TaskRun) -> None:
    """Wait for the end of a task, if it is quick: one that is over belongs in the list as well."""
    deadline = time.monotonic() + soon(bench.session)
    while time.monotonic() < deadline and bench.session.alive:
        get = look(bench, run)
        if not isinstance(get.result, dict) or get.result.get("status") != "working":
            return
        rest(bench, run)


def _listed(bench: Bench) -> Observation:
    """All tasks of the session that can still be had, against the list over all its pages."""
    pages = list(walk(bench.session, "tasks/list", "tasks"))
    refused = next((call for call, _ in pages if not call.answers or call.error is not None), None)
    if refused is not None:
        return Observation({"read-to-its-end": False}, refused)
    if not all(isinstance(call.result, dict) and isinstance(call.result.get("tasks"), list) for call, _ in pages):
        return Observation({"read-to-its-end": True, "has-tasks": False}, pages[-1][0])
    listed = {str(task.get("taskId")) for _, page in pages for task in page}
    known = _created(bench.session)
    missing: list[tuple[str, Call]] = []
    for identifier in known:
        if identifier not in listed:
            call = bench.session.request("tasks/get", {"taskId": identifier})
            if isinstance(call.result, dict):
                missing.append((identifier, call))
    names = [identifier for identifier, _ in missing]
    values: dict[str, Json] = {
        "read-to-its-end": True,
        "has-tasks": True,
        "pages": len(pages),
        "known": len(known),
        "missing": names,
        # Tasks that are missing at one end of the line look like pages that cannot be reached.
        "missing-at-one-end": bool(listed and names) and names in (known[: len(names)], known[-len(names) :]),
    }
    proof = (*pages[-1][0].proof, *(frame for _, call in missing[:1] for frame in call.proof))
    actual = f"{len(listed)} tasks, without {names[0]!r}" if names else ""
    return Observation(values, pages[-1][0], proof, actual)


def _created(session: Session) -> list[str]:
    """The ids of all tasks of the session."""
    made = (members(call.result).get("task") for call in session.calls.values() if call.method == "tools/call")
    ids = (members(task).get("taskId") for task in made)
    return [identifier for identifier in ids if isinstance(identifier, str)]


def others(bench: Bench) -> Iterator[Observation]:
    """Two clients that have nothing to tell them apart but their sessions: whether one lists the tasks of the other.

    It opens the sessions, and reads the list to its end.
    """
    if not bench.session.anonymous:
        raise Unavailable("with the headers of the target both clients are one user, who may see all of his tasks")
    ours, other = (bench.connect(shared=True) for _ in range(2))
    for tool, params in task_calls(bench):
        run = begin(replace(bench, session=ours), tool, params)
        if run is None:
            continue
        pages = list(walk(other, "tasks/list", "tasks"))
        last = pages[-1][0]
        shown = any(task.get("taskId") == run.identifier for _, page in pages for task in page)
        yield Observation({"shown": shown}, last, frames=(*run.created.proof, *last.proof))
        return
    raise Unavailable("no tool that was called as a task runs as one")


def asking(bench: Bench) -> Iterator[Observation]:
    """Tools that ask the client, run as tasks: what they ask names the task, which waits as input_required.

    It asks for the status until a question comes, holds the answer back, and gives it later.
    """
    asked = 0
    session = bench.session
    for tool, params in task_calls(bench):
        start = session.position
        session.answers.held.update(CAPABILITY)
        try:
            run = _begin_asking(bench, tool, params)
            request = _await_question(bench, run, start) if run is not None else None
        finally:
            session.answers.held.difference_update(CAPABILITY)
        if run is None:
            continue
        if run.fetch is not None and run.fetch.answers:
            look(bench, run)
            if run.status == "input_required":
                yield Observation({"about": "early", "task": run.identifier}, run.fetch)
        if request is not None:
            asked += 1
            yield from _observed(run, request)
            _answer(bench, request)
        if request is None and run.status == "input_required" and run.fetch is not None and run.fetch.answers:
            abandon(bench, run)  # it asks for nothing, so that it does not end
        else:
            _let_end(bench, run)
        if asked == FEW or not session.alive:
            break
    if not asked:
        raise Unavailable("no tool that was called as a task asks the client for anything")


def _begin_asking(bench: Bench, tool: Json, params: Json) -> TaskRun | None:
    """Call a tool as a task; None if none came of it. One that asks in the call itself gets its answers."""
    session, began, start = bench.session, time.monotonic(), bench.session.position
    call = session.send("tools/call", as_task(params))
    session.wait(call, until=lambda: _question(session, start) is not None)
    if not call.answers and session.alive and not session.wait(call, timeout=soon(session)):
        request = _question(session, start)
        session.answers.held.difference_update(CAPABILITY)
        if request is not None:
            _answer(bench, request)
            session.wait(call)
    return run_of(tool, call, began)


def _question(session: Session, start: int) -> Frame | None:
    """The first question that came since frame `start`."""
    return next((frame for frame in session.since(start) if _asks(frame)), None)


def _await_question(bench: Bench, run: TaskRun, start: int) -> Frame | None:
    """Poll until the server asks something, fetching the result once the status calls for it; None if it never does."""
    session = bench.session
    deadline = time.monotonic() + session.limits.answer
    while session.alive and time.monotonic() < deadline:
        get = look(bench, run)
        request = _question(session, start)
        if request is not None:
            look(bench, run)  # the status while it waits
            if run.status == "working":
                rest(bench, run)
                look(bench, run)
            return request
        if run.over or not isinstance(get.result, dict) or (run.fetch is not None and run.fetch.answers):
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


def _observed(run: TaskRun, request: Frame) -> Iterator[Observation]:
    """What the server asked for a task, and the status of the task meanwhile."""
    message = request.message
    related = related_task(message.get("params"))
    proof = (*run.created.proof, request)
    values = {"about": "question", "task": run.identifier, "method": message["method"], "related-task": related}
    yield Observation(values, frames=proof, actual=encode(message).decode("utf-8", "replace")[:300])
    waits = any(isinstance(get.result, dict) and get.result.get("status") == "input_required" for get in run.gets)
    values = {"about": "status", "status": "input_required" if waits else run.status}
    yield Observation(values, frames=(*proof, *run.gets[-1].proof), actual=shown(run.gets[-1]))


def _answer(bench: Bench, request: Frame) -> None:
    """Answer a request that was held back."""
    reply = bench.session.answers.reply(request.message["method"], request.message.get("params"))
    if reply is not None and bench.session.alive:
        bench.session.raw(encode({"jsonrpc": "2.0", "id": request.message["id"], **reply}), illegal=False)


def _let_end(bench: Bench, run: TaskRun) -> None:
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
