"""WebSocket: the whole suite over it, and servers that close, refuse or say too much."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hostile.websocket import CONTINUATION, PING, TEXT, Connection, Site, frame, head
from test_client_configs import conform, reported
from websockets.sync.server import ServerConnection, serve

from conformance.model import Limits
from conformance.target.listening import free_port
from conformance.transports import Arrival, Ended
from conformance.transports.websocket import WebSocketTransport

SERVER = f"{sys.executable} {Path(__file__).parent / 'servers' / 'over_websocket.py'} {{port}}"
URL = "ws://127.0.0.1:{port}/"
QUICK = ("--call-tools", "all", "--fuzz", "20")
PATIENCE = 60.0

Open = Callable[[Callable[[ServerConnection], None]], WebSocketTransport]
Reach = Callable[[Callable[[Connection], object]], WebSocketTransport]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Starts a server that does so with each connection, and a transport to it."""
    with ExitStack() as stack:

        def open_to(handle: Callable[[ServerConnection], None]) -> WebSocketTransport:
            server = stack.enter_context(serve(handle, "127.0.0.1", 0))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            transport = WebSocketTransport(f"ws://127.0.0.1:{server.socket.getsockname()[1]}", {}, Limits(quiet=0.5))
            stack.callback(transport.close)
            transport.start()
            return transport

        yield open_to


@pytest.mark.slow
def test_the_correct_server_has_no_finding_over_it_in_either_era(tmp_path: Path) -> None:
    report, out = reported(tmp_path, "--server", SERVER, "--url", URL, *QUICK)
    assert [(run["revision"], run["transport"]) for run in report["runs"]] == [
        ("2025-11-25", "websocket"),
        ("2026-07-28", "websocket"),
    ]
    assert any("websocket is a custom transport" in note for note in report["notes"])
    failed = [v["requirement"] for run in report["runs"] for v in run["verdicts"] if v["verdict"] == "failed"]
    assert failed == [], out
    judged = {v["requirement"].partition("/")[0] for run in report["runs"] for v in run["verdicts"]}
    assert "tools" in judged
    assert not any(area.startswith("transport-") for area in judged)


def test_a_fault_is_found_over_it(tmp_path: Path) -> None:
    words = ("--only", "jsonrpc/unknown-method", "--revision", "2025-11-25")
    server = f"{SERVER} --fault unknown-method-succeeds"
    report, out = reported(tmp_path, "--server", server, "--url", URL, *words)
    failed = {v["requirement"] for run in report["runs"] for v in run["verdicts"] if v["verdict"] == "failed"}
    assert "jsonrpc/unknown-method-refused" in failed, out


@pytest.mark.parametrize("fault", ["banner", "prints-in-tools"])
def test_a_frame_that_is_no_message_is_found(tmp_path: Path, fault: str) -> None:
    words = ("--only", "tools/call-each", "--revision", "2025-11-25", "--call-tools", "all")
    report, out = reported(tmp_path, "--server", f"{SERVER} --fault {fault}", "--url", URL, *words)
    failed = {v["requirement"] for run in report["runs"] for v in run["verdicts"] if v["verdict"] == "failed"}
    assert failed == {"jsonrpc/valid-messages"}, out


def test_messages_are_text_frames_with_the_subprotocol_of_mcp(opened: Open) -> None:
    def echo(connection: ServerConnection) -> None:
        for message in connection:
            assert isinstance(message, str)
            connection.send(f"{connection.request and connection.request.headers['Sec-WebSocket-Protocol']} {message}")

    transport = opened(echo)
    transport.send(b'{"a":1}')
    said = transport.receive(PATIENCE)
    assert isinstance(said, Arrival)
    assert said.data == b'mcp {"a":1}'
    transport.close()
    assert isinstance(transport.receive(PATIENCE), Ended)


def test_a_server_that_closes_ends_the_session_alone(opened: Open) -> None:
    ended = opened(lambda connection: connection.close(4001, "enough")).receive(PATIENCE)
    assert isinstance(ended, Ended)
    assert ended.reason == "the server has closed the WebSocket (code 4001 enough)"
    assert ended.lost


def test_a_message_that_is_too_long_is_told(opened: Open) -> None:
    ended = opened(lambda connection: connection.send("x" * 17_000_000)).receive(PATIENCE)
    assert isinstance(ended, Ended)
    assert "longer than 16 MiB" in ended.reason
    assert ended.unread


