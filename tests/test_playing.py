"""What a case sends, and what it decides, on servers in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from sessions import REVISION
from sessions import session as opened_session

from conformance.catalogue.case_files import load_cases
from conformance.catalogue.case_names import Known
from conformance.checks.ledger import Ledger
from conformance.checks.probes import Bench
from conformance.checks.registry import cases
from conformance.engine.player import play
from conformance.model import Json, Limits, Requirement
from conformance.revisions import BY_DATE
from conformance.session.eras import era_of
from conformance.session.session import Session
from conformance.survey.picks import PICKS, picks
from conformance.survey.survey import CallPolicy, Survey
from conformance.transports.memory import MemoryTransport

CASE = "own/mine/it"
TOOLS = tuple({"name": name, "inputSchema": {"type": "object"}} for name in ("Look", "look", "LOOK", "see", "7"))
ALL = CallPolicy("all")


class Played:
    """A case that was played: `sent` are the requests that the server heard, `ledger` what was decided."""

    def __init__(self, folder: Path, text: str, survey: Survey | None = None, answer: Callable[[Json], Json] = dict):
        (folder / "mine.yaml").write_text(f"area: mine\ncases:\n  - id: it\n    title: What is tested here\n{text}")
        rules: dict[str, Requirement] = {}
        (case,) = load_cases(folder, Known({}, set(PICKS), {}, rules))
        self.sent: list[Json] = []
        self.ledger = Ledger(CASE)

        def respond(message: Json) -> Iterable[Json]:
            self.sent.append(message)
            answered = answer(message)
            yield answered if "method" in answered else {"id": message["id"], **answered}

        target = opened_session(respond)
        target.case = CASE
        play(case, Bench(target, survey or Survey({}, ALL), self.ledger, None), {})  # type: ignore[arg-type]


def called(played: Played) -> list[str]:
    return [message["params"]["name"] for message in played.sent if message["method"] == "tools/call"]


SUCCEEDS = """\
    each: {tool: [a, b, c]}
    steps:
      - request: tools/call
        params: {name: $tool}
        expect:
          - judge:
              - {response: {result: {ok: true}}, held: true}
              - {response: {error: {code: 1}}, broken: it has failed}
"""


def test_the_steps_are_played_for_each_thing(tmp_path: Path) -> None:
    played = Played(tmp_path, SUCCEEDS, answer=lambda message: {"result": {"ok": True}})
    assert called(played) == ["a", "b", "c"]


def test_no_further_thing_is_taken_once_something_was_held(tmp_path: Path) -> None:
    def answer(message: Json) -> Json:
        return {"result": {"ok": message["params"]["name"] == "b"}}

    played = Played(tmp_path, f"    until-decided: true\n{SUCCEEDS}", answer=answer)
    assert called(played) == ["a", "b"]
    assert CASE in played.ledger.tested


def test_no_further_thing_is_taken_once_something_was_broken(tmp_path: Path) -> None:
    played = Played(tmp_path, f"    until-decided: true\n{SUCCEEDS}", answer=lambda _: {"error": {"code": 1}})
    assert called(played) == ["a"]
    assert [finding.message for finding in played.ledger.findings] == ["it has failed"]


def test_what_decides_nothing_has_all_things_taken(tmp_path: Path) -> None:
    played = Played(tmp_path, f"    until-decided: true\n{SUCCEEDS}", answer=lambda _: {"result": {"ok": False}})
    assert called(played) == ["a", "b", "c"]
    assert CASE not in played.ledger.tested


def test_the_keys_of_a_list_are_kept_as_they_came_and_sorted(tmp_path: Path) -> None:
    text = """\
    steps:
      - pages: tools/list
        save: {list: pages}
        expect: [{saved: {list.keys: [b, a, c], list.sorted-keys: [a, b, c], list.pages: 2}}]
"""
    pages = [{"tools": [{"name": "b"}, {"name": "a"}], "nextCursor": "x"}, {"tools": [{"name": "c"}]}]
    played = Played(tmp_path, text, answer=lambda _: {"result": pages.pop(0)})
    assert not played.ledger.findings
    assert CASE in played.ledger.tested


LIKE = """\
    steps:
      - request: tools/call
        params: {name: plain}
        save: {plain: response}
      - request: tools/call
        params: {name: other}
        like: plain
        expect:
          - judge:
              - {response: {result: {ok: true}}, held: true}
              - {response: {error: {code: 1}}, broken: it has failed}
"""
SERVED: Json = {"result": {"ok": True}}
REFUSED: Json = {"error": {"code": 1}}


@pytest.mark.parametrize(
    ("answers", "asked", "broken"),
    [
        ([SERVED, SERVED], ["plain", "other"], False),
        ([REFUSED, REFUSED], ["plain", "other"], True),  # what is refused anyway is for the rows to tell
        ([SERVED, REFUSED, REFUSED, SERVED], ["plain", "other", "other", "plain"], True),
        ([SERVED, REFUSED, REFUSED, REFUSED], ["plain", "other", "other", "plain"], False),
        ([SERVED, REFUSED, SERVED], ["plain", "other", "other"], False),
    ],
)
def test_what_is_refused_though_it_is_like_what_was_served_is_asked_for_once_more(
    answers: list[Json], asked: list[str], broken: bool, tmp_path: Path
) -> None:
    left = list(answers)
    played = Played(tmp_path, LIKE, answer=lambda _: left.pop(0))
    assert called(played) == asked
    assert bool(played.ledger.findings) is broken
    assert (CASE in played.ledger.tested) is (broken or answers == [SERVED, SERVED])


WAITS_FOR = """\
    steps:
      - request: subscriptions/listen
        wait-for: notifications/begun
        save: {begun: notification}
        expect: [{saved: {begun: {$present: true}}}]
