"""Probes of the area tasks-extension: tasks of 2026-07-28 from their creation to their end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.checks.invariants.subscriptions import ACKNOWLEDGED, LISTEN
from conformance.checks.invariants.tasks_extension import is_task
from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import call_each, call_quickly, late, without_meta
from conformance.checks.probes.outcome import succeeded
from conformance.codes import MISSING_CAPABILITY
from conformance.model import Frame, Json, members
from conformance.session.client_tasks import TERMINAL
from conformance.session.eras.stateless import META
from conformance.session.notifications import notified
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

FEW = 8
"""Tasks that are followed."""
FEWER = 4
"""Tasks that are subscribed to."""
MOST_LOOKS = 20
"""Looks at a task that has asked when it was called before, until it asks again."""
ENOUGH = 1.0
"""Seconds after which no further task is subscribed to, once one was told of to its end."""
LONGEST_REST = 1.0
NONE = "no tool that was called became a task; allow one with --call-tool"
NO_SUCH_KEY = "mcp-conform-no-such-key"


@dataclass(slots=True)
class Followed:
    """A task: the call that it came of, the sights of it so far, the keys of the questions that were answered."""

    created: Call
    gets: list[Call] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)

    @property
    def identifier(self) -> str:
        """The id of the task."""
        return str(self.created.result["taskId"])

    @property
    def params(self) -> dict[str, Json]:
        """Those of the call, without `_meta`."""
        return without_meta(self.created.params)

    @property
    def seen(self) -> dict[str, Json]:
        """The last sight of it."""
        return members((self.gets[-1] if self.gets else self.created).result)

    @property
    def status(self) -> Json:
        """The last status that was seen."""
        return self.seen.get("status")

    @property
    def over(self) -> bool:
        """Whether it has been seen at its end."""
        return self.status in TERMINAL


def without_extension(bench: Bench) -> dict[str, Json]:
    """The `_meta` of a request that declares all that the client of the case does, but for extensions."""
    client = {name: value for name, value in bench.session.client.items() if name != "extensions"}
    return {META + "clientCapabilities": client}


def look(bench: Bench, task: Followed) -> Call:
    """Ask how the task stands, not sooner after the last time than the server wants."""
    if task.gets:
        rest(bench, task)
    get = bench.session.request("tasks/get", {"taskId": task.identifier})
    task.gets.append(get)
    return get


def rest(bench: Bench, task: Followed) -> None:
    """Wait as long as the server wants between two questions, at most a second."""
    interval = task.seen.get("pollIntervalMs")
    if not isinstance(interval, (int, float)) or isinstance(interval, bool):
        interval = 50
    bench.session.listen(min(LONGEST_REST, max(0.01, interval / 1000)))


def open_questions(task: Followed) -> dict[str, Json]:
    """What it asks, as it was seen last, and was not answered yet."""
    asked = members(task.seen.get("inputRequests")) if task.status == "input_required" else {}
    return {key: asked[key] for key in asked if key not in task.answered}


def answer(bench: Bench, task: Followed) -> Call:
    """Answer all that it asks, plausibly."""
    asked = {key: members(request) for key, request in open_questions(task).items()}
    replies = {
        key: bench.session.answers.plausible(str(request.get("method")), request.get("params"))
        for key, request in asked.items()
    }
    task.answered.update(asked)
    return bench.session.request("tasks/update", {"taskId": task.identifier, "inputResponses": replies})


def tasks(bench: Bench, talkative: bool = False) -> Iterator[Followed]:
    """The tasks that come of calls of the tools that may be called. Raises Unavailable if there are none."""
    found = False
    for _, call in call_each(bench, talkative=talkative):
        if is_task(call.result):
            found = True
            yield Followed(call)
    if not found:
        raise Unavailable(NONE)


def follow(bench: Bench) -> Iterator[Observation]:
    """Each tool that becomes a task is followed to its end, and called by a client that takes no tasks.

    It asks until the task is over, makes up the answers to what the task asks, and compares with plain calls.
    """
    deadline = time.monotonic() + 2 * bench.session.limits.answer
    cancelled = False
    for number, task in enumerate(tasks(bench, talkative=True)):
        while bench.session.alive and time.monotonic() < deadline:
            get = look(bench, task)
            if not isinstance(get.result, dict) or task.over:
                break
            if open_questions(task):
                yield from _questions(bench, task)
        if not bench.session.alive:
            return
        if task.over:  # what is seen of it once more is the invariants' to judge
            for method in ("tasks/get", "tasks/cancel", "tasks/get"):
                bench.session.request(method, {"taskId": task.identifier})
        yield from _beside_plain(bench, task)
        if not number:  # in the old way, by a client that takes no tasks: what is a task shows by itself
            old = {**task.params, "task": {"ttl": 60_000}, "_meta": without_extension(bench)}
            call_quickly(bench.session, old)
        if task.answered and not cancelled:
            cancelled = True
            yield from _cancelled_while_asking(bench, task)
        if number + 1 == FEW or time.monotonic() > deadline:
            return


def _questions(bench: Bench, task: Followed) -> Iterator[Observation]:
    """A task that asks: whether it goes on to ask for all of it, and what comes of answers."""
    first = task.gets[-1]
    asked = open_questions(task)
    again = look(bench, task)
    if task.status == "input_required":
        missing = sorted(asked.keys() - open_questions(task).keys())
        third = look(bench, task) if missing else again
        back = bool(missing) and bool(open_questions(task).keys() & set(missing))
        frames = (*first.proof, *again.proof, *(third.proof if missing else ()))
        yield Observation({"about": "outstanding", "missing": missing, "back": back}, again, frames)
    if not open_questions(task):
        return
    nobody = {NO_SUCH_KEY: {"action": "accept", "content": {}}}
    stray = bench.session.request("tasks/update", {"taskId": task.identifier, "inputResponses": nobody})
    yield Observation({"about": "unknown key"}, stray)
    if not isinstance(look(bench, task).result, dict) or not open_questions(task):
        return
    update = answer(bench, task)
    after = look(bench, task)
    frames = (*task.gets[-2].proof, *update.proof)
    yield Observation({"about": "update", "over": task.over or after.error is not None}, update, frames)


def _cancelled_while_asking(bench: Bench, before: Followed) -> Iterator[Observation]:
    """The same call once more: its task is cancelled while it asks."""
    call = call_quickly(bench.session, before.params)
    if not is_task(call.result):
        return
    task = Followed(call)
    for _ in range(MOST_LOOKS):
        if not isinstance(look(bench, task).result, dict) or task.status != "working":
            break
    if task.status == "input_required":
        cancel = bench.session.request("tasks/cancel", {"taskId": task.identifier})
        look(bench, task)
        yield Observation({"about": "cancel", "status": task.status}, cancel, (*task.gets[-2].proof, *cancel.proof))


def _beside_plain(bench: Bench, task: Followed) -> Iterator[Observation]:
    """How the task ended, and how the same call ends, made twice by a client that takes no tasks."""
    done = task.status == "completed" and members(task.seen.get("result")).get("isError") is not True
    params = {**task.params, "_meta": without_extension(bench)}
    plain = call_quickly(bench.session, params)
    tool = str(task.params.get("name"))
    yield Observation({"about": "undeclared", "tool": tool, "done": done}, plain)
    if task.status == "completed" and _is_refused(plain) and _is_refused(again := call_quickly(bench.session, params)):
        frames = (task.created.sent, *plain.proof, *task.gets[-1].proof)
        yield Observation({"about": "error", "tool": tool, "same": again.error == plain.error}, task.gets[-1], frames)
    if task.status in ("completed", "failed") and _fails(plain) and _fails(call_quickly(bench.session, params)):
        frames = (task.created.sent, *plain.proof, *task.gets[-1].proof)
        yield Observation({"about": "isError", "tool": tool, "status": task.status}, task.gets[-1], frames)


def _is_refused(call: Call) -> bool:
    """Whether the tool, or what stands before it, refuses the call by an error, and not for want of a capability."""
    return isinstance(call.error, dict) and call.error.get("code") != MISSING_CAPABILITY


def _fails(call: Call) -> bool:
    """Whether the tool says by isError that it failed."""
    result = call.result
    return isinstance(result, dict) and result.get("resultType") == "complete" and not succeeded(call)


def told(bench: Bench) -> Iterator[Observation]:
    """Tasks are subscribed to, by a client that takes tasks and by one that does not, and followed to their end.

    It finds tasks that last long enough, and compares what is told at their end with what tasks/get says.
    """
    session = bench.session
    refusable, since = True, 0.0
    for number, task in enumerate(tasks(bench)):
        if since and (time.monotonic() - since > ENOUGH or not _asks_soon(bench, task)):
            continue  # of further tasks only those count that ask for something
        wanted: Json = {"notifications": {"taskIds": [task.identifier]}}
        call, acknowledged = _listen(bench, wanted)
        granted = _grants(acknowledged, task)
        if not granted and (number + 1 < FEWER or since) and not call.error:
            continue  # it was over already, or is not told of
        if refusable:
            other, heard = _listen(bench, {**wanted, "_meta": without_extension(bench)})
            values: dict[str, Json] = {"about": "undeclared", "supported": granted, "acknowledged": heard is not None}
            proof = (other.sent, *((heard,) if heard is not None else ()), *other.answers)
            yield Observation({**values, "granted": _grants(heard, task)}, other, proof)
            refusable = not granted  # one that the server tells of shows how it treats such a client
        end = _follow_told(bench, task, call.sent.number)
        if end is not None and isinstance(task.gets[-1].result, dict):
            values = {"about": "end", "status": task.status, "same": _same(end.message.get("params"), task.seen)}
            yield Observation(values, task.gets[-1], (call.sent, end, *task.gets[-1].proof))
            since = since or time.monotonic()
        if (number + 1 >= FEWER and not since) or not session.alive:
            return


def _asks_soon(bench: Bench, task: Followed) -> bool:
    """Whether the task asks for something at the first or the second look."""
    return any(isinstance(look(bench, task).result, dict) and open_questions(task) for _ in range(2))


def _listen(bench: Bench, params: Json) -> tuple[Call, Frame | None]:
    """Subscribe; the request, and the acknowledgment if there was one."""
    session = bench.session
    call = session.send(LISTEN, params)
    session.wait(call, until=lambda: notified(session, call, ACKNOWLEDGED) is not None)
    session.give_up(call)
    return call, notified(session, call, ACKNOWLEDGED)


def _is_told(frame: Frame, method: str) -> bool:
    message = frame.message
    return frame.origin == "target" and isinstance(message, dict) and message.get("method") == method


def _grants(acknowledged: Frame | None, task: Followed) -> bool:
    """Whether the acknowledgment says that the client will be told of the task."""
    if acknowledged is None:
        return False
    ids = members(members(acknowledged.message.get("params")).get("notifications")).get("taskIds")
    return isinstance(ids, list) and task.identifier in ids


def _follow_told(bench: Bench, task: Followed, start: int) -> Frame | None:
    """Follow the task to its end; the notification that told of the end, None if there was none."""
    session = bench.session
    deadline = time.monotonic() + session.limits.answer
    while session.alive and time.monotonic() < deadline and not task.over:
        if not isinstance(look(bench, task).result, dict):
            return None
        if open_questions(task):
            answer(bench, task)

    def end() -> Frame | None:
        frames = (f for f in session.since(start) if _is_told(f, "notifications/tasks"))
        about = ((f, members(f.message.get("params"))) for f in frames)
        mine = ((f, told) for f, told in about if told.get("taskId") == task.identifier)
        return next((f for f, told in mine if told.get("status") in TERMINAL), None)

    session.hear_out()
    session.listen(late(session), until=lambda: end() is not None or not task.over)
    return end()


def _same(told: Json, seen: dict[str, Json]) -> bool:
    """Whether a notification says of the end what tasks/get says."""
    told = members(told)
    return all(told.get(name) == seen.get(name) for name in ("taskId", "status", "result", "error"))
