"""Probes of the area tasks in 2025-11-25: the life of a task from its creation to its result."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import is_number
from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import call_quickly, cancel, without_meta
from conformance.checks.probes.outcome import code_of, shown
from conformance.model import Frame, Json, members
from conformance.session.client_tasks import RELATED, TERMINAL
from conformance.session.session import Call, id_key
from conformance.survey.survey import Unavailable, task_support
from conformance.validation.wire_schemas import for_revision

REVISION = "2025-11-25"
TTL = 600_000
MAX_TOOLS = 8
UNDER_WAY = ("working", "input_required")
NEARLY = 0.7
"""The part of a plain call's time from which on a task counts as created when the tool was done."""
SLOW = 0.15
"""Seconds that a tool must take beyond any answer before it can be told whether its task was answered early."""

LONG = 60.0
"""Seconds that no task is followed for."""

NONE = "no tool that may be called runs as a task; allow one with --call-tool"


@dataclass(slots=True)
class TaskRun:
    """One tool run as a task: the calls about it, in order, and how long its creation took in seconds."""

    tool: Json
    created: Call
    identifier: str
    seconds: float
    fetch: Call | None = None
    gets: list[Call] = field(default_factory=list)

    @property
    def status(self) -> Json:
        """The last status that was seen, or the end: what comes after that is an invariant's to judge."""
        seen = [get.result.get("status") for get in self.gets if isinstance(get.result, dict)]
        end = next((status for status in seen if status in TERMINAL), None)
        return end or (seen[-1] if seen else self.created.result["task"].get("status"))

    @property
    def over(self) -> bool:
        """Whether it has been seen at its end."""
        return self.status in TERMINAL


def task_calls(bench: Bench) -> Iterator[tuple[Json, Json]]:
    """Tools that may be called as tasks, each with the params of a good call. Raises Unavailable if there is none."""
    found = 0
    for tool in bench.survey.task_tools:
        try:
            arguments = bench.survey.arguments_for(tool)
        except Unavailable:
            continue
        found += 1
        if found > MAX_TOOLS:
            return
        yield tool, {"name": tool.get("name"), "arguments": arguments}
    if not found:
        raise Unavailable(NONE)


def begin(bench: Bench, tool: Json, params: Json) -> TaskRun | None:
    """Call a tool as a task; None if no task came of it."""
    began = time.monotonic()
    return run_of(tool, bench.session.request("tools/call", as_task(params)), began)


def as_task(params: Json) -> dict[str, Json]:
    """Params of a call that is to become a task."""
    return {**params, "task": {"ttl": TTL}}


def run_of(tool: Json, call: Call, began: float) -> TaskRun | None:
    """What came of such a call, which was made at that time of the monotonic clock."""
    identifier = members(members(call.result).get("task")).get("taskId")
    return TaskRun(tool, call, identifier, time.monotonic() - began) if isinstance(identifier, str) else None


def look(bench: Bench, run: TaskRun) -> Call:
    """Ask for the status."""
    get = bench.session.request("tasks/get", {"taskId": run.identifier})
    run.gets.append(get)
    return get


def rest(bench: Bench, run: TaskRun) -> None:
    """Wait as long as the server wants between two questions, at most a second."""
    task = run.gets[-1].result if run.gets and isinstance(run.gets[-1].result, dict) else run.created.result["task"]
    interval = task.get("pollInterval")
    if not isinstance(interval, (int, float)):
        interval = 50
    bench.session.listen(min(1.0, max(0.01, interval / 1000)))


def abandon(bench: Bench, run: TaskRun) -> None:
    """Leave no task behind that nobody wants any more."""
    if bench.survey.declares("tasks.cancel") and bench.session.alive:
        bench.session.request("tasks/cancel", {"taskId": run.identifier})
    if run.fetch is not None and not run.fetch.done:
        run.fetch.excused = True
        cancel(bench.session, run.fetch)


