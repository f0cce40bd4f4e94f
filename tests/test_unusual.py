"""What is allowed and hardly anybody does is no finding."""

from __future__ import annotations

import socket
import sys
from http.client import HTTPException
from pathlib import Path

import pytest
from test_wrongly_blamed import against

from conformance.transports.written_requests import WrittenAnswer

SERVER = Path(__file__).resolve().parent / "servers" / "unusual.py"
CASES = {
    "answers-empty-batches-late": ("2025-03-26", "jsonrpc/batches", "cancellation/invalid"),
    "leaves-out-what-does-not-fit": ("2025-11-25", "asking/elicitation"),
    "all-in-escapes": ("2026-07-28", "versioning/initialize", "jsonrpc/ids", "discovery"),
    "asks-again-otherwise": ("2025-11-25", "asking/elicitation"),
    "does-not-wait-for-the-user": ("2025-11-25", "asking/elicitation"),
    "lists-a-template-as-a-resource": ("2025-11-25", "resources/listed-each"),
    "one-at-a-time": ("2025-11-25", "transport-stdio/unread-stderr"),
    "demands-tasks": ("2025-11-25", "tasks", "tools", "progress"),
    "names-forms-by-an-empty-object": ("2026-07-28", "asking/partial-client"),
}
"""Mode → the revision, and the cases that blamed it for what it does."""


@pytest.mark.parametrize("mode", CASES)
def test_a_server_that_is_unusual_and_right_has_no_finding(mode: str, tmp_path: Path) -> None:
    revision, *cases = CASES[mode]
    only = [word for case in cases for word in ("--only", case)]
    said = against(tmp_path, f"{sys.executable} {SERVER} {mode}", "--revision", revision, *only)
    assert (said.status, said.severities) == (0, {}), said.printed


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
def test_event_ids_that_begin_anew_in_each_session_are_no_finding(revision: str, tmp_path: Path) -> None:
    server = f"{sys.executable} {SERVER.with_name('all_streams.py')} --transport http --port {{port}}"
    cases = ("transport-http/session-ids", "transport-http/sessions", "transport-http/resumption")
    only = [word for case in cases for word in ("--only", case)]
    said = against(tmp_path, server, "--url", "http://127.0.0.1:{port}/mcp", "--revision", revision, *only)
    assert (said.status, said.grave) == (0, {}), said.printed
    assert said.verdict("transport-http/event-ids-unique") == "passed"


def test_what_the_unusual_servers_do_is_looked_at(tmp_path: Path) -> None:
    ask = against(tmp_path, f"{sys.executable} {SERVER} leaves-out-what-does-not-fit", "--only", "asking/elicitation")
    assert ask.verdict("elicitation/content-validated") == "passed"
    server = f"{sys.executable} {SERVER} names-forms-by-an-empty-object"
    named = against(tmp_path, server, "--only", "asking/partial-client", "--revision", "2026-07-28")
    assert named.verdict("meta/missing-capability-named") == "passed"


def test_who_is_silent_where_it_knows_nothing_is_not_said_to_have_it(tmp_path: Path) -> None:
    cases = ("completion/undeclared", "jsonrpc/undeclared-resources", "jsonrpc/undeclared-prompts")
    only = [word for case in (*cases, "jsonrpc/unknown-method") for word in ("--only", case)]
    said = against(tmp_path, f"{sys.executable} {SERVER} knows-nothing-else", "--revision", "2025-11-25", *only)
    assert said.severities["jsonrpc/unknown-method-refused"] == "violation"
    for area in ("completion", "resources", "prompts"):
        assert said.verdict(f"{area}/capability-declared") == "inconclusive", said.printed


def test_what_is_given_for_a_request_that_had_to_be_refused_has_no_shape(tmp_path: Path) -> None:
    server = f"{sys.executable} {SERVER} answers-null-to-what-it-does-not-know"
    said = against(tmp_path, server, "--revision", "2025-11-25", "--only", "jsonrpc/undeclared-lists")
    assert said.severities["jsonrpc/result-is-object"] == "warning", said.printed


def test_no_error_of_a_tool_is_seen_where_what_is_no_task_is_refused(tmp_path: Path) -> None:
    said = against(tmp_path, f"{sys.executable} {SERVER} demands-tasks", "--only", "tasks/life")
    assert said.verdict("tasks/result-returns-same-error") == "inconclusive", said.printed


def test_a_server_that_tells_old_clients_by_their_headers_hears_them_from_an_old_client(tmp_path: Path) -> None:
    server = f"{sys.executable} {SERVER} tells-clients-apart-by-a-header {{port}}"
    options = ("--url", "http://127.0.0.1:{port}/mcp", "--revision", "2026-07-28", "--only", "versioning/initialize")
    said = against(tmp_path, server, *options)
    assert (said.status, said.severities) == (0, {}), said.printed
    assert said.verdict("versioning/dual-era-serves-handshake") == "passed"


def test_an_answer_to_nobody_before_the_first_one_is_the_only_finding(tmp_path: Path) -> None:
    said = against(tmp_path, f"{sys.executable} {SERVER} answers-nobody-first", "--only", "session/opening")
    assert said.severities == {"jsonrpc/response-id-echoed": "violation"}, said.printed


def test_interim_answers_of_http_are_passed_over() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        interim = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
        final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        theirs.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + interim + final)
        answer = WrittenAnswer(ours, "POST")
        assert (answer.status_code, b"".join(answer.iter_raw())) == (200, b"{}")


def test_interim_answers_of_http_without_end_are_no_answer() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(200 * b"HTTP/1.1 102 Processing\r\n\r\n")
        with pytest.raises(HTTPException, match="more than 100 interim answers"):
            WrittenAnswer(ours, "POST")


def test_a_header_may_hold_bytes_that_are_not_ascii() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nX-Odd: caf\xe9\r\nContent-Length: 2\r\n\r\n{}")
        answer = WrittenAnswer(ours, "POST")
        assert (answer.status_code, answer.headers["content-length"]) == (200, "2")
        assert b"".join(answer.iter_raw()) == b"{}"
