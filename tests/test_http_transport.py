"""The HTTP transport against real sockets that say exactly the bytes of the test."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from conformance.model import Limits, Target
from conformance.target.listening import RunningServer, free_port
from conformance.target.process import StartError
from conformance.transports import Arrival, Ended, Ending, replaced
from conformance.transports.event_stream import MAX_DATA, EventStream
from conformance.transports.http import AT_ONCE, MAX_IN_FLIGHT, HttpTransport

PATIENCE = 120.0
LIMITS = Limits(quiet=0.2)
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
EMPTY = b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n"

Answer = Callable[[socket.socket, bytes], None]
Connect = Callable[..., HttpTransport]


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def json(body: bytes) -> bytes:
    """A whole answer with a JSON body."""
    return JSON % (len(body), body)


class Site:
    """Listens on a free port; `answer` gets each connection and each request on it, head and body."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.connections: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/mcp"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Close everything."""
        for each in (self.listener, *self.connections):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection.makefile("rb") as stream:
            head, length = b"", 0
            while line := stream.readline():
                head += line
                if line.lower().startswith(b"content-length:"):
                    length = int(line[15:])
                if line == b"\r\n":
                    self.answer(connection, head + stream.read(length))
                    head, length = b"", 0


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens a site with the given answer, and a transport to it."""
    opened: list[Site | HttpTransport] = []

    def open_both(answer: Answer | bytes, headers: dict[str, str] | None = None) -> HttpTransport:
        data = answer
        site = Site((lambda to, _: to.sendall(data)) if isinstance(data, bytes) else data)
        transport = HttpTransport(site.url, headers or {}, LIMITS)
        transport.start()
        opened.extend((transport, site))
        return transport

    yield open_both
    for each in opened:
        each.close()


def arrival(transport: HttpTransport) -> Arrival:
    """The next event, which must be an arrival."""
    event = transport.receive(PATIENCE)
    assert isinstance(event, Arrival), event
    return event


def end(transport: HttpTransport) -> Ended:
    """The next event, which must be an end."""
    event = transport.receive(PATIENCE)
    assert isinstance(event, Ended), event
    return event


def exchange(transport: HttpTransport) -> list[tuple[str, bytes]]:
    """Channel and data of all that arrives until the exchange ends."""
    arrived = []
    while isinstance(event := transport.receive(PATIENCE), Arrival):
        arrived.append((event.channel, event.data))
    assert isinstance(event, Ended)
    return arrived


