"""Probes of the area tasks in 2025-11-25: cancelling, listing, asking for input, and calls that may not be tasks."""

from __future__ import annotations

import time

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.askers import is_question
from conformance.checks.probes.calls import call_quickly
from conformance.checks.probes.outcome import INVALID_PARAMS, NO_SUCH_METHOD, answered, code_of, shown, succeeded
from conformance.checks.probes.tasks import Run, abandon, begin, look, rest, task_calls
from conformance.model import Frame, Json, Severity
from conformance.session.answers import CAPABILITY
from conformance.session.client_tasks import RELATED, related_task
from conformance.session.session import Call, encode
from conformance.survey.survey import Unavailable, task_support, walk

SEVERAL = 6
"""Tasks that are made to be listed."""
FEW = 2
LOST = 5.0
"""Seconds after which an answer does not come any more, when that to a later request of the same kind has come."""
INVALID_REQUEST = -32600

MOVES = "tasks/cancel-moves-to-cancelled"
COMPLETE = "tasks/list-complete"
CURSOR = "tasks/list-next-cursor"
WINS = "tasks/request-parameter-wins"
STATUS = "tasks/input-required-status-used"
INPUT = "tasks/input-requests-name-task"
DECLARED = "tasks/capability-declared"
IGNORED = "tasks/undeclared-augmentation-ignored"
UNSUPPORTING = "tasks/augmentation-of-unsupporting-tool-refused"
DEMANDED = "tasks/required-augmentation-demanded"
UNDECLARED = "tasks/undeclared-list-and-cancel-refused"


@probe("tasks.cancel", MOVES)
def cancel(bench: Bench) -> None:
    """A task, cancelled as soon as it is there; afterwards it is watched for a while, which an invariant judges."""
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


@probe("tasks.several", COMPLETE, CURSOR, WINS)
def several(bench: Bench) -> None:
    """Several tasks of one tool: each is found by its id and in the list."""
    tool, params = next(task_calls(bench))
    runs = [run for run in (begin(bench, tool, params) for _ in range(SEVERAL)) if run is not None]
    if len(runs) < SEVERAL:
        raise Unavailable(f"the tool {tool.get('name')!r} does not run as a task {SEVERAL} times")
    _judge_parameter(bench, runs[0], runs[1])
    if bench.survey.declares("tasks.list"):
        _judge_list(bench)
    else:
        why = "the server does not declare tasks.list"
        bench.ledger.not_applicable(COMPLETE, why)
        bench.ledger.not_applicable(CURSOR, why)


def _judge_parameter(bench: Bench, run: Run, other: Run) -> None:
    meta = {RELATED: {"taskId": other.identifier}}
    session = bench.session
    call = session.send("tasks/get", {"taskId": run.identifier, "_meta": meta})
    plain = look(bench, run)
    if not session.wait(call, timeout=min(LOST, session.limits.answer)) and plain.answers and session.alive:
        call.excused = True  # judged here
        bench.ledger.broke(
            WINS,
            "tasks/get is not answered when its _meta names another task",
            expected="the answer that comes without that",
            actual=call.lost,
            frames=(call.sent, *plain.proof),
        )
        return
    if not answered(bench, call, WINS):
        return
    if isinstance(call.result, dict) and call.result.get("taskId") == run.identifier:
        bench.ledger.held(WINS)
        return
    bench.ledger.broke(
        WINS,
        "tasks/get does not go by its taskId when _meta names another task",
        expected=f"the task {run.identifier!r}",
        actual=shown(call),
        frames=(*other.created.proof, *call.proof),
    )


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
    """Tools that ask the client, run as tasks: what they ask names the task, which waits as input_required."""
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


@probe("tasks.uninvited", DECLARED, IGNORED, UNSUPPORTING, DEMANDED)
def uninvited(bench: Bench) -> None:
    """Calls as tasks where no task is offered, and plain calls where a task is demanded: no client may make them."""
    offered = bench.survey.declares("tasks.requests.tools.call")
    if offered:
        bench.ledger.held(DECLARED)
        bench.ledger.not_applicable(IGNORED, "the server declares tasks.requests.tools.call")
        _judge_demand(bench)
    tools = [tool for tool in bench.survey.callable_tools if not offered or task_support(tool) == "forbidden"]
    tried = 0
    for tool in sorted(tools, key=task_support, reverse=True):  # optional first
        if tried == FEW or not bench.session.alive:
            break
        try:
            params = {"name": tool.get("name"), "arguments": bench.survey.arguments_for(tool)}
        except Unavailable:
            continue
        plain = call_quickly(bench.session, params)
        if not plain.answers or not succeeded(plain):
            continue
        tried += 1
        call = bench.session.request("tools/call", {**params, "task": {"ttl": 60_000}}, illegal=True)
        if offered:
            _judge_unsupporting(bench, call)
        else:
            _judge_ignored(bench, call)
    why = "no tool that may be called and succeeds can be tried"
    for requirement in (UNSUPPORTING,) if offered else (DECLARED, IGNORED):
        bench.ledger.inconclusive(requirement, why)


