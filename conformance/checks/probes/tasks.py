"""Probes of the area tasks in 2025-11-25: the life of a task from its creation to its result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.catalogue.patterns import shorten
from conformance.checks.probes import Bench, probe
from conformance.checks.probes.calls import call_quickly, cancel
from conformance.checks.probes.outcome import INVALID_PARAMS, answered, code_of, expect_refusal, shown
from conformance.model import Frame, Json, Severity
from conformance.session.client_tasks import RELATED, TERMINAL
from conformance.session.session import Call, id_key
from conformance.survey.survey import Unavailable, task_support
from conformance.validation.wire_schemas import for_revision

REVISION = "2025-11-25"
TTL = 600_000
MAX_TOOLS = 8
NEARLY = 0.7
"""The part of a plain call's time from which on a task counts as created when the tool was done."""
SLOW = 0.15
"""Seconds that a tool must take before it can be told whether its task was answered early."""

CREATED = "tasks/create-result-returned"
PROMPT = "tasks/create-result-prompt"
BLOCKS = "tasks/result-blocks-until-terminal"
IS_FINAL = "tasks/result-is-final"
AS_WITHOUT = "tasks/result-as-without-task"
SAME_ERROR = "tasks/result-returns-same-error"
MESSAGE = "tasks/failed-has-status-message"
FAILED = "tasks/iserror-means-failed"
REFUSED = "tasks/cancel-of-terminal-refused"
TOKEN = "progress/task-keeps-token"
MESSAGES = "tasks/related-messages-name-task"
LIFE = (CREATED, PROMPT, BLOCKS, IS_FINAL, AS_WITHOUT, SAME_ERROR, MESSAGE, FAILED, REFUSED, TOKEN, MESSAGES)
LACKING = {
    PROMPT: "no tool that may be called with and without a task takes long enough",
    AS_WITHOUT: "no tool that may be called with and without a task gives the same result every time",
    SAME_ERROR: "no tool that may be called with and without a task is refused by the same error every time",
    MESSAGE: "no task that was created has failed",
    FAILED: "no tool that was called as a task has failed",
    TOKEN: "no tool that may be called with and without a task reports progress",
    MESSAGES: "no tool that was called as a task reports progress or logs",
}
"""What it takes, beside a task that comes to its end."""
NONE = "no tool that may be called runs as a task; name one with --call-tool"


@dataclass(slots=True)
class Run:
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


def begin(bench: Bench, tool: Json, params: Json) -> Run | None:
    """Call a tool as a task; None if no task came of it."""
    began = time.monotonic()
    call = bench.session.request("tools/call", {**params, "task": {"ttl": TTL}})
    task = call.result.get("task") if isinstance(call.result, dict) else None
    identifier = task.get("taskId") if isinstance(task, dict) else None
    return Run(tool, call, identifier, time.monotonic() - began) if isinstance(identifier, str) else None


def look(bench: Bench, run: Run) -> Call:
    """Ask for the status."""
    get = bench.session.request("tasks/get", {"taskId": run.identifier})
    run.gets.append(get)
    return get


def rest(bench: Bench, run: Run) -> None:
    """Wait as long as the server wants between two questions, at most a second."""
    task = run.gets[-1].result if run.gets and isinstance(run.gets[-1].result, dict) else run.created.result["task"]
    interval = task.get("pollInterval")
    if not isinstance(interval, (int, float)):
        interval = 50
    bench.session.listen(min(1.0, max(0.01, interval / 1000)))


def abandon(bench: Bench, run: Run) -> None:
    """Leave no task behind that nobody wants any more."""
    if bench.survey.declares("tasks.cancel") and bench.session.alive:
        bench.session.request("tasks/cancel", {"taskId": run.identifier})
    if run.fetch is not None and not run.fetch.done:
        run.fetch.excused = True
        cancel(bench.session, run.fetch)


@probe("tasks.life", *LIFE)
def life(bench: Bench) -> None:
    """Each tool that may be called as a task: created, followed to its end, its result fetched.

    It asks until the task is over, and compares time, talk and result with those of plain calls.
    """
    deadline = time.monotonic() + 2 * bench.session.limits.answer
    why, ended = "no tool that was called as a task has come to its end in time", False
    for number, (tool, params) in enumerate(task_calls(bench)):
        if time.monotonic() > deadline or not bench.session.alive:
            break
        params["_meta"] = {"progressToken": f"mcp-conform-task-{number}"}
        plain = _plainly(bench, tool, params)
        start = bench.session.position
        run = begin(bench, tool, params)
        if run is None:
            why = _not_created(bench, tool, params) or why
            continue
        bench.ledger.held(CREATED)
        if not _follow(bench, run):
            abandon(bench, run)
            continue
        ended = True
        if plain is not None:
            _judge_talk(bench, run, plain, start)
        _judge_end(bench, run)
        _judge_result(bench, run, plain, _plainly(bench, tool, params) if plain else None)
        if plain is not None:
            _judge_promptness(bench, run, plain, params)
    for requirement in LIFE:
        bench.ledger.inconclusive(requirement, LACKING.get(requirement, why) if ended else why)