def close_within_patience(transport: HttpTransport) -> None:
    """Fail instead of hanging if closing blocks."""
    thread = threading.Thread(target=transport.close, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "closing blocks"


def test_a_json_answer_is_a_head_a_body_and_an_end(connect: Connect) -> None:
    transport = connect(json(b'{"a":1}').replace(b"200 OK\r\n", b"200 OK\r\nMcp-Session-Id: Abc\r\n"))
    number = transport.send(b"{}")
    head, body, ended = arrival(transport), arrival(transport), end(transport)
    assert (head.channel, head.data, head.status, head.exchange) == ("head", b"", 200, number)
    assert head.headers["mcp-session-id"] == "Abc"
    assert (body.channel, body.data, body.status, body.exchange) == ("body", b'{"a":1}', 200, number)
    assert (ended.exchange, ended.reason) == (number, "the HTTP answer with status 200 held no response")


def test_an_answer_without_a_body_is_a_head_and_an_end(connect: Connect) -> None:
    transport = connect(EMPTY % b"202 Accepted")
    transport.send(b"{}")
    assert arrival(transport).status == 202
    assert end(transport).exchange == 1


def test_a_page_of_html_is_passed_on_as_it_is(connect: Connect) -> None:
    page = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<h1>\xff</h1>"

    def answer(to: socket.socket, _: bytes) -> None:
        to.sendall(page)
        to.shutdown(socket.SHUT_WR)

    transport = connect(answer)
    transport.send(b"{}")
    assert arrival(transport).status == 404
    assert (body := arrival(transport)).data == b"<h1>\xff</h1>"
    assert body.headers["content-type"] == "text/html"


def test_method_and_body_and_both_kinds_of_headers_are_sent(connect: Connect) -> None:
    requests: list[bytes] = []

    def answer(to: socket.socket, request: bytes) -> None:
        requests.append(request)
        to.sendall(EMPTY % b"200 OK")

    transport = connect(answer, {"Authorization": "Bearer x", "X-Both": "user"})
    for data, headers, method in ((b"{}", {"X-Both": "message"}, "POST"), (b"", {}, "GET"), (b"", {}, "DELETE")):
        transport.send(data, headers, method)
        exchange(transport)
    transport.write(b"raw")
    exchange(transport)
    starts = [request.partition(b"\r\n")[0] for request in requests]
    assert starts == [b"POST /mcp HTTP/1.1", b"GET /mcp HTTP/1.1", b"DELETE /mcp HTTP/1.1", b"POST /mcp HTTP/1.1"]
    assert all(b"authorization: bearer x\r\n" in request.lower() for request in requests)
    assert b"x-both: message\r\n" in requests[0].lower()
    assert b"x-both: user" not in requests[0].lower()
    assert b"x-both: user\r\n" in requests[1].lower()
    assert not any(b"\r\naccept:" in request.lower() for request in requests)
    assert [request.partition(b"\r\n\r\n")[2] for request in requests] == [b"{}", b"", b"", b"raw"]


def test_headers_go_as_they_are_written_and_characters_of_latin_1_as_one_byte(connect: Connect) -> None:
    requests: list[bytes] = []

    def answer(to: socket.socket, request: bytes) -> None:
        requests.append(request)
        to.sendall(EMPTY % b"200 OK")

    transport = connect(answer)
    transport.send(
        b"{}", replaced({"Mcp-Method": "ping", "Mcp-Name": "x"}, {"mCP-mETHOD": "p\u00e9ng", "mcp-name": None})
    )
    exchange(transport)
    assert b"\r\nmCP-mETHOD: p\xe9ng\r\n" in requests[0]
    assert b"mcp-method" not in requests[0].replace(b"mCP-mETHOD", b"").lower()
    assert b"mcp-name" not in requests[0].lower()


def test_events_arrive_one_by_one_while_the_stream_is_open(connect: Connect) -> None:
    more = threading.Event()

    def answer(to: socket.socket, _: bytes) -> None:
        to.sendall(STREAM + chunk(b'data: {"n":1}\r') + chunk(b"\n\r\n: comment\n"))
        assert more.wait(PATIENCE)
        to.sendall(chunk("event: message\nid: 7\ndata: é".encode()[:-1]) + chunk("é\n\n".encode()[1:]) + chunk(b""))

    transport = connect(answer)
    number = transport.send(b"{}")
    assert arrival(transport).channel == "head"
    first = arrival(transport)
    assert (first.channel, first.data, first.exchange) == ("sse", b'{"n":1}', number)
    more.set()
    assert arrival(transport).data == "é".encode()
    assert end(transport).exchange == number


def test_a_refused_connection_ends_the_exchange_with_that_reason() -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp"
    transport = HttpTransport(url, {}, LIMITS)
    with pytest.raises(StartError, match=r"connection refused at 127.0.0.1:\d+; is the server running\?"):
        transport.start()
    transport.send(b"{}")
    assert end(transport).reason == f"connection refused at {url}"
    transport.close()


def test_a_connection_broken_off_in_a_body_keeps_what_came(connect: Connect) -> None:
    def answer(to: socket.socket, _: bytes) -> None:
        to.sendall(json(b'{"a":1}')[:-3])
        to.shutdown(socket.SHUT_RDWR)

    transport = connect(answer)
    transport.send(b"{}")
    assert [arrival(transport).data for _ in range(2)] == [b"", b'{"a"']
    assert end(transport).reason.startswith(f"the HTTP exchange with {transport.url} broke off: ")


def test_what_is_no_http_ends_the_exchange(connect: Connect) -> None:
    transport = connect(b'{"jsonrpc":"2.0"}\r\n\r\n')
    transport.send(b"{}")
    assert end(transport).reason.startswith(f"the HTTP exchange with {transport.url} broke off: ")


def test_a_server_that_dies_in_the_middle_of_a_stream_is_named_with_its_exit_code() -> None:
    script = (
        "import http.server, os, sys\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_POST(self):\n"
        "        self.send_response(200)\n"
        "        self.send_header('Content-Type', 'text/event-stream')\n"
        "        self.end_headers()\n"
        "        self.wfile.write(b'data: 1\\n\\ndata: 2')\n"
        "        os._exit(3)\n"
        "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()"
    )
    target = Target((sys.executable, "-c", script, "{port}"), "http://127.0.0.1:{port}/mcp")
    server = RunningServer(target, Limits())
    server.start()
    transport = HttpTransport(server.url, {}, Limits(quiet=PATIENCE), server)
    transport.start()
    number = transport.send(b"{}")
    assert exchange_of_one_event(transport) == b"1"
    assert end(transport).exchange == number
    whole = end(transport)
    assert whole.exchange is None
    assert whole.reason.startswith("the server exited with code 3")
    transport.send(b"{}")
    assert end(transport).reason.startswith("the server exited with code 3")
    assert "POST /mcp" in transport.stderr()
    assert transport.close() == Ending("remote")
    server.end()


@pytest.mark.parametrize("owned", [True, False])
def test_a_server_ends_with_the_transport_that_owns_it(owned: bool) -> None:
    command = (sys.executable, "-m", "conformance.reference", "--transport", "http", "--port", "{port}")
    server = RunningServer(Target(command, "http://127.0.0.1:{port}/mcp"), Limits())
    server.start()
    transport = HttpTransport(server.url, {}, LIMITS, server, owned=owned)
    transport.start()
    transport.close()
    assert server.running is not owned
    server.end()


def exchange_of_one_event(transport: HttpTransport) -> bytes:
    """The data of the event after the head."""
    assert arrival(transport).channel == "head"
    return arrival(transport).data


@pytest.mark.parametrize("sent", [b"", STREAM + chunk(b": open\n\n")], ids=["no answer at all", "endless stream"])
def test_closing_breaks_off_an_exchange_that_never_ends(connect: Connect, sent: bytes) -> None:
    asked = threading.Event()

    def answer(to: socket.socket, _: bytes) -> None:
        to.sendall(sent)
        asked.set()

    transport = connect(answer)
    number = transport.send(b"", {"Accept": "text/event-stream"}, "GET")
    assert asked.wait(PATIENCE)
    if sent:
        assert arrival(transport).channel == "head"
    close_within_patience(transport)
    ended = end(transport)
    assert (ended.exchange, ended.reason) == (number, "the client closed the connection")
    transport.send(b"too late")
    everything = transport.receive(0)
    assert isinstance(everything, Ended), "whoever waits for what was sent too late would wait in vain"
    assert (everything.exchange, everything.reason) == (None, "the client closed the connection")
    assert transport.receive(0) is None


def test_the_end_of_input_waits_for_answers_but_not_for_a_listening_get(connect: Connect) -> None:
    asked = threading.Event()

    def answer(to: socket.socket, request: bytes) -> None:
        asked.set()
        if request.startswith(b"POST"):
            to.sendall(json(b"1"))

    transport = connect(answer)
    transport.send(b"", None, "GET")
    assert asked.wait(PATIENCE)
    transport.send(b"{}")
    assert [arrival(transport).data for _ in range(2)] == [b"", b"1"]
    assert end(transport).exchange == 2
    transport.end_input()
    assert end(transport).exchange is None


def test_more_exchanges_than_the_limit_wait_for_their_turn(connect: Connect) -> None:
    go, lock = threading.Event(), threading.Lock()
    waiting = 0

    def answer(to: socket.socket, _: bytes) -> None:
        nonlocal waiting
        with lock:
            waiting += 1
            if waiting == MAX_IN_FLIGHT:
                go.set()
        assert go.wait(PATIENCE)
        to.sendall(EMPTY % b"202 Accepted")

    transport = connect(answer)
    numbers = {transport.send(b"{}") for _ in range(MAX_IN_FLIGHT + 8)}
    ended: set[int | None] = set()
    while len(ended) < len(numbers):
        event = transport.receive(PATIENCE)
        assert event is not None
        if isinstance(event, Ended):
            ended.add(event.exchange)
    assert ended == numbers


@pytest.mark.parametrize("status", [b"307 Temporary Redirect", b"308 Permanent Redirect"])
def test_a_redirect_that_keeps_the_method_is_followed_and_told(connect: Connect, status: bytes) -> None:
    def answer(to: socket.socket, request: bytes) -> None:
        there = request.startswith(b"POST /mcp/ ") and request.endswith(b"{}")
        moved = (EMPTY % status).replace(b"\r\n\r\n", b"\r\nLocation: /mcp/\r\n\r\n")
        to.sendall(json(b"1") if there else moved)

    transport = connect(answer)
    number = transport.send(b"{}")
    heads = [arrival(transport), arrival(transport)]
    assert [head.status for head in heads] == [int(status[:3]), 200]
    assert arrival(transport).data == b"1"
    assert end(transport).exchange == number


@pytest.mark.parametrize(
    ("status", "location"),
    [(b"302 Found", b"/mcp/"), (b"307 Temporary Redirect", b"http://elsewhere.invalid/")],
)
def test_other_redirects_are_told_and_not_followed(connect: Connect, status: bytes, location: bytes) -> None:
    transport = connect((EMPTY % status).replace(b"\r\n\r\n", b"\r\nLocation: " + location + b"\r\n\r\n"))
    transport.send(b"{}")
    assert arrival(transport).status == int(status[:3])
    assert end(transport).reason.startswith(f"the server redirects to http://{'127' if b'mcp' in location else 'else'}")


def test_a_redirect_to_nowhere_is_an_answer_like_others(connect: Connect) -> None:
    transport = connect(EMPTY % b"308 Lost")
    transport.send(b"{}")
    assert arrival(transport).status == 308
    assert end(transport).reason == "the HTTP answer with status 308 held no response"


def test_a_connection_that_the_server_closed_while_it_was_idle_is_replaced(connect: Connect) -> None:
    heard: list[bytes] = []

    def answer(to: socket.socket, request: bytes) -> None:
        heard.append(request)
        to.sendall(json(b"1"))
        to.shutdown(socket.SHUT_RDWR)

    transport = connect(answer)
    for number in range(1, 6):
        transport.send(b"%d" % number)
        assert exchange(transport) == [("head", b""), ("body", b"1")]
    assert {request.partition(b"\r\n\r\n")[2] for request in heard} == {b"1", b"2", b"3", b"4", b"5"}


def test_what_a_server_has_read_and_breaks_off_later_is_not_sent_again(connect: Connect) -> None:
    heard: list[bytes] = []

    def answer(to: socket.socket, request: bytes) -> None:
        heard.append(request)
        if request.endswith(b"good"):
            to.sendall(json(b"1"))
        else:
            threading.Event().wait(4 * AT_ONCE)
            to.shutdown(socket.SHUT_RDWR)

    transport = connect(answer)
    transport.send(b"good")
    exchange(transport)
    transport.send(b"bad")
    assert "broke off" in end(transport).reason
    assert [request.partition(b"\r\n\r\n")[2] for request in heard] == [b"good", b"bad"]


def test_a_server_that_breaks_off_each_exchange_is_asked_once_more_at_most(connect: Connect) -> None:
    heard: list[bytes] = []

    def answer(to: socket.socket, request: bytes) -> None:
        heard.append(request)
        if request.endswith(b"good"):
            to.sendall(json(b"1"))
        else:
            to.shutdown(socket.SHUT_RDWR)

    transport = connect(answer)
    transport.send(b"good")
    exchange(transport)
    transport.send(b"bad")
    assert "broke off" in end(transport).reason
    assert len(heard) <= 3


@pytest.mark.parametrize(
    ("status", "body", "over"),
    [
        (404, b"", True),
        (404, b"<h1>Not Found</h1>", True),
        (404, b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}', True),
        (404, b'{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}', False),
        (400, b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}', True),
        (400, b"Session not found", True),
        (400, b"Unknown session", True),
        (400, b'{"error":"session has expired"}', True),
        (400, b"Session abc doesn't exist", True),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}', False),
        (400, b"", False),
        (403, b"session expired", False),
        (500, b"no such session", False),
        (200, b"session not found", False),
    ],
)
def test_what_says_that_a_session_is_over(connect: Connect, status: int, body: bytes, over: bool) -> None:
    def answer(to: socket.socket, request: bytes) -> None:
        name, told = (b"Mcp-Session-Id: abc\r\n", b"200 OK") if request.endswith(b"open") else (b"", b"%d X" % status)
        to.sendall(json(b"1" if name else body).replace(b"200 OK\r\n", told + b"\r\n" + name))

    transport = connect(answer)
    transport.send(b"open")
    exchange(transport)
    for named, ends in (("made-up", False), ("abc", over)):
        transport.send(b"{}", {"Mcp-Session-Id": named})
        while isinstance(event := transport.receive(PATIENCE), Arrival):
            pass
        assert isinstance(event, Ended)
        assert (event.then is not None) == ends
        if event.then is not None:
            assert event.then.exchange is None and event.then.lost
            assert event.then.reason.startswith(f"the server has ended the session (HTTP status {status}")


