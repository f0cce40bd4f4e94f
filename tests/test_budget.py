"""What is kept of targets at once: how much, in all sessions together, and what is said of what is not."""

from __future__ import annotations

import copy
import json
import sys
import threading
from pathlib import Path

import pytest
from fronts import conform

from conformance.budget import BYTES, KEPT_BYTES, LARGE, MESSAGES, SMALL, Budget, Bulk, kept
from conformance.checks.ledger import History
from conformance.model import Frame
from conformance.session.messages import MOST_PARTS, Call, Counted, Unread, id_key
from conformance.session.reading import TOO_LONG, TOO_MANY, TOO_MUCH, read
from conformance.session.requests import MOST_ANSWERS, Requests
from conformance.session.watching import ENOUGH, Watching
from conformance.transports.stdio import Lines


def frame(number: int, message: object, origin: str = "target") -> Frame:
    return Frame(number, origin, "stdout", 0.0, json.dumps(message).encode(), message, True)  # type: ignore[arg-type]


def call(identifier: int = 1, number: int = 0) -> Call:
    request = {"jsonrpc": "2.0", "id": identifier, "method": "ping"}
    return Call(identifier, "ping", None, frame(number, request, "us"))


def test_what_is_taken_is_there_for_others_once_it_is_given_back() -> None:
    budget = Budget(10)
    assert budget.take(10)
    assert not budget.take(1)
    threading.Timer(0.0, budget.give, (5,)).start()
    assert budget.take(5, patience=60)


def test_a_large_message_counts_for_as_long_as_somebody_has_it() -> None:
    before = MESSAGES.used
    message, readable, unread = read(json.dumps({"x": "y" * LARGE}).encode())
    assert readable and not unread
    assert isinstance(message, Counted) and MESSAGES.used == before + message.size > before
    assert type(copy.deepcopy(message)) is dict
    assert MESSAGES.used == before + message.size
    del message
    assert MESSAGES.used == before


def test_what_is_no_json_counts_for_nothing() -> None:
    before = MESSAGES.used
    assert read(b"{" + b"x" * LARGE) == (None, False, "")
    assert MESSAGES.used == before


def test_a_message_that_is_too_large_is_told_from_what_is_no_message() -> None:
    many = b"[" + b"0," * MOST_PARTS + b"0]"
    assert read(many) == (None, False, TOO_MANY)
    assert read(b"{" * 100, omitted=1)[2] == TOO_MUCH
    assert read(b" " * (16 * 1024 * 1024), omitted=1)[2] == TOO_LONG
    assert read(b"x" * (16 * 1024 * 1024), omitted=1)[2] == ""
    assert MESSAGES.take(MESSAGES.most - MESSAGES.used)
    try:
        assert read(json.dumps({"x": "y" * LARGE}).encode())[2] == TOO_MUCH
    finally:
        MESSAGES.give(MESSAGES.most)


def test_commas_in_a_text_do_not_make_a_message_too_large() -> None:
    data = json.dumps({"text": "[1, 2], " * 100_000}).encode()
    assert MESSAGES.take(MESSAGES.most - MESSAGES.used - 2 * len(data))
    taken = MESSAGES.used
    try:
        message, readable, unread = read(data)
        assert (readable, unread) == (True, "") and len(message["text"]) == 800_000
    finally:
        MESSAGES.give(taken)
    commas, readable, _ = read(json.dumps({"text": "," * 2 * MOST_PARTS}).encode())
    assert readable and len(commas["text"]) == 2 * MOST_PARTS


def test_a_long_line_is_cut_where_there_is_no_room_and_the_next_one_is_whole() -> None:
    lines = Lines()
    left = BYTES.most - BYTES.used
    BYTES.enter(left)
    try:
        assert lines.feed(b"x" * 2 * SMALL) == []
        (cut, omitted), (whole, nothing) = lines.feed(b"x\nwhole\n")
    finally:
        BYTES.give(left)
    assert (len(cut), omitted) == (SMALL, SMALL + 1)
    assert (whole, nothing) == (b"whole", 0)


def test_a_long_line_counts_until_nobody_has_it() -> None:
    before = BYTES.used
    lines = Lines()
    lines.feed(b"x" * 2 * SMALL)
    assert BYTES.used > before
    ((line, _),) = lines.feed(b"\n")
    assert isinstance(line, Bulk) and BYTES.used == before + 2 * SMALL
    del line
    assert BYTES.used == before
    begun = Lines()
    begun.feed(b"x" * 2 * SMALL)
    del begun
    assert BYTES.used == before