def _plainly(bench: Bench, tool: Json, params: Json) -> Call | None:
    """The same call without a task, if the tool may be called so."""
    if task_support(tool) == "required":
        return None
    call = call_quickly(bench.session, {**params, "_meta": {"progressToken": f"plain {bench.session.position}"}})
    return call if call.answers else None


def _not_created(bench: Bench, tool: Json, params: Json) -> str:
    """Judge the answer to an augmented call that is no task; why nothing more can be said of the tool."""
    call = max(bench.session.calls.values(), key=lambda each: each.sent.number)
    if not answered(bench, call, CREATED):
        return f"tools/call is not answered: {call.lost}"
    if call.error is not None:
        return f"the tool {tool.get('name')!r} is refused as a task: {shown(call)}"
    if isinstance(call.result.get("task"), dict):
        return "the task that was created has no id"  # judged with its shape
    bench.ledger.broke(
        CREATED,
        f"a call of the tool {params['name']!r} as a task is answered by no task",
        expected="a CreateTaskResult, with the member task",
        actual=shown(call),
        frames=call.proof,
    )
    return "calls as tasks are answered by no task"


def _follow(bench: Bench, run: Run) -> bool:
    """Fetch the result at once and poll meanwhile, until both say that the task is over; whether they did in time."""
    session = bench.session
    fetch = run.fetch = session.send("tasks/result", {"taskId": run.identifier})
    deadline = time.monotonic() + session.limits.answer
    while session.alive and time.monotonic() < deadline:
        fetched = bool(fetch.answers)
        get = look(bench, run)
        if get.error is not None or not get.answers:
            return False
        if run.over:
            session.wait(fetch)
            if fetch.answers:
                bench.ledger.held(BLOCKS)
            return bool(fetch.answers)
        if fetched:
            bench.ledger.broke(
                BLOCKS,
                "tasks/result is answered before the task has ended",
                expected="no answer until the task is completed, failed or cancelled",
                actual=f"an answer, and afterwards the status {run.status}",
                frames=(*fetch.proof, *get.proof),
            )
            return False
        rest(bench, run)
    return False


def _judge_end(bench: Bench, run: Run) -> None:
    """A task at its end: it stays so, says why it failed, and cannot be cancelled."""
    last = look(bench, run)
    if isinstance(last.result, dict) and run.status == "failed":
        if isinstance(last.result.get("statusMessage"), str) and last.result["statusMessage"]:
            bench.ledger.held(MESSAGE)
        else:
            bench.ledger.broke(
                MESSAGE,
                "a failed task does not say why",
                expected="a statusMessage",
                actual=shown(last),
                frames=last.proof,
            )
    if bench.survey.declares("tasks.cancel") and isinstance(last.result, dict):
        call = bench.session.request("tasks/cancel", {"taskId": run.identifier})
        expect_refusal(bench, REFUSED, call, codes=(INVALID_PARAMS,), soft=Severity.VIOLATION)
        look(bench, run)


def _judge_result(bench: Bench, run: Run, plain: Call | None, again: Call | None) -> None:
    """The result of a task at its end, beside those of plain calls before and after it."""
    final = bench.session.request("tasks/result", {"taskId": run.identifier})
    if run.status == "cancelled" or not answered(bench, final, IS_FINAL):
        return
    problem = _no_result(run, final)
    if problem and plain is not None and plain.error is None and _ill_formed(plain.result):
        return  # the tool's own fault, judged without tasks
    if problem and look(bench, run).error is not None:
        return  # the task is gone, and may be
    if problem:
        bench.ledger.broke(
            IS_FINAL,
            "tasks/result of a task that has ended is not the result of the tool",
            expected="the CallToolResult or the error of tools/call",
            actual=f"{problem}: {shown(final)}",
            frames=(*run.gets[-1].proof, *final.proof),
        )
        return
    bench.ledger.held(IS_FINAL)
    if isinstance(final.result, dict) and final.result.get("isError") is True:
        _judge_failure(bench, run, final)
    if plain is None or again is None:
        return
    frames = (*plain.proof, *final.proof)
    if isinstance(plain.result, dict) and bare(plain.result) == bare(again.result):
        if bare(plain.result) == bare(final.result):
            bench.ledger.held(AS_WITHOUT)
            return
        what = "tasks/result differs from the result of a call without a task"
        bench.ledger.broke(AS_WITHOUT, what, expected=shown(plain), actual=shown(final), frames=frames)
    elif plain.error is not None and code_of(plain) == code_of(again):
        if code_of(final) == code_of(plain):
            bench.ledger.held(SAME_ERROR)
            return
        what = "tasks/result does not return the error of a call without a task"
        bench.ledger.broke(SAME_ERROR, what, expected=shown(plain), actual=shown(final), frames=frames)