def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    transport = connect(json(b"1"))
    transport.send(b"{}")
    assert exchange(transport) == [("head", b""), ("body", b"1")]


STREAMS = [
    (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    (b"data: a\r\n\ndata: b\n\r\n", [b"a", b"b"]),
    (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"]),
    (b":\n\xef\xbb\xbfdata: b\n\ndata: c\n\n", [b"c"]),
    (b"data: one\ndata:two\ndata:  three\n\n", [b"one\ntwo\n three"]),
    (b"id: 1\nretry: 5\nevent: message\ndata: x\nunknown: y\n: comment\n\n", [b"x"]),
    (b"id: 1\ndata:\n\nid: 2\ndata\n\n:\n\n\n\ndata: x\n\n", [b"x"]),
    ("data: é漢😀\r\n\r\n".encode(), ["é漢😀".encode()]),
    (b"data: whole\n\ndata: never ended\n", [b"whole"]),
]


@pytest.mark.parametrize(("stream", "expected"), STREAMS)
def test_events_are_the_same_wherever_chunks_end(stream: bytes, expected: list[bytes]) -> None:
    for border in range(len(stream) + 1):
        parser = EventStream()
        parts = (stream[:border], b"", stream[border:])
        assert [data for part in parts for data, _ in parser.feed(part)] == expected, border


def test_an_event_byte_by_byte_is_the_same() -> None:
    for stream, expected in STREAMS:
        parser = EventStream()
        assert [data for byte in stream for data, _ in parser.feed(bytes([byte]))] == expected


@pytest.mark.parametrize(
    ("event", "is_message"),
    [
        (b"data: {}", True),
        (b"event: message\ndata: {}", True),
        (b"event: keepalive\ndata: {}", False),
        (b'event: answer\ndata: {"jsonrpc": "2.0"}', True),
        (b"event: message\nid: 1\ndata:", False),
    ],
)
def test_an_event_of_another_type_is_no_message_unless_it_holds_one(event: bytes, is_message: bool) -> None:
    (told,) = EventStream().events(event + b"\n\n")
    assert told.is_message is is_message


def test_what_an_event_has_beyond_16_mib_is_counted() -> None:
    line = b"x" * 1024 * 1024
    parser = EventStream()
    for _ in range(20):
        assert parser.feed(b"data: " + line + b"\n") == []
    assert sizes(parser.feed(b"\n")) == [(MAX_DATA, 20 * len(line) + 19 - MAX_DATA)]
    parser.feed(b"data:")
    for _ in range(20):
        parser.feed(line)
    assert sizes(parser.feed(b"\n\n")) == [(MAX_DATA - 5, 20 * len(line) - MAX_DATA + 5)]
    assert parser.feed(b"data: short\n\n") == [(b"short", 0)]


def sizes(events: list[tuple[bytes, int]]) -> list[tuple[int, int]]:
    """How much of each event was kept and left out; the data itself would make a failure unreadable."""
    return [(len(data), omitted) for data, omitted in events]


def test_events_have_their_ids_and_an_event_without_data_is_told(connect: Connect) -> None:
    events = b"id: 1\nretry: 50\ndata:\n\n: comment\n\nevent: message\nid: 2\ndata: {}\n\n"
    transport = connect(STREAM + chunk(events) + chunk(b""))
    transport.send(b"{}")
    head, primer, message = arrival(transport), arrival(transport), arrival(transport)
    assert (head.channel, primer.channel, message.channel) == ("head", "event", "sse")
    assert (dict(primer.fields), primer.data) == ({"id": "1", "retry": "50"}, b"")
    assert (dict(message.fields), message.data) == ({"id": "2"}, b"{}")


@pytest.mark.parametrize("rest", [chunk(b""), b"not a chunk\r\n"], ids=["whole", "broken off"])
def test_the_end_of_an_answer_is_told(connect: Connect, rest: bytes) -> None:
    transport = connect(STREAM + chunk(b"data: {}\n\n") + rest)
    number = transport.send(b"{}")
    assert [channel for channel, _ in exchange_of(transport, number)] == ["head", "sse", "end"]


def test_a_stream_that_the_client_breaks_off_has_no_end_and_hurts_no_other(connect: Connect) -> None:
    closed = threading.Event()

    def answer(to: socket.socket, request: bytes) -> None:
        if request.startswith(b"GET"):
            to.sendall(STREAM + chunk(b"data: {}\n\n"))
            assert to.recv(1) == b""
            closed.set()
        else:
            to.sendall(json(b"{}"))

    transport = connect(answer)
    number = transport.send(b"", {}, "GET")
    assert (arrival(transport).channel, arrival(transport).channel) == ("head", "sse")
    transport.break_off(number or 0)
    over = end(transport)
    assert (over.exchange, over.arrival, over.then) == (number, None, None)
    assert closed.wait(PATIENCE)
    transport.send(b"{}")
    assert [channel for channel, _ in exchange(transport)] == ["head", "body"]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_answers_no_message_is_no_message_and_ends_no_session(connect: Connect, method: str) -> None:
    opening = json(b"{}").replace(b"200 OK\r\n", b"200 OK\r\nMcp-Session-Id: Abc\r\n")
    refusal = b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found"
    transport = connect(lambda to, request: to.sendall(opening if request.startswith(b"POST") else refusal))
    transport.send(b"{}")
    exchange(transport)
    transport.send(b"", {"Mcp-Session-Id": "Abc"}, method)
    assert arrival(transport).status == 404
    assert end(transport).then is None


def exchange_of(transport: HttpTransport, number: int | None) -> list[tuple[str, bytes]]:
    """The same as `exchange`, with what its end tells."""
    arrived = []
    while isinstance(event := transport.receive(PATIENCE), Arrival):
        arrived.append((event.channel, event.data))
    assert isinstance(event, Ended)
    assert event.exchange == number
    return [*arrived, *([(event.arrival.channel, b"")] if event.arrival is not None else [])]
