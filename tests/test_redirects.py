"""Credentials are for the target's origin: real servers that redirect, over HTTP and TLS, and what others hear."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trustme
from fronts import conform

from conformance.model import Limits, Target
from conformance.target.listening import RunningServer
from conformance.transports import Ended
from conformance.transports.http import HttpTransport
from conformance.transports.redirects import onward, origin

GIVEN = {"Authorization": "Bearer redirect-token-4711", "Cookie": "login=redirect-cookie-4711", "X-Api-Key": "key-4711"}
USER = "user-4711:password-4711@"
SECRETS = (
    "token-4711",
    "cookie-4711",
    "key-4711",
    "4711",
    "dXNlci00NzExOnBhc3N3b3JkLTQ3MTE=",
    "session-0815",
    "sid=0815",
)
"""What only the target may hear; the base64 is that of user and password."""

Answer = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


class Site(ThreadingHTTPServer):
    """A web server on a free port that keeps the head of each request and answers it as `answer` does."""

    daemon_threads = True

    def __init__(self, host: str, answer: Answer, tls: ssl.SSLContext | None) -> None:
        self.answer = answer
        self.heard: list[str] = []
        super().__init__((host, 0), Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.base = f"{'https' if tls else 'http'}://{host}:{self.server_port}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no trouble."""


class Handler(BaseHTTPRequestHandler):
    """All methods alike."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Keep the head, read the body, answer."""
        site = self.server
        assert isinstance(site, Site)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        site.heard.append(f"{self.requestline}\n{self.headers}")
        site.answer(self, json.loads(body) if body else {})

    do_GET = do_DELETE = do_HEAD = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


def reply(to: BaseHTTPRequestHandler, status: int, message: Any = None, **headers: str) -> None:
    """A whole answer; in the names of headers `_` stands for a hyphen."""
    body = b"" if message is None else json.dumps(message).encode()
    to.send_response(status)
    for name, value in headers.items():
        to.send_header(name.replace("_", "-"), value)
    if body:
        to.send_header("Content-Type", "application/json")
    to.send_header("Content-Length", str(len(body)))
    to.end_headers()
    if to.command != "HEAD":
        to.wfile.write(body)


def redirecting(status: int, location: str) -> Answer:
    """A redirect, with a cookie that would like to be sent everywhere."""
    return lambda to, _: reply(to, status, Location=location, Set_Cookie="sid=0815; Domain=127.0.0.1; Path=/")