def _no_result(run: Run, final: Call) -> str:
    """What is wrong with the result of a task that has ended; an error is not, if the task failed."""
    if final.error is not None:
        return "" if run.status == "failed" else f"the task is {run.status}, yet there is an error"
    return _ill_formed(final.result)


def _ill_formed(result: Json) -> str:
    """What is wrong with the result of a tool, "" if nothing is."""
    problems = for_revision(REVISION).problems("tools#CallToolResult", result)
    return problems[0].message if problems else ""


def _judge_failure(bench: Bench, run: Run, final: Call) -> None:
    if run.status == "failed":
        bench.ledger.held(FAILED)
        return
    bench.ledger.broke(
        FAILED,
        f"the tool failed by isError, and its task is {run.status}",
        expected='the status "failed"',
        actual=shown(run.gets[-1]),
        frames=(*run.gets[-1].proof, *final.proof),
    )


def bare(result: Json) -> Json:
    """A result without its `_meta`, in which the two kinds of call have to differ."""
    return {k: v for k, v in result.items() if k != "_meta"} if isinstance(result, dict) else result


def _judge_talk(bench: Bench, run: Run, plain: Call, start: int) -> None:
    """Progress and logs of the task, beside those of the plain call."""
    token = run.created.params["_meta"]["progressToken"]
    told = [frame for frame in bench.session.since(start) if frame.origin == "target"]
    ours = plain.params["_meta"]["progressToken"]
    if any(_token(frame) == id_key(ours) for frame in plain.notifications):
        progress = [frame for frame in told if _token(frame)]
        foreign = [frame for frame in progress if _token(frame) not in (id_key(token), id_key(ours))]
        if any(_token(frame) == id_key(token) for frame in progress):
            bench.ledger.held(TOKEN)
        elif foreign:
            bench.ledger.broke(
                TOKEN,
                "progress of a task does not keep the token of its request",
                expected=f"the token {token!r}",
                actual=shorten(foreign[0].message["params"]),
                frames=(run.created.sent, foreign[0]),
            )
    said = {shorten(_log(frame)) for frame in plain.notifications if _log(frame) is not None}
    for frame in told:
        if _log(frame) is None or shorten(_log(frame)) not in said or frame in plain.notifications:
            continue
        meta = frame.message["params"].get("_meta")
        if isinstance(meta, dict) and RELATED in meta:
            continue  # which task it names is the invariant's to judge
        bench.ledger.broke(
            MESSAGES,
            "a log message of a tool that runs as a task does not name the task",
            expected=f"_meta {RELATED} with taskId {run.identifier!r}",
            actual=shorten(frame.message),
            frames=(run.created.sent, frame),
            # It is known for the tool's own only because a plain call brings the same.
            ceiling=Severity.WARNING,
        )


def _params(frame: Frame, method: str) -> Json:
    message = frame.message
    params = message.get("params") if isinstance(message, dict) and message.get("method") == method else None
    return params if isinstance(params, dict) else {}


def _token(frame: Frame) -> str:
    """The token of a progress notification, "" of anything else."""
    params = _params(frame, "notifications/progress")
    return id_key(params["progressToken"]) if "progressToken" in params else ""


def _log(frame: Frame) -> Json:
    """What a log message says, None of anything else."""
    params = _params(frame, "notifications/message")
    return {name: params.get(name) for name in ("level", "logger", "data")} if params else None


def _judge_promptness(bench: Bench, run: Run, plain: Call, params: Json) -> None:
    """A task that is created only when the tool is done: seen twice, and only of tools that take a while."""
    took = plain.answers[0].at - plain.sent.at
    if took < SLOW:
        return
    if run.seconds < NEARLY * took or run.gets[0].result.get("status") not in TERMINAL:
        bench.ledger.held(PROMPT)
        return
    second = begin(bench, run.tool, {name: value for name, value in params.items() if name != "_meta"})
    if second is None:
        return
    look(bench, second)
    if second.seconds < NEARLY * took or not second.over:
        bench.ledger.held(PROMPT)
        return
    bench.ledger.broke(
        PROMPT,
        f"the task of the tool {params['name']!r} is created when it has ended already",
        expected="a CreateTaskResult as soon as the call is accepted",
        actual=f"it took {second.seconds:.2f} s, a plain call {took:.2f} s",
        frames=(*second.created.proof, *second.gets[0].proof),
        ceiling=Severity.ADVICE,
    )