@pytest.fixture
def reached() -> Iterator[Reach]:
    """Starts a server frame by frame, as it is told, and a transport to it."""
    with ExitStack() as stack:

        def reach(opening: Callable[[Connection], object]) -> WebSocketTransport:
            site, port = Site(), free_port()
            site.opening = opening
            site.closing = lambda connection, data: threading.Event().wait()  # it never agrees to close
            threading.Thread(target=site.serve, args=(port,), daemon=True).start()
            while socket.socket().connect_ex(("127.0.0.1", port)):
                pass
            transport = WebSocketTransport(f"ws://127.0.0.1:{port}", {"X-Key": "k"}, Limits(quiet=0.2))
            stack.callback(transport.close)
            transport.start()
            return transport

        yield reach


def _saying(data: bytes) -> Callable[[Connection], object]:
    def opening(connection: Connection) -> None:
        connection.upgrade()
        connection.raw(data)

    return opening


def _told(transport: WebSocketTransport) -> Ended:
    ended = transport.receive(PATIENCE)
    assert isinstance(ended, Ended), ended
    return ended


def test_a_message_is_whole_however_many_fragments_it_has(reached: Reach) -> None:
    parts = frame(TEXT, b"[", fin=False) + frame(CONTINUATION, b" ", fin=False) * 20_000 + frame(CONTINUATION, b"]")
    said = reached(_saying(parts)).receive(PATIENCE)
    assert isinstance(said, Arrival), said
    assert said.data == b"[" + b" " * 20_000 + b"]"


def test_a_message_of_empty_fragments_without_end_is_given_up(reached: Reach) -> None:
    empty = frame(CONTINUATION, fin=False) * 1000

    def flood(connection: Connection) -> None:
        connection.upgrade()
        connection.raw(frame(TEXT, b"[", fin=False))
        while True:
            connection.raw(empty)

    ended = _told(reached(flood))
    assert "more than 100000 fragments" in ended.reason
    assert ended.unread


def test_what_is_too_long_is_told_though_the_server_keeps_the_connection(reached: Reach) -> None:
    ended = _told(reached(_saying(head(TEXT, 1 << 45))))
    assert "longer than 16 MiB" in ended.reason
    assert ended.unread


def test_a_frame_that_is_none_is_named(reached: Reach) -> None:
    ended = _told(reached(_saying(frame(TEXT, b"{}", reserved=4))))
    assert ended.reason == "the server sends what WebSocket does not allow: reserved bits must be 0"


def test_nothing_of_what_the_library_finds_unexpected_is_printed(
    reached: Reach, capfd: pytest.CaptureFixture[str]
) -> None:
    def flood(connection: Connection) -> None:
        connection.upgrade()
        while True:
            connection.raw(frame(PING) * 1000)

    transport = reached(flood)
    assert transport.receive(0.2) is None
    transport.close()
    assert isinstance(transport.receive(PATIENCE), Ended)
    transport._reader.join(PATIENCE)
    assert capfd.readouterr().err == ""


def test_a_redirect_is_named_and_not_followed(reached: Reach) -> None:
    asked: list[str] = []

    def lead(connection: Connection) -> None:
        asked.append(connection.headers["x-key"])
        port = connection.socket.getsockname()[1]
        connection.status("307 No", f"Location: ws://localhost:{port}/other?key=k")

    ended = _told(reached(lead))
    assert "the server redirects to 'ws://localhost:" in ended.reason
    assert "/other': not followed; give that URL with --url if it is meant" in ended.reason
    assert asked == ["k"]


def test_a_server_that_speaks_no_websocket_is_told_from_one(tmp_path: Path) -> None:
    server = f"{sys.executable} -m conformance.reference --transport http --port {{port}}"
    report, _ = reported(tmp_path, "--server", server, "--url", URL, "--only", "tools")
    assert report["exit"] == 3
    assert "the WebSocket could not be opened" in report["problem"]


def test_what_is_no_json_is_named_where_nothing_else_comes(tmp_path: Path) -> None:
    server = f"{sys.executable} {Path(__file__).parent / 'bad_servers.py'} websocket-no-json-at-once {{port}}"
    report, _ = reported(tmp_path, "--server", server, "--url", URL, "--only", "tools", "--start-timeout", "3")
    assert report["exit"] == 3
    assert "; what came is no JSON: <html>" in report["problem"]


def test_a_url_of_http_is_none_of_a_websocket() -> None:
    done = conform("--url", "http://127.0.0.1:9/", "--transport", "websocket")
    assert done.returncode == 2
    assert "--transport: websocket needs a --url that begins with ws:// or wss://" in done.stderr