def _judge_ignored(bench: Bench, call: Call) -> None:
    if not call.answers:
        bench.ledger.inconclusive(IGNORED, f"a call with the member task is not answered: {call.lost}")
    elif isinstance(call.result, dict) and isinstance(call.result.get("task"), dict):
        bench.ledger.broke(
            DECLARED,
            "the server creates a task, yet does not declare that it does",
            expected="the capability tasks.requests.tools.call, or a plain result",
            actual=shown(call),
            frames=call.proof,
        )
        bench.ledger.block(IGNORED, DECLARED)
    elif call.error is not None:
        bench.ledger.held(DECLARED)
        bench.ledger.broke(
            IGNORED,
            "a call with the member task is refused by a server without tasks",
            expected="the result of a plain call: the member is to be ignored",
            actual=shown(call),
            frames=call.proof,
            # No client may send this in the first place.
            ceiling=Severity.ADVICE,
        )
    else:
        bench.ledger.held(DECLARED)
        bench.ledger.held(IGNORED)


def _judge_unsupporting(bench: Bench, call: Call) -> None:
    if not call.answers:
        bench.ledger.inconclusive(UNSUPPORTING, f"such a call is not answered: {call.lost}")
    elif code_of(call) == NO_SUCH_METHOD:
        bench.ledger.held(UNSUPPORTING)
    else:
        bench.ledger.broke(
            UNSUPPORTING,
            "a tool without task support is called as a task, and that is not refused as it should",
            expected="error -32601",
            actual=shown(call),
            frames=call.proof,
            ceiling=None if call.error is None else Severity.ADVICE,
        )


def _judge_demand(bench: Bench) -> None:
    tools = [tool for tool in bench.survey.task_tools if task_support(tool) == "required"]
    for tool in tools[:FEW]:
        try:
            params = {"name": tool.get("name"), "arguments": bench.survey.arguments_for(tool)}
        except Unavailable:
            continue
        call = bench.session.request("tools/call", params, illegal=True)
        if not call.answers:
            bench.ledger.inconclusive(DEMANDED, f"a plain call of a task-only tool is not answered: {call.lost}")
        elif code_of(call) == NO_SUCH_METHOD:
            bench.ledger.held(DEMANDED)
        else:
            bench.ledger.broke(
                DEMANDED,
                f"the tool {params['name']!r} demands a task, and a call without one is not refused as it must be",
                expected="error -32601",
                actual=shown(call),
                frames=call.proof,
                # The errors of the same page allow -32600 for this.
                ceiling=Severity.WARNING if code_of(call) == INVALID_REQUEST else None,
            )
    bench.ledger.inconclusive(DEMANDED, "no tool that may be called has taskSupport required")


@probe("tasks.undeclared", UNDECLARED)
def undeclared(bench: Bench) -> None:
    """tasks/list and tasks/cancel of a server that has tasks and does not declare these."""
    lacking = [name for name in ("list", "cancel") if not bench.survey.declares(f"tasks.{name}")]
    if not lacking:
        bench.ledger.not_applicable(UNDECLARED, "the server declares both tasks.list and tasks.cancel")
    for name in lacking:
        params: Json = None
        if name == "cancel":
            run = next((run for run in (begin(bench, *call) for call in task_calls(bench)) if run is not None), None)
            if run is None:
                continue
            params = {"taskId": run.identifier}
        call = bench.session.request(f"tasks/{name}", params)
        if not answered(bench, call, UNDECLARED):
            continue
        if call.error is not None:
            if name == "list" or code_of(call) != INVALID_PARAMS:  # which a task that is over gives as well
                bench.ledger.held(UNDECLARED)
            continue
        bench.ledger.broke(
            UNDECLARED,
            f"tasks/{name} is served, yet not declared",
            expected=f"the capability tasks.{name}, or an error such as -32601",
            actual=shown(call),
            frames=call.proof,
        )
