"""Servers that close the connection of a stream before the response, as they may: clients come back for the rest."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.model import Frame
from conformance.session.messages import Call
from conformance.session.polling import MOST, USUAL, Polling
from conformance.transports import Ended

SERVER = Path(__file__).resolve().parent / "servers" / "polling_http.py"


def judged(folder: Path, *server: object, options: tuple[str, ...] = ()) -> dict[str, str]:
    """What is said of that server, which breaks no rule that fails it: requirement → verdict."""
    file = folder / "report.json"
    command = [sys.executable, "-m", "conformance", "--url", "http://127.0.0.1:{port}/", "--fuzz", "0"]
    started = " ".join([sys.executable, str(SERVER), "{port}", *map(str, server)])
    command += ["--server", started, "--json", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    (ran,) = json.loads(file.read_text())["runs"]
    verdicts = {each["requirement"]: each["verdict"] for each in ran["verdicts"]}
    failed = {name for name, verdict in verdicts.items() if verdict == "failed"}
    assert (done.returncode, failed - {"transport-http/sse-no-buffering-header"}) == (0, set()), done.stdout
    return verdicts


@pytest.mark.parametrize("times", [0, 3])
def test_a_client_comes_back_for_a_response_as_often_as_it_is_sent_away(times: int, tmp_path: Path) -> None:
    only = ("--only", "tools", "--only", "jsonrpc/ids-of-each-method", "--only", "transport-http")
    verdicts = judged(tmp_path, times, options=only)
    assert verdicts["transport-http/sse-delivers-response"] == "passed"
    assert verdicts["transport-http/sse-retry-before-close"] == "passed"
    assert verdicts["tools/call-result-shape"] == "passed"


def test_a_client_that_comes_back_for_the_answer_to_initialize_names_the_session_that_it_opens(tmp_path: Path) -> None:
    only = ("--only", "tools", "--only", "lifecycle", "--only", "transport-http")
    verdicts = judged(tmp_path, 0, 10, "sessions", options=only)
    assert verdicts["tools/call-result-shape"] == "passed"
    assert verdicts["transport-http/terminated-session-404"] == "passed"


@pytest.mark.parametrize(("retry", "expected"), [(1_500, "passed"), (100_000, "inconclusive")])
def test_a_client_that_is_sent_away_for_longer_than_it_waits_blames_nobody(
    retry: int, expected: str, tmp_path: Path
) -> None:
    options = ("--timeout", "1", "--only", "tools/call-each")
    assert judged(tmp_path, 0, retry, options=options)["tools/call-result-shape"] == expected


def call() -> Call:
    """A request whose answer is a stream of events, on exchange 1."""
    asked = Call(1, "tools/call", None, Frame(0, "us", "post", 0.0, b"", exchange=1))
    asked.head = Frame(1, "target", "head", 0.0, b"", exchange=1, status=200)
    return asked


def event(**fields: str) -> Frame:
    """An event without data on that stream."""
    return Frame(2, "target", "event", 0.0, b"", exchange=1, fields=fields)


END = Ended(0.0, "it held no response", 1, empty=True)


def test_a_stream_without_event_ids_has_ended_when_its_connection_has() -> None:
    polling, asked = Polling(), call()
    polling.heard(asked, event(retry="10"))
    assert polling.cut(asked, END) is END
    assert polling.due is None


@pytest.mark.parametrize(("retry", "seconds"), [({"retry": "250"}, 0.25), ({}, USUAL), ({"retry": "soon"}, USUAL)])
def test_the_server_says_when_to_come_back(retry: dict[str, str], seconds: float) -> None:
    polling, asked = Polling(), call()
    polling.heard(asked, event(id="a", **retry))
    assert polling.cut(asked, END) is None
    due = polling.due
    assert due is not None
    assert due <= seconds
    assert polling.take() is None


def test_who_does_not_give_the_rest_is_told_how_the_stream_was_cut_off() -> None:
    polling, asked = Polling(), call()
    polling.heard(asked, event(id="a", retry="0"))
    assert polling.cut(asked, END) is None
    cut = polling.take()
    assert cut is not None
    assert cut.last == "a"
    polling.resumed(cut, 2)
    asked.head = Frame(3, "target", "head", 0.0, b"", exchange=2, status=405)
    assert polling.cut(asked, Ended(0.0, "HTTP status 405", 2)) is END


def test_nobody_comes_back_for_ever() -> None:
    polling, asked = Polling(), call()
    polling.heard(asked, event(id="a", retry="0"))
    ended, number = polling.cut(asked, END), 1
    while ended is None:
        cut = polling.take()
        assert cut is not None
        number += 1
        polling.resumed(cut, number)
        asked.head = Frame(3, "target", "head", 0.0, b"", exchange=number, status=200)
        ended = polling.cut(asked, Ended(0.0, "again", number))
    assert (ended, number) == (END, MOST + 1)


def test_where_streams_are_not_resumable_nobody_comes_back() -> None:
    polling, asked = Polling(resumable=False), call()
    polling.heard(asked, event(id="a", retry="0"))
    assert polling.cut(asked, END) is END


@pytest.mark.parametrize(("retry", "stays"), [("30000", True), ("90000", False)])
def test_the_time_for_an_answer_does_not_run_while_a_client_is_sent_away(retry: str, stays: bool) -> None:
    polling, asked = Polling(), call()
    polling.heard(asked, event(id="a", retry=retry))
    assert polling.cut(asked, END) is None
    assert (polling.extended(0.0, [asked], 10.0) > time.monotonic() + 10.0) is stays
    assert polling.extended(0.0, [call()], 10.0) == 0.0
    assert polling.sent_away(asked) == f"the server wants to be asked for it again after {retry[:2]} s"


def test_the_rest_of_a_stream_belongs_to_the_request_that_opened_it() -> None:
    polling, asked = Polling(), call()
    polling.heard(asked, event(id="a", retry="0"))
    polling.cut(asked, END)
    cut = polling.take()
    assert cut is not None
    polling.resumed(cut, 7)
    assert [polling.origin(exchange) for exchange in (7, 1, 8, None)] == [1, 1, 8, None]


@pytest.mark.parametrize("why", ["excused", "lost"])
def test_what_nobody_waits_for_is_not_asked_for_again(why: str) -> None:
    polling, asked = Polling(), call()
    polling.heard(asked, event(id="a", retry="0"))
    assert polling.cut(asked, END) is None
    setattr(asked, why, "so")
    assert polling.take() is None
