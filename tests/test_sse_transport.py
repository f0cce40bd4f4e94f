"""HTTP+SSE as users meet it: chosen, found by itself, in configurations, with endpoints of all kinds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_client_configs import conform, reported

from conformance.model import Limits
from conformance.transports import Arrival, Ended
from conformance.transports.event_stream import EventStream
from conformance.transports.sse import SseTransport, is_uri

SERVER = f"{sys.executable} -m conformance.reference --transport sse --port {{port}}"
URL = "http://127.0.0.1:{port}/sse"
CLIENTS = "transport-sse/clients-served-independently"
ONE = ("--only", "jsonrpc/unknown-method-refused", "--revision", "2024-11-05")


def test_a_server_is_found_to_speak_it_where_messages_are_refused_and_a_stream_is_opened(tmp_path: Path) -> None:
    report, out = reported(tmp_path, "--server", SERVER, "--url", URL, *ONE)
    assert [(run["revision"], run["transport"]) for run in report["runs"]] == [("2024-11-05", "http+sse")]
    assert "GET opens a stream at the URL that tells where messages are posted: it is HTTP+SSE" in report["notes"]
    assert report["exit"] == 0, out


def test_it_is_not_taken_for_what_refuses_both(tmp_path: Path) -> None:
    report, _ = reported(tmp_path, "--server", SERVER, "--url", URL.replace("sse", "nothing"), *ONE[:2])
    assert report["exit"] == 3
    assert "HTTP status 404" in report["problem"]


def test_the_revision_that_defines_it_is_tested_beside_the_newest(tmp_path: Path) -> None:
    words = ("--transport", "sse", "--only", "jsonrpc/unknown-method-refused")
    report, _ = reported(tmp_path, "--server", SERVER, "--url", URL, *words)
    assert [run["revision"] for run in report["runs"]] == ["2024-11-05", "2025-11-25"]


def test_a_finding_is_shown_again_over_the_same_transport(tmp_path: Path) -> None:
    words = (
        "--transport",
        "sse",
        "--fuzz",
        "0",
        "--only",
        "transport-sse/origin-validated",
        "--revision",
        "2024-11-05",
    )
    report, _ = reported(tmp_path, "--server", f"{SERVER} --fault sse-any-origin", "--url", URL, *words)
    failed = [verdict for verdict in report["runs"][0]["verdicts"] if verdict["verdict"] == "failed"]
    assert [verdict["requirement"] for verdict in failed] == ["transport-sse/origin-validated"]
    assert f"--url {URL} --transport sse" in failed[0]["reproduce"]


def test_a_server_that_mixes_its_clients_gets_one_warning(tmp_path: Path) -> None:
    words = ("--transport", "sse", "--fuzz", "0", "--revision", "2024-11-05", "--skip", "asking")
    report, out = reported(tmp_path, "--server", f"{SERVER} --fault sse-broadcast", "--url", URL, *words)
    failed = [verdict for verdict in report["runs"][0]["verdicts"] if verdict["verdict"] == "failed"]
    assert [(v["requirement"], v["severity"]) for v in failed] == [(CLIENTS, "warning")], out
    assert any("each session was given a server of its own" in note for note in report["notes"])


def test_a_server_that_mixes_its_clients_and_that_we_cannot_start_is_not_tested(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "conformance.reference", "--transport", "sse", "--fault", "sse-broadcast"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            url = server.stderr.readline().split()[-1]
            report, _ = reported(tmp_path, "--url", url, "--transport", "sse")
        finally:
            server.terminate()
    assert report["exit"] == 3
    assert "a client gets responses to the requests of another client: give the command, too" in report["problem"]


def test_a_configuration_names_it_by_its_type(tmp_path: Path) -> None:
    given = {"mcpServers": {"old": {"type": "sse", "url": "http://127.0.0.1:9/sse"}}}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(given))
    report, _ = reported(tmp_path, "--config", file, *ONE)
    assert "connection refused" in report["problems"]["old"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--server", "x", "--transport", "sse"), "--transport: http+sse needs a --url that begins with http://"),
        (("--url", "http://127.0.0.1:9", "--transport", "stdio"), "--transport: stdio needs a command, and no URL"),
    ],
)
def test_a_transport_that_does_not_go_with_the_url_is_wrong_use(words: tuple[str, ...], complaint: str) -> None:
    done = conform(*words)
    assert done.returncode == 2
    assert complaint in done.stderr


@pytest.mark.parametrize("data", [b"/messages?id=1", b"http://127.0.0.1:1/a", b"messages", b"?a=%20b"])
def test_a_uri_may_be_relative(data: bytes) -> None:
    assert is_uri(data)


@pytest.mark.parametrize("data", [b"", b'{"uri":"/a"}', b"/a b", b"/\xc3\xa9", b"/%zz"])
def test_what_is_no_uri_is_told_from_one(data: bytes) -> None:
    assert not is_uri(data)


def test_an_event_has_the_type_that_it_says_and_the_next_one_none() -> None:
    events = EventStream().events(b"event: endpoint\ndata: /a\n\ndata: b\n\nevent:message\ndata: c\n\n")
    assert [(event.kind, event.data) for event in events] == [("endpoint", b"/a"), ("", b"b"), ("message", b"c")]


def test_closing_ends_whoever_waits_for_a_server_that_says_no_endpoint() -> None:
    from test_http_transport import Site

    site = Site(
        lambda connection, _request: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    )
    transport = SseTransport(site.url, {}, Limits(start=60, quiet=0.1))
    try:
        transport.start()
        assert transport.send(b"{}") is not None
        assert isinstance(transport.receive(30), Arrival)
        transport.close()
        assert isinstance(transport.receive(30), Ended)
    finally:
        site.close()