def life(bench: Bench) -> Iterator[Observation]:
    """Each tool that may be called as a task: created, followed to its end, its result fetched.

    It asks until the task is over, and compares time and talk with those of plain calls.
    """
    deadline = time.monotonic() + 2 * bench.session.limits.answer
    why, ended = "no tool that was called as a task has come to its end in time", list[TaskRun]()
    for number, (tool, params) in enumerate(task_calls(bench)):
        if time.monotonic() > deadline or not bench.session.alive:
            break
        params["_meta"] = {"progressToken": f"mcp-conform-task-{number}"}
        plain = _plainly(bench, tool, params)
        start = bench.session.position
        run = begin(bench, tool, params)
        created = run.created if run is not None else _last(bench)
        if created.error is None:
            yield Observation({"about": "creation", "tool": tool.get("name")}, created)
        if run is None:
            why = _not_created(tool, created)
            continue
        over = yield from _follow(bench, run)
        if not over:
            abandon(bench, run)
            continue
        ended.append(run)
        if plain is not None:
            yield from _talk(bench, run, plain, start)
        yield from _end(bench, run)
        yield from _result(bench, run, plain, _plainly(bench, tool, params) if plain else None)
        if plain is not None:
            yield from _promptness(bench, run, plain, params)
    if not ended:
        raise Unavailable(why)
    for run in ended:
        look(bench, run)  # what has become of it meanwhile is an invariant's to judge


def _plainly(bench: Bench, tool: Json, params: Json) -> Call | None:
    """The same call without a task, if the tool may be called so."""
    if task_support(tool) == "required":
        return None
    call = call_quickly(bench.session, {**params, "_meta": {"progressToken": f"plain {bench.session.position}"}})
    return call if call.answers else None


def _last(bench: Bench) -> Call:
    return max(bench.session.calls.values(), key=lambda each: each.sent.number)


def _not_created(tool: Json, call: Call) -> str:
    """Why nothing more can be said of a tool whose call as a task was answered by none."""
    if not call.answers:
        return f"tools/call is not answered: {call.lost}"
    if call.error is not None:
        return f"the tool {tool.get('name')!r} is refused as a task: {shown(call)}"
    if isinstance(call.result, dict) and isinstance(call.result.get("task"), dict):
        return "the task that was created has no id"
    return "calls as tasks are answered by no task"


def _follow(bench: Bench, run: TaskRun) -> Generator[Observation, None, bool]:
    """Fetch the result at once and poll meanwhile, until both say that the task is over; whether they did in time."""
    session = bench.session
    fetch = run.fetch = session.send("tasks/result", {"taskId": run.identifier})
    deadline = time.monotonic() + session.limits.answer
    while session.alive and time.monotonic() < deadline:
        fetched = bool(fetch.answers)
        get = look(bench, run)
        if get.error is not None or not get.answers:
            if fetched and fetch.result is not None:
                yield from _gone(run, fetch, get)
            return False
        if run.over:
            session.wait(fetch)
            if fetch.answers:
                yield Observation({"about": "end", "result-came-before": False}, frames=fetch.proof)
            return bool(fetch.answers)
        if fetched and run.status not in UNDER_WAY:
            return False  # the wrong status is judged with the shape of the task
        if fetched:
            came = f"an answer, and afterwards the status {run.status}"
            proof = (*fetch.proof, *get.proof)
            yield Observation({"about": "end", "result-came-before": True}, frames=proof, actual=came)
            return False
        rest(bench, run)
    return False


def _end(bench: Bench, run: TaskRun) -> Iterator[Observation]:
    """A task at its end: what it says if it failed, and whether it can be cancelled."""
    last = look(bench, run)
    if not isinstance(last.result, dict):
        return
    if run.status == "failed":
        yield Observation({"about": "failure"}, last)
    if bench.survey.declares("tasks.cancel"):
        call = bench.session.request("tasks/cancel", {"taskId": run.identifier})
        yield Observation({"about": "cancellation"}, call)
        look(bench, run)


def _result(bench: Bench, run: TaskRun, plain: Call | None, again: Call | None) -> Iterator[Observation]:
    """The result of a task at its end, beside those of plain calls before and after it."""
    final = bench.session.request("tasks/result", {"taskId": run.identifier})
    if run.status == "cancelled":
        return
    problem = _no_result(run, final) if final.answers else ""
    if problem and plain is not None and plain.error is None and ill_formed(plain.result):
        return  # the tool's own fault, judged without tasks
    if problem and (gone := look(bench, run)).error is not None:
        yield from _gone(run, final, gone)
        return
    yield Observation(
        {"about": "result", "status": run.status, "problem": problem},
        final,
        frames=(*run.gets[-1].proof, *final.proof),
        actual=f"{problem}: {shown(final)}" if problem else shown(run.gets[-1]),
    )
    if problem or not final.answers or plain is None or again is None:
        return
    values = {"about": "comparison", "plain": _told(plain), "again": _told(again), "result": _told(final)}
    yield Observation(values, frames=(*plain.proof, *final.proof), actual=shown(final))


