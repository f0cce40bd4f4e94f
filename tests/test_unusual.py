"""What is allowed and hardly anybody does is no finding."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from test_wrongly_blamed import against

from conformance.transports.written_requests import WrittenAnswer

SERVER = Path(__file__).resolve().parent / "servers" / "unusual.py"
CASES = {
    "answers-empty-batches-late": ("2025-03-26", "jsonrpc/batches", "cancellation/invalid"),
    "leaves-out-what-does-not-fit": ("2025-11-25", "asking/elicitation"),
    "one-at-a-time": ("2025-11-25", "transport-stdio/unread-stderr"),
    "names-forms-by-an-empty-object": ("2026-07-28", "asking/partial-client"),
}
"""Mode → the revision, and the cases that blamed it for what it does."""


@pytest.mark.parametrize("mode", CASES)
def test_a_server_that_is_unusual_and_right_has_no_finding(mode: str, tmp_path: Path) -> None:
    revision, *cases = CASES[mode]
    only = [word for case in cases for word in ("--only", case)]
    said = against(tmp_path, f"{sys.executable} {SERVER} {mode}", "--revision", revision, *only)
    assert (said.status, said.severities) == (0, {}), said.printed


def test_what_the_unusual_servers_do_is_looked_at(tmp_path: Path) -> None:
    ask = against(tmp_path, f"{sys.executable} {SERVER} leaves-out-what-does-not-fit", "--only", "asking/elicitation")
    assert ask.verdict("elicitation/content-validated") == "passed"
    server = f"{sys.executable} {SERVER} names-forms-by-an-empty-object"
    named = against(tmp_path, server, "--only", "asking/partial-client", "--revision", "2026-07-28")
    assert named.verdict("meta/missing-capability-named") == "passed"


def test_a_header_may_hold_bytes_that_are_not_ascii() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nX-Odd: caf\xe9\r\nContent-Length: 2\r\n\r\n{}")
        answer = WrittenAnswer(ours, "POST")
        assert (answer.status_code, answer.headers["content-length"]) == (200, "2")
        assert b"".join(answer.iter_raw()) == b"{}"