"""


def test_a_notification_is_waited_for_in_place_of_the_answer(tmp_path: Path) -> None:
    played = Played(tmp_path, WAITS_FOR, answer=lambda _: {"method": "notifications/begun"})
    assert CASE in played.ledger.tested
    assert not played.ledger.findings


def test_an_answer_ends_the_wait_for_a_notification(tmp_path: Path) -> None:
    played = Played(tmp_path, WAITS_FOR, answer=lambda _: {"error": {"code": -32601, "message": "unknown"}})
    assert [finding.requirement for finding in played.ledger.findings] == [CASE]


class Greeted:
    """A session that is not opened yet, whose server keeps what it hears."""

    def __init__(self, revision: str, client: Json) -> None:
        self.sent: list[Json] = []

        def respond(line: bytes) -> Iterable[bytes]:
            self.sent.append(json.loads(line))
            yield b'{"jsonrpc": "2.0", "id": 1, "result": {}}'

        dated = BY_DATE[revision]
        self.session = Session(
            MemoryTransport(respond), era_of(dated), dated, client=client, limits=Limits(answer=1.0, start=1.0)
        )


def test_initialize_carries_version_capabilities_and_name_unless_the_case_says_otherwise(tmp_path: Path) -> None:
    text = """\
    open: false
    isolation: process
    steps:
      - request: initialize
        params: {clientInfo: {name: somebody}}
        expect: [{response: {result: {$present: true}}}]
"""
    (tmp_path / "mine.yaml").write_text(f"area: mine\ncases:\n  - id: it\n    title: What is tested here\n{text}")
    (case,) = load_cases(tmp_path, Known({}, set(PICKS), {}, {}))
    target = Greeted(REVISION.date, {"roots": {}})
    play(case, Bench(target.session, Survey({}, ALL), Ledger(CASE), None), {})  # type: ignore[arg-type]
    (initialize,) = target.sent
    assert initialize["params"] == {
        "protocolVersion": REVISION.date,
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "somebody"},
    }


# -- errors that are no failures of the server

OFFERED = Survey(
    {"resources": {}, "prompts": {}, "completions": {}},
    ALL,
    resources=({"uri": "a:b", "name": "r"},),
    templates=({"uriTemplate": "a:{x}", "name": "t"},),
    prompts=({"name": "p"},),
)


@pytest.mark.parametrize("code", [-32021, -32042])
@pytest.mark.parametrize("name", ["resources/read-each", "prompts/get-each", "completion/each"])
def test_what_needs_something_of_the_client_first_has_not_failed_inside_the_server(name: str, code: int) -> None:
    (case,) = (each for each in cases() if each.id == name)
    target = opened_session(lambda message: [{"id": message["id"], "error": {"code": code, "message": "first"}}])
    target.case = name
    ledger = Ledger(name)
    play(case, Bench(target, OFFERED, ledger, None), {})  # type: ignore[arg-type]
    assert [finding.requirement for finding in ledger.findings] == []


# -- picks


def test_a_name_with_swapped_case_is_none_that_the_server_lists() -> None:
    swapped = [each["swapped"]["name"] for each in picks("tool-call-and-swapped-name", Survey({}, ALL, tools=TOOLS))]
    assert swapped == ["lOOK", "SEE"]


def test_only_versions_without_a_handshake_are_picked_among_the_advertised_ones() -> None:
    survey = Survey({}, ALL, versions=("2025-11-25", "2026-07-28", "2027-01-01"))
    assert picks("advertised-modern-version", survey) == ["2026-07-28", "2027-01-01"]


def test_tools_of_a_server_without_tasks_that_say_they_run_as_such_are_tried_first() -> None:
    wanting = {**TOOLS[3], "execution": {"taskSupport": "optional"}}
    names = [each["name"] for each in picks("never-task-call", Survey({}, ALL, tools=(*TOOLS[:2], wanting)))]
    assert names == ["see", "Look", "look"]


def test_a_tool_that_may_run_as_a_task_is_none_that_never_does() -> None:
    capabilities: Json = {"tasks": {"requests": {"tools": {"call": {}}}}}
    tools = tuple({**TOOLS[3], "name": kind, "execution": {"taskSupport": kind}} for kind in ("optional", "required"))
    survey = Survey(capabilities, ALL, tools=(*tools, TOOLS[0]))
    assert [each["name"] for each in picks("task-call", survey)] == ["optional", "required"]
    assert [each["name"] for each in picks("task-only-call", survey)] == ["required"]
    assert [each["name"] for each in picks("never-task-call", survey)] == ["Look"]
