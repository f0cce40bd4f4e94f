"""HTTP requests whose bytes are written out: what is sent of them, and what is made of the answer."""

from __future__ import annotations

import io
from email.message import Message

import pytest
from test_http_transport import Connect, connect, json  # noqa: F401

from conformance.reference.bodies import Unframed, read
from conformance.transports import Arrival, Ended
from conformance.transports.written_requests import APART, WHOLE, completed, method_of

USUAL = {"Accept": "text/event-stream", "Mcp-Session-Id": "7"}


def test_a_written_request_gets_the_headers_that_it_does_not_name_behind_its_first_line() -> None:
    written = b"POST / HTTP/1.1\r\naccept: */*\r\nX: 1\r\n\r\nbody"
    assert completed(written, USUAL) == b"POST / HTTP/1.1\r\nMcp-Session-Id: 7\r\naccept: */*\r\nX: 1\r\n\r\nbody"


def test_a_written_header_may_stand_for_its_usual_value_or_for_none() -> None:
    written = b"POST / HTTP/1.1\r\nACCEPT: @usual\r\nMcp-Session-Id: @none\r\n\r\n"
    assert completed(written, USUAL) == b"POST / HTTP/1.1\r\nACCEPT: text/event-stream\r\n\r\n"
    assert completed(b"POST / HTTP/1.1\r\nX: @usual\r\n\r\n", {}) == b"POST / HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("written", [b"", b"GET / HTTP/1.1", b"\x16\x03\x01", b"\r\n\r\n", b" \r\n\r\nx"])
def test_what_has_no_head_is_sent_as_it_is(written: bytes) -> None:
    assert completed(written, USUAL) == written


def test_the_method_is_the_first_word_whatever_that_is() -> None:
    assert method_of(b"PUT /x HTTP/1.1\r\n\r\n") == "PUT"
    assert method_of(b"\xff\xfe") == "\ufffd\ufffd"


@pytest.mark.parametrize(("how", "channel"), [(WHOLE, "body"), (APART, "reply")])
def test_a_written_request_goes_out_byte_by_byte_and_its_answer_is_a_message_only_if_it_carries_one(
    connect: Connect,  # noqa: F811
    how: str,
    channel: str,
) -> None:
    heard: list[bytes] = []

    def answer(connection: object, request: bytes) -> None:
        heard.append(request)
        connection.sendall(json(b'{"jsonrpc":"2.0","id":1,"result":{}}'))  # type: ignore[attr-defined]

    transport = connect(answer)
    transport.send(b"POST /odd?path HTTP/1.1\r\nHost: x\r\nX-Odd: \xff\r\nContent-Length: 2\r\n\r\n{}", {}, how)
    head, body, end = (transport.receive(60) for _ in range(3))
    assert isinstance(head, Arrival)
    assert (head.channel, head.status) == ("head", 200)
    assert isinstance(body, Arrival)
    assert body.channel == channel
    assert isinstance(end, Ended)
    assert end.answered
    assert heard[0].startswith(b"POST /odd?path HTTP/1.1\r\n")
    assert b"\r\nHost: x\r\nX-Odd: \xff\r\nContent-Length: 2\r\n\r\n{}" in heard[0]


def test_what_is_no_answer_of_http_ends_the_exchange_and_no_more(connect: Connect) -> None:  # noqa: F811
    def answer(connection: object, request: bytes) -> None:
        garbage = request.startswith(b"FOO")
        connection.sendall(b"<!DOCTYPE html>\n" if garbage else json(b"{}"))  # type: ignore[attr-defined]

    transport = connect(answer)
    transport.send(b"FOO / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", {}, APART)
    end = transport.receive(60)
    assert isinstance(end, Ended)
    assert "broke off" in end.reason
    assert end.then is None
    transport.send(b"{}")
    after = transport.receive(60)
    assert isinstance(after, Arrival)
    assert after.status == 200


def _read(body: bytes, *headers: tuple[str, str]) -> bytes:
    message = Message()
    for name, value in headers:
        message[name] = value
    return read(io.BytesIO(body), message)


CHUNKED = ("Transfer-Encoding", "chunked")


def test_the_reference_server_reads_bodies_by_their_length_and_in_chunks() -> None:
    assert _read(b"abcdef", ("Content-Length", "3")) == b"abc"
    assert _read(b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: 1\r\n\r\n", CHUNKED) == b"abc0123456789"
    assert _read(b"") == b""


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"ab", [("Content-Length", "3")]),
        (b"ab", [("Content-Length", "+2")]),
        (b"ab", [("Content-Length", "99999999999999999999")]),
        (b"ab", [("Content-Length", "2"), ("Content-Length", "2")]),
        (b"2\r\nab\r\n0\r\n\r\n", [CHUNKED, ("Content-Length", "2")]),
        (b"zz\r\n", [CHUNKED]),
        (b"-1\r\nx\r\n", [CHUNKED]),
        (b"2\r\nabc\r\n", [CHUNKED]),
        (b"FFFFFFFFFFFFFFFF\r\n", [CHUNKED]),
        (b"", [CHUNKED]),
        (b"ab", [("Transfer-Encoding", "gzip")]),
    ],
)
def test_the_reference_server_refuses_a_body_whose_end_nobody_can_tell(
    body: bytes, headers: list[tuple[str, str]]
) -> None:
    with pytest.raises(Unframed):
        _read(body, *headers)