def _gone(run: TaskRun, fetch: Call, gone: Call) -> Iterator[Observation]:
    """A task that its server does not know any more, though it said that it keeps it much longer."""
    ttl = run.created.result["task"].get("ttl")
    if is_number(ttl) and ttl / 1000 > LONG and gone.error is not None:
        yield Observation({"about": "gone"}, gone, (*run.created.proof, *fetch.proof, *gone.proof))


def _no_result(run: TaskRun, final: Call) -> str:
    """What is wrong with the result of a task that has ended; an error is not, if the task failed."""
    if final.error is not None and run.fetch is not None and run.fetch.result is not None:
        return "it was given before, and now there is an error"
    if final.error is not None:
        return "" if run.status == "failed" else f"the task is {run.status}, yet there is an error"
    return ill_formed(final.result)


def ill_formed(result: Json) -> str:
    """What is wrong with the result of a tool, "" if nothing is."""
    problems = for_revision(REVISION).problems("tools#CallToolResult", result)
    return problems[0].message if problems else ""


def _told(call: Call) -> dict[str, Json]:
    """What a call of a tool has brought: the code of the error, or the result."""
    return {"code": code_of(call)} if call.error is not None else {"result": bare(call.result)}


def bare(result: Json) -> Json:
    """A result without its `_meta`, in which the two kinds of call have to differ."""
    return {k: v for k, v in result.items() if k != "_meta"} if isinstance(result, dict) else result


def _talk(bench: Bench, run: TaskRun, plain: Call, start: int) -> Iterator[Observation]:
    """Progress and logs of the task, where the plain call brings such."""
    token = run.created.params["_meta"]["progressToken"]
    heard = [frame for frame in bench.session.since(start) if frame.origin == "target"]
    ours = plain.params["_meta"]["progressToken"]
    if any(_token(frame) == id_key(ours) for frame in plain.notifications):
        progress = [frame for frame in heard if _token(frame)]
        kept = [frame for frame in progress if _token(frame) == id_key(token)]
        foreign = [frame for frame in progress if _token(frame) not in (id_key(token), id_key(ours))]
        for frame in (kept or foreign)[:1]:
            shows = shorten(frame.message["params"])
            values = {"about": "progress", "token": token, "keeps-token": bool(kept)}
            yield Observation(values, frames=(run.created.sent, frame), actual=shows)
    said = {shorten(_log(frame)) for frame in plain.notifications if _log(frame) is not None}
    for frame in heard:
        if _log(frame) is None or shorten(_log(frame)) not in said or frame in plain.notifications:
            continue
        meta = frame.message["params"].get("_meta")
        if isinstance(meta, dict) and RELATED in meta:
            continue  # which task it names is the invariant's to judge
        proof = (run.created.sent, frame)
        yield Observation(
            {"about": "nameless log", "task": run.identifier}, frames=proof, actual=shorten(frame.message)
        )


def _params(frame: Frame, method: str) -> Json:
    message = frame.message
    params = message.get("params") if isinstance(message, dict) and message.get("method") == method else None
    return members(params)


def _token(frame: Frame) -> str:
    """The token of a progress notification, "" of anything else."""
    params = _params(frame, "notifications/progress")
    return id_key(params["progressToken"]) if "progressToken" in params else ""


def _log(frame: Frame) -> Json:
    """What a log message says, None of anything else."""
    params = _params(frame, "notifications/message")
    return {name: params.get(name) for name in ("level", "logger", "data")} if params else None


def _promptness(bench: Bench, run: TaskRun, plain: Call, params: Json) -> Iterator[Observation]:
    """Whether a task is created only when the tool is done: seen twice, and only of tools that take a while."""
    took = plain.answers[0].at - plain.sent.at
    way = bench.session.patience.way
    if took - way < SLOW:
        return
    seen = {"about": "promptness", "tool": params["name"]}
    first = run.gets[0].result
    late = way + NEARLY * (took - way)
    if run.seconds < late or not (isinstance(first, dict) and first.get("status") in TERMINAL):
        yield Observation({**seen, "created-at-the-end": False}, frames=run.created.proof)
        return
    second = begin(bench, run.tool, without_meta(params))
    if second is None:
        return
    look(bench, second)
    yield Observation(
        {**seen, "created-at-the-end": second.seconds >= late and second.over},
        frames=(*second.created.proof, *second.gets[0].proof),
        actual=f"it took {second.seconds:.2f} s, a plain call {took:.2f} s",
    )
