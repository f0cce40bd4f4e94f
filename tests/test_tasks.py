"""Tasks of 2025-11-25: the reference server's, the suite's own, and what the invariants say about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_invariants import CALL, OLD, Script, Server, answer, broken, judged, note, request
from test_reference import Client, Message

from conformance.checks.invariants.tasks import guessable
from conformance.checks.probes.tasks import bare
from conformance.model import Json, Severity
from conformance.revisions import BY_DATE
from conformance.session.answers import Answers, answer_to
from conformance.session.client_tasks import ClientTasks
from conformance.session.session import Session
from conformance.survey.survey import CallPolicy, Survey
from conformance.validation.wire_schemas import for_revision

RELATED = "io.modelcontextprotocol/related-task"
TIME = "2025-11-25T10:30:00Z"
CAPABILITIES: dict[str, Json] = {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}


def task(**members: Json) -> Json:
    """A Task."""
    own = {"taskId": "t", "status": "working", "createdAt": TIME, "lastUpdatedAt": TIME, "ttl": None}
    return {**own, **members}


# -- invariants: (requirement, its ceiling, answers of the server, what it tells)


def life(session: Session) -> None:
    """Create a task, look at it twice, fetch, cancel, list."""
    params = {"name": "t", "arguments": {}, "task": {}, "_meta": {"progressToken": "a"}}
    session.request("tools/call", params)
    for method in ("tasks/get", "tasks/get", "tasks/result", "tasks/cancel"):
        session.request(method, {"taskId": "t"})
    session.request("tasks/list")


def replies(**changes: Json) -> dict[str, Json]:
    """The answers of a correct server to `life`, changed."""
    own: dict[str, Json] = {
        "tools/call": {"task": task()},
        "tasks/get": task(),
        "tasks/result": {"content": [], "_meta": {RELATED: {"taskId": "t"}}},
        "tasks/cancel": task(status="cancelled"),
        "tasks/list": {"tasks": [task(status="cancelled")]},
    }
    return {**own, **{name.replace("_", "/"): value for name, value in changes.items()}}


def one_after_the_other(*results: Json) -> Callable[[Message], list[Json]]:
    """Answers that change from request to request."""
    left = list(results)
    return lambda message: [answer(message, left.pop(0) if len(left) > 1 else left[0])]


def named(other: str = "t") -> Json:
    return {"_meta": {RELATED: {"taskId": other}}}


BREAKS: list[tuple[str, Severity | None, dict[str, Json], tuple[Json, ...]]] = [
    ("tasks/starts-working", None, replies(tools_call={"task": task(status="completed")}), ()),
    ("tasks/id-is-string", None, replies(tools_call={"task": task(taskId=7)}), ()),
    ("tasks/task-shape", None, replies(tools_call={"task": {k: v for k, v in task().items() if k != "ttl"}}), ()),
    ("tasks/ttl-reported", None, replies(tasks_get=task(ttl="long")), ()),
    ("tasks/list-shape", None, replies(tasks_list={}), ()),
    ("tasks/timestamps-iso-8601", None, replies(tasks_get=task(createdAt="yesterday")), ()),
    (
        "tasks/timestamps-iso-8601",
        Severity.WARNING,
        replies(tasks_get=task(createdAt="2025-11-25T10:30:00", lastUpdatedAt="2025-11-25T10:30:00")),
        (),
    ),
    ("tasks/timestamps-iso-8601", Severity.WARNING, replies(tasks_get=task(createdAt="2024-11-25T10:30:00Z")), ()),
    (
        "tasks/terminal-is-final",
        None,
        replies(tasks_get=one_after_the_other(task(status="completed"), task(status="failed"))),
        (),
    ),
    (
        "tasks/defined-transitions-only",
        None,
        replies(tasks_get=one_after_the_other(task(status="completed"), task())),
        (),
    ),
    ("tasks/cancelled-stays-cancelled", None, replies(tasks_list={"tasks": [task(status="completed")]}), ()),
    ("tasks/result-names-task", None, replies(tasks_result={"content": []}), ()),
    ("tasks/result-names-task", None, replies(tasks_result={"content": [], **named("u")}), ()),
    ("tasks/status-results-without-related-meta", None, replies(tasks_get=task(**named())), ()),
    ("tasks/status-notification-shape", None, replies(), (note("tasks/status", **task(**named())),)),
    ("tasks/task-shape", None, replies(), (note("tasks/status", taskId="t"),)),
    (
        "tasks/related-messages-name-task",
        Severity.WARNING,
        replies(),
        (note("message", level="info", data=1, **named("unknown")),),
    ),
]


@pytest.mark.parametrize(
    ("requirement", "ceiling", "results", "told"), BREAKS, ids=[f"{n}-{row[0]}" for n, row in enumerate(BREAKS)]
)
def test_a_server_that_breaks_a_rule_of_tasks_is_caught(
    requirement: str, ceiling: Severity | None, results: dict[str, Json], told: tuple[Json, ...]
) -> None:
    found = broken(judged(Server(results, {**CAPABILITIES, "logging": {}}, before=told), life, revision=OLD))
    assert requirement in found
    assert found[requirement] == ceiling


def test_a_correct_server_with_tasks_breaks_nothing() -> None:
    told = (note("tasks/status", **task()), note("message", level="info", data=1, **named()))
    ledger = judged(Server(replies(), {**CAPABILITIES, "logging": {}}, before=told), life, revision=OLD)
    assert ledger.findings == []
    assert {"tasks/task-shape", "tasks/result-names-task", "tasks/starts-working"} <= set(ledger.tested)


def test_a_status_that_was_on_its_way_when_the_task_ended_is_tolerated() -> None:
    def script(session: Session) -> None:
        session.request("tools/call", {"name": "t", "arguments": {}, "task": {}})
        calls = [session.send("tasks/get", {"taskId": "t"}) for _ in range(2)]
        session.wait(*calls)

    held: list[Message] = []

    def get(message: Message) -> list[Json]:
        held.append(message)
        if len(held) < 2:
            return []
        return [answer(held[1], task(status="completed")), answer(held[0], task())]

    ledger = judged(Server(replies(tasks_get=get), CAPABILITIES), script, revision=OLD)
    assert ledger.findings == []


def test_progress_that_comes_after_a_task_was_seen_at_its_end_is_late() -> None:
    def get(message: Message) -> list[Json]:
        return [answer(message, task(status="completed")), note("progress", progressToken="a", progress=1, **named())]

    def script(session: Session) -> None:
        params = {"name": "t", "arguments": {}, "task": {}, "_meta": {"progressToken": "a"}}
        session.request("tools/call", params)
        session.request("tasks/get", {"taskId": "t"})

    found = broken(judged(Server(replies(tasks_get=get), CAPABILITIES), script, revision=OLD))
    assert found == {"progress/task-progress-stops-at-terminal": None}


def test_two_tasks_of_one_id_are_told() -> None:
    def script(session: Session) -> None:
        for _ in range(2):
            session.request("tools/call", {"name": "t", "arguments": {}, "task": {}})

    assert set(broken(judged(Server(replies(), CAPABILITIES), script, revision=OLD))) == {"tasks/id-unique"}


def test_a_server_that_ignores_the_member_task_answers_in_the_usual_way() -> None:
    def script(session: Session) -> None:
        session.request("tools/call", {"name": "t", "arguments": {}, "task": {}})

    assert judged(Server(), script, revision=OLD).findings == []


@pytest.mark.parametrize(
    ("ids", "easy"),
    [
        (["task-1", "task-2", "task-3"], True),
        (["1", "2", "10"], True),
        (["job-2025-11-25-0001", "job-2025-11-25-0002", "job-2025-11-25-0003"], True),
        (["4f8b1a8e0c2d4d5f", "9c0e7b6a5d4f3e21", "0a1b2c3d4e5f6a7b"], False),
        (["018f3c1e-7a3b-7c21-9d5e-3f2a1b0c9d8e", "018f3c1e-7a3b-7d92-8a1f-5e6d7c8b9a01"], False),
    ],
)
def test_ids_are_easy_to_guess_if_they_differ_by_little(ids: list[str], easy: bool) -> None:
    assert guessable(ids) is easy


SAMPLING: Json = {"sampling": {}, "tasks": {"requests": {"sampling": {"createMessage": {}}}}}


def test_what_a_server_asks_as_a_task_is_judged_by_what_the_client_declared() -> None:
    question = request("sampling/createMessage", messages=[], maxTokens=1, task={})
    found = broken(judged(Server(before=(question,)), CALL, client={"sampling": {}}))
    assert found == {"tasks/requestor-augments-declared-only": None}
    assert broken(judged(Server(before=(question,)), CALL, client=SAMPLING)) == {}


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result"])
def test_a_task_of_the_client_that_the_server_has_asked_for_is_not_cancelled_like_a_request(method: str) -> None:
    question = request("sampling/createMessage", messages=[], maxTokens=1, task={})
    asked = request(method, "s2", taskId="mcp-conform-client-task-1")
    cancelled = note("cancelled", requestId="s1")
    script: Script = lambda session: [session.request("tools/call", {"name": "t"}), session.hear_out()]  # noqa: E731
    known = Server(before=(question,), after=(asked, cancelled))
    crossed = Server(before=(question,), after=(cancelled,))
    assert broken(judged(known, script, client=SAMPLING)) == {"cancellation/tasks-cancelled-by-tasks-cancel": None}
    assert broken(judged(crossed, script, client=SAMPLING)) == {}


# -- the tasks that the suite runs as a client

ABLE: Json = {
    "elicitation": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}},
}
FORM = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}, "task": {"ttl": 1}}


def ask(tasks: ClientTasks, method: str, **params: Json) -> Any:
    reply = tasks.reply(method, params, answer_to)
    assert reply is not None
    return reply.get("result", reply.get("error"))


def test_a_request_of_the_server_becomes_a_task_that_is_done_when_its_course_is() -> None:
    tasks = ClientTasks(ABLE)
    identifier = ask(tasks, "elicitation/create", **FORM)["task"]["taskId"]
    seen = [ask(tasks, "tasks/get", taskId=identifier)["status"] for _ in range(3)]
    assert seen == ["working", "completed", "completed"]
    result = ask(tasks, "tasks/result", taskId=identifier)
    assert result["action"] == "accept"
    assert result["_meta"][RELATED] == {"taskId": identifier}
    assert ask(tasks, "tasks/cancel", taskId=identifier)["code"] == -32602


def test_the_result_of_an_endless_task_is_not_answered() -> None:
    tasks = ClientTasks(ABLE)
    tasks.course = ("working",)
    identifier = ask(tasks, "elicitation/create", **FORM)["task"]["taskId"]
    assert tasks.reply("tasks/result", {"taskId": identifier}, answer_to) is None
    assert ask(tasks, "tasks/cancel", taskId=identifier)["status"] == "cancelled"


def test_the_list_of_the_clients_tasks_takes_several_pages() -> None:
    tasks = ClientTasks(ABLE)
    made = [ask(tasks, "elicitation/create", **FORM)["task"]["taskId"] for _ in range(3)]
    page, found = ask(tasks, "tasks/list"), []
    while True:
        found += [each["taskId"] for each in page["tasks"]]
        if "nextCursor" not in page:
            break
        page = ask(tasks, "tasks/list", cursor=page["nextCursor"])
    assert found == made
    assert ask(tasks, "tasks/list", cursor="invented")["code"] == -32602


def test_what_the_client_says_about_its_tasks_is_valid() -> None:
    tasks, schemas = ClientTasks(ABLE), for_revision(OLD)
    created = ask(tasks, "elicitation/create", **FORM)
    assert schemas.problems("tasks#CreateTaskResult", created) == []
    assert schemas.problems("tasks#GetTaskResult", ask(tasks, "tasks/get", taskId=created["task"]["taskId"])) == []
    assert schemas.problems("tasks#ListTasksResult", ask(tasks, "tasks/list")) == []


@pytest.mark.parametrize(("capabilities", "revision"), [({"elicitation": {}}, OLD), (ABLE, "2025-06-18")])
def test_a_client_without_tasks_answers_at_once(capabilities: Json, revision: str) -> None:
    answers = Answers(capabilities, BY_DATE[revision])
    assert answers.reply("elicitation/create", FORM) == {"result": {"action": "accept", "content": {}}}
    assert "error" in (answers.reply("tasks/get", {"taskId": "x"}) or {})


# -- what may be called


def test_a_tool_that_runs_as_a_task_only_is_not_called_plainly_nor_without_leave() -> None:
    hints = {"annotations": {"readOnlyHint": True}}
    tools = tuple(
        {"name": support, "execution": {"taskSupport": support}, **hints}
        for support in ("forbidden", "optional", "required")
    )
    tools += ({"name": "unsafe", "execution": {"taskSupport": "optional"}},)
    survey = Survey(CAPABILITIES, CallPolicy(), tools=tools)
    assert [tool["name"] for tool in survey.callable_tools] == ["forbidden", "optional"]
    assert [tool["name"] for tool in survey.task_tools] == ["optional", "required"]
    assert Survey({"tools": {}}, CallPolicy(), tools=tools).task_tools == []


def test_results_are_compared_without_their_meta() -> None:
    assert bare({"content": [], "_meta": {"a": 1}}) == bare({"content": []})


# -- the reference server


def create(client: Client, name: str, **params: Json) -> Message:
    created: Message = client.result("tools/call", name=name, arguments={}, task={"ttl": 60_000}, **params)["task"]
    assert created["status"] == "working"
    return created


def test_the_result_of_a_task_is_that_of_a_plain_call_and_names_it() -> None:
    with Client(revision=OLD) as client:
        identifier = create(client, "count")["taskId"]
        result = client.result("tasks/result", taskId=identifier)
        assert result.pop("_meta") == {RELATED: {"taskId": identifier}}
        assert result == client.result("tools/call", name="count", arguments={})
        assert client.result("tasks/get", taskId=identifier)["status"] == "completed"
        assert [each["taskId"] for each in client.result("tasks/list")["tasks"]] == [identifier]


def test_a_task_that_is_cancelled_is_over() -> None:
    with Client(revision=OLD) as client:
        identifier = create(client, "wait")["taskId"]
        assert client.result("tasks/cancel", taskId=identifier)["status"] == "cancelled"
        assert client.code("tasks/cancel", taskId=identifier) == -32602
        assert client.result("tasks/get", taskId=identifier)["status"] == "cancelled"


@pytest.mark.parametrize(
    ("name", "params"), [("count_later", {"arguments": {}}), ("echo", {"arguments": {"text": ""}, "task": {}})]
)
def test_a_tool_is_called_as_its_task_support_says(name: str, params: Message) -> None:
    with Client(revision=OLD) as client:
        assert client.code("tools/call", name=name, **params) == -32601


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18"])
def test_earlier_revisions_have_no_tasks(revision: str) -> None:
    with Client(revision=revision) as client:
        assert "tasks" not in client.opened["result"]["capabilities"]
        assert "content" in client.result("tools/call", name="count_later", arguments={}, task={})
        assert client.code("tasks/list") == -32601
