"""Which request a response answers, whatever its id says, and how long one that never comes is waited for."""

from __future__ import annotations

import pytest
from sessions import session

from conformance.checks.ledger import Ledger
from conformance.model import Json
from conformance.session.patience import GRACE, LEAST, Patience
from conformance.session.session import Session

ECHOED, ONCE = "jsonrpc/response-id-echoed", "jsonrpc/every-request-answered-once"


@pytest.mark.parametrize(
    "wrong",
    [{"id": None}, {}, {"id": 700}, {"id": [1]}, {"id": True}, {"id": 1}],
    ids=["null", "none", "unknown", "list", "bool", "an earlier one"],
)
def test_an_answer_with_a_wrong_id_is_that_of_the_only_request_under_way(wrong: dict[str, Json]) -> None:
    ledger = Ledger()
    talking = session(lambda asked: [{**wrong, "error": {"code": -32601, "message": "no"}}], ledger)
    calls = [talking.request("mcp-conform/none") for _ in range(3)]
    assert [call.error["code"] for call in calls] == [-32601] * 3
    talking.close()
    _finish(talking)
    assert {finding.requirement for finding in ledger.findings} >= {ECHOED}
    assert ONCE not in {finding.requirement for finding in ledger.findings}


def test_a_parse_error_without_an_id_means_that_the_request_was_not_heard() -> None:
    talking = session(lambda asked: [{"id": None, "error": {"code": -32700, "message": "Parse error"}}])
    call = talking.request("ping")
    assert call.answers == []
    assert "-32700" in call.lost
    assert talking.requests.adopted == {}


def test_the_right_answer_is_preferred_to_one_that_came_before_it() -> None:
    ledger = Ledger()
    talking = session(lambda asked: [{"id": 700, "result": {}}, {"id": asked["id"], "result": {"right": True}}], ledger)
    assert talking.request("ping").result == {"right": True}
    assert talking.requests.adopted == {}


def test_a_second_answer_is_not_taken_for_that_of_the_next_request() -> None:
    ledger = Ledger()
    talking = session(lambda asked: [{"id": asked["id"], "result": {"of": asked["id"]}}] * 2, ledger)
    calls = [talking.request("ping") for _ in range(3)]
    assert [call.result["of"] for call in calls] == [call.id for call in calls]
    talking.close()
    _finish(talking)
    assert ONCE in {finding.requirement for finding in ledger.findings}
    assert ECHOED not in {finding.requirement for finding in ledger.findings}


def test_with_several_requests_under_way_nothing_is_guessed() -> None:
    talking = session(lambda asked: [{"id": None, "result": {}}])
    calls = [talking.send("ping") for _ in range(2)]
    assert not talking.wait(*calls, timeout=4 * GRACE)
    assert [call.answers for call in calls] == [[], []]


def test_an_answer_that_is_not_utf8_is_an_answer_all_the_same() -> None:
    talking = session(lambda asked: [b'{"jsonrpc":"2.0","id":%d,"result":{"text":"gr\xfc\xdfe"}}' % asked["id"]])
    assert talking.request("ping").result == {"text": "gr\ufffd\ufffde"}


def test_what_goes_unanswered_while_other_requests_are_answered_is_waited_for_less() -> None:
    quick = session(lambda asked: [] if asked["method"] == "ping" else [{"id": asked["id"], "result": {}}])
    patience = quick.patience
    for _ in range(2):
        ping = quick.request("ping")
        assert ping.lost == "no answer within 1 s"
        quick.request("tools/list")
    assert patience.tedious("ping")
    assert patience.limit([ping], 10.0) == LEAST
    assert quick.sentinel() == ("tools/list", None)
    other = quick.request("prompts/list")
    assert patience.limit([other], 10.0) == 10.0
    assert patience.limit([ping, other], 10.0) == 10.0
    patience.renew()
    assert patience.limit([ping], 10.0) == 10.0


def test_a_list_is_no_sentinel_before_a_request_that_settles_the_era_of_a_server() -> None:
    talking = session(lambda asked: [] if asked["method"] == "ping" else [{"id": asked["id"], "result": {}}])
    talking.calls.clear()  # as where no session is opened by a request of its own
    unanswered = talking.send("ping")
    for _ in range(2):
        talking.patience.missed(unanswered)
    assert talking.sentinel() == ("ping", None)
    assert talking.sentinel(other=True) == ("tools/list", None)
    talking.request("prompts/list")
    assert talking.sentinel() == ("tools/list", None)


def test_a_server_that_answers_nothing_any_more_is_deaf_and_later_sentinels_are_waited_for_less() -> None:
    alive = True
    talking = session(lambda asked: [{"id": asked["id"], "result": {}}] if alive else [])
    talking.hear_out()
    assert not talking.deaf
    alive = False
    asked = talking.hear_out()
    assert asked is not None and talking.deaf
    assert talking.patience.sentinel_limit(asked, 10.0) == LEAST


@pytest.mark.parametrize(("slowest", "limit"), [(0.01, LEAST), (0.1, 2.0), (0.2, 2.2), (3.0, 5.0), (9.0, 10.0)])
def test_a_slow_server_is_waited_for_longer_than_it_ever_took(slowest: float, limit: float) -> None:
    patience = Patience()
    talking = session(lambda asked: [{"id": asked["id"], "result": {}}])
    patience.answered(talking.request("tools/list"), slowest)
    missed = talking.send("ping")
    for _ in range(2):
        patience.missed(missed)
    assert patience.limit([missed], 10.0) == pytest.approx(limit)


def _finish(over: Session) -> None:
    for observer in over.observers:
        observer.finish()  # type: ignore[attr-defined]
