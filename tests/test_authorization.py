"""Authorization: what is asked of whom, what a server without it gets, and what a sound server may do otherwise."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fronts import conform

from conformance.engine.oauth import places_of
from conformance.engine.options import Options
from conformance.engine.runner import Runner
from conformance.model import OWN, Basis, Fuzzing, Report, Severity, Target, Verdict
from conformance.reference.authorization import PAST, READ, Guarded, Refusal, issue, tokens
from conformance.reference.http import Endpoint, Handler, HttpServer
from conformance.reference.server import Server
from conformance.session.challenges import challenges, of_tokens

TOKENS = tokens()
KEY = "the-key-of-a-test"
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
Overrides = dict[str, Callable[..., Any]]


@contextmanager
def serving(overrides: Overrides | None = None, protected: bool = True) -> Iterator[str]:
    """The reference server in this process, with methods of its handler overridden; its URL."""
    server = Server()
    server.protected = protected
    kind = type("Overridden", (Handler,), overrides or {})
    listening = HttpServer(("127.0.0.1", 0), partial(kind, Endpoint(server, "/mcp")))
    thread = threading.Thread(target=partial(listening.serve_forever, poll_interval=0.05), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/mcp"
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def run_against(
    url: str, *, token: bool = True, key: str = "", others: dict[str, str] | None = None, registers: bool = False
) -> Report:
    """What the suite says of the authorization of a server."""
    given = {"Authorization": f"Bearer {TOKENS[OWN]}"} if token else {}
    headers = {**given, **({"X-API-Key": key} if key else {})}
    known = {**TOKENS, **(others or {})} if token else {}
    target = Target((), url, headers=headers, tokens=known, registers=registers)
    options = Options(revisions=REVISIONS, only=("authorization",), fuzzing=Fuzzing(examples=0))
    runner = Runner(target, options)
    for _event in runner.run():
        pass
    return runner.report()


def verdicts(report: Report) -> dict[str, set[Verdict]]:
    """Requirement → its verdicts in all revisions."""
    found: dict[str, set[Verdict]] = {}
    for run in report.runs:
        for judged in run.verdicts:
            assert judged.verdict is not Verdict.BROKEN, judged.reason
            found.setdefault(judged.requirement.id, set()).add(judged.verdict)
    return found


def failed(report: Report) -> set[str]:
    """The requirements that some run finds broken."""
    return {name for name, found in verdicts(report).items() if Verdict.FAILED in found}


def test_a_server_that_asks_for_nothing_has_nothing_to_do_with_the_area() -> None:
    with serving(protected=False) as url:
        found = verdicts(run_against(url, token=False))
    found.pop("authorization/session-ids-unpredictable")
    assert set().union(*found.values()) == {Verdict.NOT_APPLICABLE}


def test_a_server_that_asks_for_nothing_may_be_given_a_token() -> None:
    with serving(protected=False) as url:
        found = verdicts(run_against(url))
    assert found["authorization/missing-token-401"] == {Verdict.NOT_APPLICABLE}
    assert not any(Verdict.FAILED in each for each in found.values())


def _by_key(challenge: dict[str, str]) -> Overrides:
    def authorize(handler: Any, body: bytes) -> None:
        if handler.headers.get("X-API-Key") != KEY:
            raise Refusal(401, "A key is required", challenge)

    return {"authorize": authorize, "serve_web": lambda handler, body: False, "check_owner": lambda handler, s: None}


@pytest.mark.parametrize("asks", [{}, {"WWW-Authenticate": 'ApiKey realm="mcp"'}, {"WWW-Authenticate": "Basic"}])
def test_another_scheme_is_no_failure(asks: dict[str, str]) -> None:
    with serving(_by_key(asks)) as url:
        without = run_against(url, token=False)
        given = run_against(url, token=False, key=KEY)
    assert not failed(without)
    assert not failed(given)
    assert without.exit == 3
    assert verdicts(without)["authorization/missing-token-401"] == {Verdict.NOT_APPLICABLE}
    assert verdicts(given)["authorization/missing-token-401"] == {Verdict.NOT_APPLICABLE}


def test_a_server_that_lets_nobody_in_is_judged_by_what_it_says_of_that() -> None:
    with serving() as url:
        report = run_against(url, token=False)
    passed = {name for name, found in verdicts(report).items() if found == {Verdict.PASSED}}
    assert {"authorization/missing-token-401", "authorization/metadata-discoverable"} <= passed
    assert "--token-env" in report.problem
    assert report.exit == 3


def test_where_nobody_knows_what_it_speaks_nothing_weighs_more_than_a_warning() -> None:
    with serving({"serve_web": lambda handler, body: False}) as url:
        report = run_against(url, token=False)
    judged = next(v for v in report.runs[0].verdicts if v.requirement.id.endswith("protected-resource-metadata-served"))
    assert (judged.verdict, judged.basis, judged.severity) == (Verdict.FAILED, Basis.TEXT, Severity.WARNING)
    assert report.exit == 3


def _calls_only(handler: Any, body: bytes) -> None:
    """Lists and the opening are open to all; a call needs a token, of whose session nobody asks."""
    if b'"tools/call"' in body or "Authorization" in handler.headers:
        Guarded.authorize(handler, body)


def _as_documents(*paths: str) -> Callable[..., Any]:
    def documents(handler: Any) -> Any:
        return {path: each for path, each in Guarded.documents(handler).items() if path in paths}

    return documents


def _joined(handler: Any, scope: str, error: str = "") -> dict[str, str]:
    own = Guarded.challenge(handler, scope, error)["WWW-Authenticate"]
    return {"WWW-Authenticate": f'Basic realm="a, b", {own.replace("Bearer", "bearer")}, Negotiate'}


def _as_malformed(handler: Any, text: str) -> Any:
    """What is no JSON Web Token at all is a malformed request."""
    if text.count(".") != 2:
        raise Refusal(401, "This is no token", handler.challenge("mcp:read", "invalid_token"))
    return Guarded.read_token(handler, text)


ROOT = "/.well-known/oauth-protected-resource"
ELSEWHERE = "https://accounts.mcp-conform.invalid"
COPIED: Overrides = {
    "resource_metadata": lambda h: {"resource": h.resource(), "authorization_servers": [ELSEWHERE]},
    "server_metadata": lambda h: {
        "issuer": ELSEWHERE,
        **{f"{name}_endpoint": f"{ELSEWHERE}/{name}" for name in ("authorization", "token", "registration")},
    },
    "documents": _as_documents(f"{ROOT}/mcp", "/.well-known/oauth-authorization-server"),
    "endpoints": lambda h: {},
}
"""The metadata of another authorization server, also at the origin of the server itself."""
SOUND: dict[str, Overrides] = {
    "only calls need a token": {"authorize": _calls_only, "check_owner": lambda handler, session: None},
    "metadata at the root": {
        "documents": _as_documents(ROOT, "/.well-known/oauth-authorization-server"),
        "metadata_url": lambda h: h.origin() + ROOT,
    },
    "several challenges": {"challenge": _joined},
    "no scopes": {
        "challenge": lambda h, scope, error="": {"WWW-Authenticate": f"Bearer resource_metadata={h.metadata_url()}"},
        "resource_metadata": lambda h: {"resource": h.resource(), "authorization_servers": [h.origin()]},
        "missing": lambda h, needed, granted: [],
    },
    "another authorization server": {
        "resource_metadata": lambda h: {
            "resource": h.resource(),
            "authorization_servers": [ELSEWHERE],
        },
        "documents": lambda h: {f"{ROOT}/mcp": h.resource_metadata},
        "endpoints": lambda h: {},
    },
    "the metadata of another authorization server": COPIED,
    "metadata at another origin": {
        "metadata_url": lambda h: "https://mcp.mcp-conform.invalid/.well-known/oauth-protected-resource",
        "documents": _as_documents("/.well-known/oauth-authorization-server"),
    },
    "an invented token is told apart": {"read_token": _as_malformed},
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_server_may_do_it_otherwise(name: str) -> None:
    with serving(SOUND[name]) as url:
        report = run_against(url)
    assert [run.revision for run in report.runs] == list(REVISIONS)
    assert failed(report) == set()


def test_a_challenge_need_not_name_metadata_that_are_at_a_well_known_place_since_2025_11_25() -> None:
    unnamed: Overrides = {"challenge": lambda h, scope, error="": {"WWW-Authenticate": f'Bearer scope="{scope}"'}}
    with serving(unnamed) as url:
        report = run_against(url)
    names = "authorization/www-authenticate-names-metadata"
    found = [
        run.revision for run in report.runs for each in run.verdicts if each.findings if each.requirement.id == names
    ]
    assert found == [date for date in REVISIONS if date == "2025-06-18"]
    assert "2025-11-25" in [run.revision for run in report.runs]


@pytest.mark.parametrize("registers", [False, True])
def test_who_names_another_authorization_server_is_not_judged_as_one(registers: bool) -> None:
    with serving(COPIED) as url:
        found = verdicts(run_against(url, registers=registers))
    own = {name: judged for name, judged in found.items() if name.startswith("authorization/own-as-")}
    assert len(own) == 7
    assert all(judged == {Verdict.NOT_APPLICABLE} for judged in own.values()), own


def _scopes_first(handler: Any, claims: Any) -> None:
    """The scopes of a token are looked at before its expiry and its audience."""
    granted = claims["scope"].split()
    if handler.missing((READ,), granted):
        raise handler.too_little((READ,), granted)
    Guarded.check_claims(handler, claims)


def test_a_token_that_is_refused_for_its_scope_proves_little_else() -> None:
    others = {
        "expired": issue("alice", "", expires=PAST),
        "other-audience": issue("alice", "", "https://elsewhere.invalid/mcp"),
    }
    with serving({"check_claims": _scopes_first, "check_audience": lambda handler, claims: None}) as url:
        report = run_against(url, others=others)
    judged = [(each.requirement.id, each.severity) for run in report.runs for each in run.verdicts if each.findings]
    assert set(judged) == {("authorization/invalid-token-401", Severity.WARNING)}
    assert verdicts(report)["authorization/audience-validated"] == {Verdict.INCONCLUSIVE}
    assert report.exit == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Bearer", ["bearer"]),
        ('Bearer scope="a b", resource_metadata="https://a/?x=1,2"', ["bearer"]),
        ('Basic realm="say \\"x\\", y", Bearer error=invalid_token', ["basic", "bearer"]),
        ("Negotiate abcd==, DPoP", ["negotiate", "dpop"]),
        (',,, ,"', []),
    ],
)
def test_challenges_are_told_apart(text: str, expected: list[str]) -> None:
    assert [each.scheme for each in challenges(text)] == expected


def test_the_parameters_of_a_challenge_may_be_quoted_or_not() -> None:
    found = of_tokens(
        'Basic realm="a, b", Bearer error=invalid_token, Scope="x \\"y\\"", resource_metadata="https://a,b"'
    )
    assert found is not None
    assert found.parameters == {"error": "invalid_token", "scope": 'x "y"', "resource_metadata": "https://a,b"}


def test_a_token_is_in_no_report_and_in_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKENS[OWN])
    monkeypatch.setenv("OLD_TOKEN", TOKENS["expired"])
    files = [word for kind in ("json", "junit", "html", "trace") for word in (f"--{kind}", str(tmp_path / kind))]
    options = ["--token-env", "MY_TOKEN", "--other-token", "expired=OLD_TOKEN", "--only", "authorization"]
    with serving({"check_expiry": lambda handler, claims: None}) as url:
        said = conform("--url", url, *options, *files)
    assert said.returncode == 1
    written = (
        said.stdout
        + said.stderr
        + "".join((tmp_path / kind).read_text() for kind in ("json", "junit", "html", "trace"))
    )
    assert "--token-env MY_TOKEN --other-token expired=OLD_TOKEN" in written
    for token in (TOKENS[OWN], TOKENS["expired"]):
        assert not any(part in written for part in token.split(".")[1:])
    assert any(json.loads(line)["channel"] == "post" for line in (tmp_path / "trace").read_text().splitlines())


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--token-env", "NO_SUCH_TOKEN"], "the environment variable 'NO_SUCH_TOKEN' is not set"),
        (["--other-token", "older=PATH"], "the kinds are fewer-scopes, other-user, other-audience, expired"),
        (["--other-token", "expired"], "is not KIND=NAME"),
        (["--token-env", "PATH", "--header", "authorization: Bearer x"], "there is a header Authorization already"),
    ],
)
def test_a_token_that_cannot_be_had_is_wrong_use(words: list[str], what: str) -> None:
    said = conform("--url", "http://127.0.0.1:1/mcp", *words)
    assert said.returncode == 2
    assert what in said.stderr


CLIENT = {"MCP_CONFORM_CLIENT_ID": "reference-client", "MCP_CONFORM_CLIENT_SECRET": "reference-client-secret"}


def test_a_token_is_got_from_the_authorization_server_and_is_in_no_report(tmp_path: Path) -> None:
    files = [word for kind in ("json", "trace") for word in (f"--{kind}", str(tmp_path / kind))]
    with serving({"check_audience": lambda handler, claims: None}) as url:
        said = conform("--url", url, "--oauth", "client-credentials", "--only", "authorization", *files, env=CLIENT)
    assert "audience-validated" in said.stdout  # it has asked for a token for another server, too
    assert said.returncode == 1
    assert "the token is from http://127.0.0.1:" in said.stdout
    written = said.stdout + said.stderr + "".join((tmp_path / kind).read_text() for kind in ("json", "trace"))
    assert "--oauth client-credentials" in written
    assert "eyJ" not in written
    assert CLIENT["MCP_CONFORM_CLIENT_SECRET"] not in written


def test_a_token_is_replaced_before_it_expires_in_sessions_that_are_open_too() -> None:
    by_session: dict[str, set[str]] = {}

    def answer(handler: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        Handler.answer(handler, status, body.replace(b'"expires_in": 3600', b'"expires_in": 1'), headers)

    def post(handler: Any, body: bytes) -> None:
        session = handler.headers.get("Mcp-Session-Id")
        if session is not None:
            by_session.setdefault(session, set()).add(handler.headers.get("Authorization"))
        Handler._post(handler, body)

    with serving({"answer": answer, "_post": post}) as url:
        words = ["--oauth", "client-credentials", "--only", "tools", "--fuzz", "0", "--revision", "2025-11-25"]
        said = conform("--url", url, *words, "--call-tools", "all", env=CLIENT)
    assert said.returncode == 0, said.stdout
    assert max(map(len, by_session.values())) > 1


def test_the_challenges_of_several_schemes_are_read_together() -> None:
    found = of_tokens('DPoP algs="ES256", Bearer error="invalid_token", scope="mcp", Bearer scope="other"')
    assert found is not None
    assert (found.scheme, dict(found.parameters)) == (
        "dpop",
        {"algs": "ES256", "error": "invalid_token", "scope": "mcp"},
    )


def test_a_server_that_each_case_starts_anew_gets_a_token_of_its_own() -> None:
    server = f"{sys.executable} -m conformance.reference --transport http --port {{port}} --fault stream-without-token"
    options = ["--oauth", "client-credentials", "--scope", "mcp", "--only", "authorization/each-request"]
    said = conform("--server", server, "--url", "http://127.0.0.1:{port}/mcp", *options, env=CLIENT)
    assert "a request without a token is served for the stream of a session, by GET" in said.stdout
    assert said.returncode == 0


@pytest.mark.parametrize(
    ("overrides", "env", "what"),
    [
        ({}, {**CLIENT, "MCP_CONFORM_CLIENT_SECRET": "wrong-secret"}, "gives no token: HTTP 401 (invalid_client)"),
        ({"serve_web": lambda handler, body: False}, CLIENT, "the server has no metadata of a protected resource"),
        (
            {"resource_metadata": lambda h: {"resource": h.resource(), "authorization_servers": []}},
            CLIENT,
            "the metadata of the server name no authorization server",
        ),
        (
            {"resource_metadata": lambda h: {**Guarded.resource_metadata(h), "resource": "https://victim.invalid/mcp"}},
            CLIENT,
            "the metadata of the server are those of another one, 'https://victim.invalid/mcp'",
        ),
        (
            {"resource_metadata": lambda h: {"authorization_servers": ["http://accounts.mcp-conform.invalid"]}},
            CLIENT,
            "is not HTTPS, so that nothing secret is sent there",
        ),
        (
            {"server_metadata": lambda h: {**Guarded.server_metadata(h), "issuer": "https://evil.invalid"}},
            CLIENT,
            "are those of another issuer",
        ),
        (
            {"server_metadata": lambda h: {**Guarded.server_metadata(h), "token_endpoint": "http://evil.invalid/"}},
            CLIENT,
            "is not HTTPS, so that nothing secret is sent there",
        ),
    ],
)
def test_why_there_is_no_token_is_one_sentence(overrides: Overrides, env: dict[str, str], what: str) -> None:
    with serving(overrides) as url:
        said = conform("--url", url, "--oauth", "client-credentials", env=env)
    assert what in said.stdout
    assert said.returncode == 3


def test_without_a_client_there_is_no_grant() -> None:
    said = conform("--url", "http://127.0.0.1:1/mcp", "--oauth", "client-credentials")
    assert said.returncode == 2
    assert "MCP_CONFORM_CLIENT_ID is not set" in said.stderr


@pytest.mark.parametrize(
    ("issuer", "paths"),
    [
        ("https://a.test", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
        (
            "https://a.test/tenant1",
            [
                "/.well-known/oauth-authorization-server/tenant1",
                "/.well-known/openid-configuration/tenant1",
                "/tenant1/.well-known/openid-configuration",
            ],
        ),
    ],
)
def test_metadata_of_an_authorization_server_are_looked_for_in_the_order_of_the_specification(
    issuer: str, paths: list[str]
) -> None:
    assert places_of(issuer) == [f"https://a.test{path}" for path in paths]