def test_what_is_short_does_not_count() -> None:
    data = bytearray(b"short")
    assert type(kept(data)) is bytes and not data


def test_of_a_thousand_answers_to_one_request_a_few_are_kept() -> None:
    requests, asked = Requests(), call()
    requests.register(asked)
    for number in range(1, 1000):
        requests.answer(asked, frame(number, {"jsonrpc": "2.0", "id": 1, "result": {}}))
    assert len(asked.answers) == MOST_ANSWERS


def test_of_a_long_answer_the_message_is_kept_until_the_case_is_over() -> None:
    requests, asked = Requests(), call()
    requests.register(asked)
    requests.answer(asked, frame(1, {"jsonrpc": "2.0", "id": 1, "result": {"x": "y" * 2 * KEPT_BYTES}}))
    assert len(asked.answers[0].data) == KEPT_BYTES
    assert len(asked.result["x"]) == 2 * KEPT_BYTES
    requests.lighten()
    assert asked.result is None and asked.answers


def test_notifications_are_kept_for_the_case_only_and_for_what_still_waits() -> None:
    requests, done, waits = Requests(), call(1), call(2)
    for asked in (done, waits):
        requests.register(asked)
    requests.tell(frame(1, {"jsonrpc": "2.0", "method": "notifications/message"}))
    requests.answer(done, frame(2, {"jsonrpc": "2.0", "id": 1, "result": {}}))
    requests.lighten()
    assert (len(done.notifications), len(waits.notifications)) == (0, 1)


def test_the_levels_of_log_messages_are_kept_when_their_case_is_over() -> None:
    requests, done = Requests(), call(1)
    requests.register(done)
    for number, level in enumerate(["info", "debug", "info", 7, "x" * 1000]):
        params = {"level": level, "data": "told"}
        requests.tell(frame(number, {"jsonrpc": "2.0", "method": "notifications/message", "params": params}))
    requests.answer(done, frame(9, {"jsonrpc": "2.0", "id": 1, "result": {}}))
    requests.lighten()
    assert done.levels == ["info", "debug", "7", "x" * 32]


@pytest.mark.parametrize("data", [b'{"id": 2, "result": {', b'{"result": {}, "id": 2}', b'{"id": "2-x", "id": 2'])
def test_a_message_that_was_not_read_is_taken_for_the_answer_that_its_id_names(data: bytes) -> None:
    requests, other, asked = Requests(), call(1), call(2)
    for each in (other, asked):
        requests.register(each)
    requests.not_read(Frame(1, "target", "stdout", 0.0, data, unread=TOO_LONG))
    assert (asked.unread, other.unread) == (True, False)
    with pytest.raises(Unread, match="16 MiB"):
        requests.check_read([asked])


def test_a_flood_is_shown_to_observers_up_to_a_point_and_answers_always() -> None:
    class Counting:
        seen = answers = 0

        def sent(self, frame: Frame) -> None: ...

        def heard(self, frame: Frame, call: Call | None) -> None:
            self.seen += 1
            self.answers += call is not None

    watching, counting = Watching(), Counting()
    watching.observers.append(counting)
    flood = frame(1, {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 10_000}})
    for _ in range(ENOUGH // 10_000):
        watching.see(flood, None)
    watching.see(frame(2, {"jsonrpc": "2.0", "id": 1, "result": {}}), call())
    watching.judge()
    assert 1 < counting.seen < ENOUGH // 10_000
    assert counting.answers == 1


def test_sessions_that_are_over_keep_their_frames_while_there_is_room() -> None:
    told = frame(1, {"x": "y" * 1_000_000})
    histories = [History([told]) for _ in range(20)]
    assert histories[0].frames == (told,)
    assert histories[-1].frames == ()
    del histories
    assert History([told]).frames == (told,)


def test_long_ids_are_told_apart_by_a_digest() -> None:
    one, other = "i" * 1_000_000 + "1", "i" * 1_000_000 + "2"
    assert id_key(one) == id_key(one) != id_key(other)
    assert len(id_key(one)) < 200


def test_an_answer_that_is_too_large_fails_nobody(tmp_path: Path) -> None:
    bad = Path(__file__).parent / "bad_servers.py"
    server = f"{sys.executable} {bad} a-million-members"
    options = ("--revision", "2025-11-25", "--only", "jsonrpc/ids", "--only", "lifecycle/ping", "--timeout", "30")
    said = conform("--server", server, *options, cwd=tmp_path)
    assert "values that mcp-conform reads of one message" in said.stdout
    assert "is not answered" not in said.stdout
    assert said.returncode in (0, 3), said.stdout