def hand_out(to: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
    """A small MCP server: initialize brings a session and a cookie, ping an empty result, other requests an error."""
    identifier = message.get("id")
    if identifier is None:
        reply(to, 202)
    elif message["method"] == "initialize":
        version = {"protocolVersion": message["params"]["protocolVersion"]}
        result = {**version, "capabilities": {}, "serverInfo": {"name": "small", "version": "1"}}
        response = {"jsonrpc": "2.0", "id": identifier, "result": result}
        reply(to, 200, response, Mcp_Session_Id="session-0815", Set_Cookie="sid=0815; Path=/")
    elif message["method"] == "ping":
        reply(to, 200, {"jsonrpc": "2.0", "id": identifier, "result": {}})
    else:
        error = {"code": -32601, "message": "Method not found"}
        reply(to, 200, {"jsonrpc": "2.0", "id": identifier, "error": error})


Open = Callable[..., Site]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Whom the servers over TLS are certified by."""
    return trustme.CA()


@pytest.fixture
def certificates(authority: trustme.CA, tmp_path: Path) -> Path:
    """The certificate of the authority, for SSL_CERT_FILE."""
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    return file


@pytest.fixture
def site(authority: trustme.CA) -> Iterator[Open]:
    """Opens sites."""
    opened: list[Site] = []

    def open_one(answer: Answer, host: str = "127.0.0.1", tls: bool = False) -> Site:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1", "127.0.0.2", "localhost").configure_cert(context)
        opened.append(Site(host, answer, context if tls else None))
        return opened[-1]

    yield open_one
    for each in opened:
        each.shutdown()
        each.server_close()


def run(url: str, certificates: Path, folder: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, what was printed, and the report of a run with credentials."""
    file = folder / "report.json"
    words = [word for name, value in GIVEN.items() for word in ("--header", f"{name}: {value}")]
    options = options or ("--only", "lifecycle")
    command = ["--url", url, *words, "--fuzz", "0", "--revision", "newest", "--timeout", "5", "--json", str(file)]
    done = conform(*command, *options, env={"SSL_CERT_FILE": str(certificates), "NO_PROXY": "*"})
    return done.returncode, done.stdout + done.stderr, json.loads(file.read_text())


def leaked(text: str) -> list[str]:
    """Which of the credentials are in `text`."""
    return [secret for secret in SECRETS if secret in text]


PLACES = {
    "another port": ((False, "127.0.0.1"), (False, "127.0.0.1")),
    "https to http": ((True, "127.0.0.1"), (False, "127.0.0.1")),
    "http to https": ((False, "127.0.0.1"), (True, "127.0.0.1")),
    "https to https on another port": ((True, "127.0.0.1"), (True, "127.0.0.1")),
    "another host": ((False, "127.0.0.1"), (False, "127.0.0.2")),
    "another name of the host": ((False, "localhost"), (False, "127.0.0.1")),
}


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_origin_is_asked_nothing_and_named_as_the_problem(
    places: tuple[tuple[bool, str], ...], status: int, site: Open, certificates: Path, tmp_path: Path
) -> None:
    (tls, host), (other_tls, other_host) = places
    elsewhere = site(hand_out, other_host, other_tls)
    target = site(redirecting(status, f"{elsewhere.base}/mcp?state=1#x"), host, tls)
    exit_status, printed, report = run(target.base.replace("://", f"://{USER}") + "/mcp", certificates, tmp_path)
    assert elsewhere.heard == []
    assert all(leaked(request) for request in target.heard if not request.startswith("HEAD"))
    assert exit_status == 3
    assert report["problem"] == (
        f"the server redirects to {elsewhere.base}/mcp, which is another origin: "
        "not followed, since it would get the credentials; give that URL with --url if it is meant"
    )
    assert " ".join(report["problem"].split()) in " ".join(printed.split())
    assert report["counts"]["failed"] == 0


def test_what_redirects_only_later_is_inconclusive_and_told(site: Open, certificates: Path, tmp_path: Path) -> None:
    elsewhere = site(hand_out)

    def answer(to: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        if message.get("method") in ("initialize", "notifications/initialized"):
            hand_out(to, message)
        else:
            redirecting(307, elsewhere.base)(to, message)

    target = site(answer)
    only = ("--only", "lifecycle/ping", "--only", "jsonrpc")
    exit_status, printed, report = run(f"{target.base}/mcp", certificates, tmp_path, *only)
    verdicts = [verdict for each in report["runs"] for verdict in each["verdicts"]]
    assert any(f"redirects to {elsewhere.base}" in (verdict["reason"] or "") for verdict in verdicts), printed
    assert [verdict["requirement"] for verdict in verdicts if verdict["verdict"] == "failed"] == []
    assert exit_status in (0, 3)
    assert elsewhere.heard == []
    assert any("session-0815" in request and "sid=0815" not in request for request in target.heard)


def test_a_redirect_within_the_origin_gets_all_that_the_target_gets(
    site: Open, certificates: Path, tmp_path: Path
) -> None:
    def answer(to: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        (hand_out if to.path == "/mcp/" else redirecting(307, "/mcp/"))(to, message)

    target = site(answer)
    exit_status, printed, _ = run(f"{target.base}/mcp", certificates, tmp_path, "--only", "lifecycle/ping")
    assert exit_status == 0, printed
    arrived = [request for request in target.heard if " /mcp/ " in request]
    assert len(arrived) > 2
    for name, value in GIVEN.items():
        assert all(f"{name}: {value}".lower() in request.lower() for request in arrived)
    assert any("session-0815" in request and "sid=0815" not in request for request in arrived)


def test_a_redirect_of_a_written_request_says_nothing_of_how_it_is_written(
    site: Open, certificates: Path, tmp_path: Path
) -> None:
    def answer(to: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        (hand_out if to.path == "/mcp/" else redirecting(307, "/mcp/"))(to, message)

    target = site(answer)
    chosen = ("--only", "fuzz/http-requests", "--harmful", "--fuzz", "60", "--fuzz-time", "20")
    _, printed, _ = run(f"{target.base}/mcp", certificates, tmp_path, *chosen)
    assert "how its HTTP is written" not in printed
    assert len([request for request in target.heard if " /mcp " in request]) > 50


LATER = {
    "to another origin": ("{elsewhere}/mcp", "which is another origin"),
    "to the next": ("/mcp/third", "no second one is followed"),
    "in a circle": ("/mcp", "no second one is followed"),
}


@pytest.mark.parametrize(("location", "said"), LATER.values(), ids=LATER)
def test_a_second_redirect_is_told_and_not_followed(
    location: str, said: str, site: Open, certificates: Path, tmp_path: Path
) -> None:
    elsewhere = site(hand_out)
    second = location.format(elsewhere=elsewhere.base)
    target = site(lambda to, message: redirecting(308, "/mcp/" if to.path == "/mcp" else second)(to, message))
    exit_status, _, report = run(f"{target.base}/mcp", certificates, tmp_path)
    assert exit_status == 3
    assert said in report["problem"]
    assert elsewhere.heard == []


HOSTILE = {
    "a file": ("file:///etc/passwd", "which is not an http or https URL"),
    "ftp": ("ftp://127.0.0.1/mcp", "which is not an http or https URL"),
    "the target as user": ("http://127.0.0.1@127.0.0.2:{port}/", "another origin"),
    "target and port as user": ("http://127.0.0.1:{port}@127.0.0.2:{port}/", "another origin"),
    "no scheme": ("//127.0.0.2:{port}/", "another origin"),
    "control characters": ("http://127.0.0.2:{port}/\x1b[2J\x07", "something that is not a URL: 'http://127.0.0.2"),
    "no port": ("http://127.0.0.1:99999999/", "another origin"),
    "no host": ("http://[::1/", "something that is not a URL"),
}


@pytest.mark.parametrize(("location", "said"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_location_is_told_in_printable_characters(
    location: str, said: str, site: Open, certificates: Path, tmp_path: Path
) -> None:
    elsewhere = site(hand_out, "127.0.0.2")
    target = site(redirecting(307, location.format(port=elsewhere.server_port)))
    exit_status, printed, report = run(f"{target.base}/mcp", certificates, tmp_path)
    assert exit_status == 3
    assert said in report["problem"]
    assert report["problem"].isprintable()
    assert "\x1b" not in printed
    assert elsewhere.heard == []


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_no_method_takes_the_session_to_another_origin(method: str, site: Open) -> None:
    elsewhere = site(hand_out)
    target = site(redirecting(308, elsewhere.base))
    transport = HttpTransport(f"http://{USER}127.0.0.1:{target.server_port}/mcp", GIVEN, Limits())
    headers = {"Mcp-Session-Id": "session-0815", "Last-Event-ID": "e-0815", "MCP-Protocol-Version": "2025-11-25"}
    for _ in range(2):  # the second one brings the cookie
        transport.send(b"", headers, method)
        while not isinstance(event := transport.receive(60), Ended):
            assert event is not None
        assert "another origin" in event.reason
    transport.close()
    assert elsewhere.heard == []
    assert [request.split()[0] for request in target.heard] == [method, method]


def test_credentials_of_a_netrc_file_are_not_read(site: Open, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login user-4711 password password-4711\n")
    netrc.chmod(0o600)
    target = site(hand_out, "127.0.0.2")
    file = tmp_path / "report.json"
    words = ["--url", f"{target.base}/mcp", "--fuzz", "0", "--only", "lifecycle/ping", "--json", str(file)]
    done = conform(*words, env={"NETRC": str(netrc), "HOME": str(tmp_path), "NO_PROXY": "*"})
    assert done.returncode == 0, done.stdout
    assert target.heard
    assert not any("authorization" in request.lower() for request in target.heard)


def test_whether_a_started_server_listens_is_asked_without_credentials(site: Open) -> None:
    elsewhere = site(hand_out)
    target = site(redirecting(307, elsewhere.base))
    # A command beside a URL: that something answers there is asked at its root.
    url = f"http://{USER}127.0.0.1:{target.server_port}/mcp"
    server = RunningServer(Target(("sleep", "600"), url, headers=GIVEN), Limits(quiet=0.1))
    server.start()
    server.end()
    assert [request.splitlines()[0] for request in target.heard] == ["HEAD / HTTP/1.1"]
    assert leaked(target.heard[0]) == []
    assert elsewhere.heard == []


def test_a_certificate_that_nobody_vouches_for_is_named(site: Open, tmp_path: Path) -> None:
    target = site(hand_out, tls=True)
    file = tmp_path / "report.json"
    done = conform("--url", f"{target.base}/mcp", "--fuzz", "0", "--revision", "newest", "--json", str(file))
    assert done.returncode == 3
    assert "certificate verify failed" in json.loads(file.read_text())["problem"]
    assert target.heard == []


BASE = httpx2.URL("http://user:word@target.example:8080/mcp")

SAME = [
    "/other",
    "other",
    "?x=1",
    "http://target.example:8080/other",
    "HTTP://TARGET.Example:8080/other",
    "//target.example:8080/other",
    "http://target.example:08080/other",
    "http://somebody:else@target.example:8080/other",
    r"\\evil.example\other",
    r"/\evil.example/other",
    "http:evil.example",
]

OTHER = [
    "http://target.example/other",
    "https://target.example:8080/other",
    "http://target.example:80/other",
    "http://target.example.:8080/other",
    "http://target.example.evil.example:8080/other",
    "http://evil.example:8080/target.example:8080",
    "http://target.example:8080@evil.example/",
    "http://target.example:8080@evil.example:8080/",
    "http://evil.example:8080#@target.example:8080/",
    "http://evil.example:8080?@target.example:8080/",
    r"http://evil.example:8080\@target.example:8080/",
    "http://target.example%2eevil.example:8080/",
    "http://tаrget.example:8080/",  # a Cyrillic letter
    "//evil.example",
    "///evil.example//x",
    "ws://target.example:8080/",
    "file:///etc/passwd",
    "ftp://target.example:8080/",
    "data:text/plain,x",
    "javascript:alert(1)",
    "mailto:target.example:8080",
    "http://",
    "http://target.example:8080\t.evil.example/",
    "http://target.example:8080/\x00",
    "http://target.example:808080808080/",
    "http://[::1",
]


@pytest.mark.parametrize("location", SAME)
def test_the_same_origin_is_known_however_it_is_written(location: str) -> None:
    leads, why_not = onward(BASE, 307, location, followed=False)
    assert why_not == ""
    assert leads is not None
    assert (leads.scheme, leads.host, leads.port, leads.userinfo) == ("http", "target.example", 8080, b"user:word")


@pytest.mark.parametrize("location", OTHER)
def test_what_only_looks_like_the_origin_is_not_followed(location: str) -> None:
    for status in (301, 302, 303, 307, 308):
        leads, why_not = onward(BASE, status, location, followed=False)
        if leads is not None:  # the client reads it as a path of the target
            assert origin(leads) == origin(BASE)
            assert (leads.host, leads.port) == ("target.example", 8080)
            continue
        assert why_not.startswith("the server redirects to ")
        assert why_not.isprintable() and why_not.isascii()
        assert "word" not in why_not


ALIKE = [
    ("http://h/", "http://h:80/"),
    ("https://h/", "https://H:443/x"),
    ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]:80/"),
    ("http://täst.example/", "http://xn--tst-qla.example/"),
    ("http://u:p@h/", "http://h/"),
]

DIFFERENT = [
    ("http://h/", "https://h/"),
    ("http://h/", "http://h:8080/"),
    ("http://h:443/", "https://h/"),
    ("http://h/", "http://h./"),
    ("http://127.0.0.1/", "http://localhost/"),
    ("http://127.0.0.1/", "http://127.1/"),
    ("http://[::1]/", "http://[::2]/"),
    ("http://[::ffff:127.0.0.1]/", "http://127.0.0.1/"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_origins_are_alike_whatever_their_spelling(one: str, other: str) -> None:
    assert origin(httpx2.URL(one)) == origin(httpx2.URL(other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_origins_differ_by_scheme_host_and_port(one: str, other: str) -> None:
    assert origin(httpx2.URL(one)) != origin(httpx2.URL(other))
