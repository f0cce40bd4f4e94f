"""Messages sent with another token than that of the session, or none, each as a single HTTP request beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from conformance.checks.probes import Bench
from conformance.checks.probes.calls import avoided_tool
from conformance.checks.probes.transport_http import one_of_each
from conformance.model import Frame, Json, members
from conformance.session.challenges import Challenge, of_tokens
from conformance.session.eras.handshake import Handshake
from conformance.session.exchanges import STREAM
from conformance.session.messages import Unavailable, encode, parse
from conformance.survey.picks import picks
from conformance.transports import SESSION
from conformance.transports.web import Page, Web

VERSION = "MCP-Protocol-Version"
LISTS = ("tools/list", "resources/list", "prompts/list")
Until = Callable[[bytes], bool]
"""Whether the words that have come of an answer will do."""
MOST = 12
"""Requests of all kinds that are made with a token."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One message of ours, and what came back: the response to it, None if there is none."""

    method: str
    page: Page
    response: Json
    proof: tuple[Frame, ...]

    @property
    def status(self) -> int:
        """The HTTP status, 0 if no answer came."""
        return self.page.status

    @property
    def served(self) -> bool:
        """Whether there is a result."""
        return isinstance(self.response, dict) and "result" in self.response

    @property
    def accepted(self) -> bool:
        """Whether what asks for no response was taken."""
        return self.status in (200, 202, 204)

    @property
    def listens(self) -> bool:
        """Whether a stream of events was opened."""
        return self.status == 200 and self.page.type == STREAM

    @property
    def challenge(self) -> Challenge | None:
        """What asks for a token."""
        return of_tokens(self.page.headers.get("www-authenticate", ""))

    @property
    def asks(self) -> Mapping[str, str]:
        """The parameters of the challenge, none without one."""
        return self.challenge.parameters if self.challenge is not None else {}

    @property
    def told(self) -> str:
        """The answer, for people."""
        return told(self.page)


def told(page: Page) -> str:
    """The head of an answer, for people."""
    asks = page.headers.get("www-authenticate")
    says = f", WWW-Authenticate: {asks}" if asks else ""
    return f"HTTP {page.status} ({page.type or 'no content'}){says}" if page.status else f"no answer: {page.lost}"


@dataclass(slots=True)
class Visitor:
    """Sends messages in the revision of a session, with the tokens that it is told to."""

    bench: Bench
    web: Web
    headers: dict[str, str] = field(default_factory=dict)
    """Of the session that was opened by a visit: its id and its version."""
    url: str = ""
    """Where messages are posted, if that is not the URL of the target."""

    def ask(
        self, method: str, params: Json = None, authorization: str | None = None, until: Until | None = None
    ) -> Visit:
        """A request, with this value of the header Authorization, or without it; up to its response, or `until`."""
        session = self.bench.session
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": f"mcp-conform-{session.position}", "method": method}
        params = session.era.dress(session, params)
        if params is not None:
            message["params"] = params
        return self._post(method, message, authorization, until)

    def tell(self, method: str, params: Json, authorization: str | None = None) -> Visit:
        """A notification, with this value of the header Authorization, or without it."""
        params = self.bench.session.era.dress(self.bench.session, params)
        return self._post(method, {"jsonrpc": "2.0", "method": method, "params": params}, authorization)

    def open(self, authorization: str | None = None) -> Visit:
        """The opening of the era; a session of the handshake era is opened if the server lets us."""
        session = self.bench.session
        if not isinstance(session.era, Handshake):
            return self.ask("server/discover", authorization=authorization)
        self.headers.clear()
        visit = self.ask("initialize", session.era.greeting(session), authorization)
        if visit.served:
            if SESSION.lower() in visit.page.headers:
                self.headers[SESSION] = visit.page.headers[SESSION.lower()]
            if session.revision.names_version_in_header:
                self.headers[VERSION] = str(members(visit.response["result"]).get("protocolVersion"))
            self._post("", {"jsonrpc": "2.0", "method": "notifications/initialized"}, authorization)
        return visit

    def leave(self, authorization: str | None = None) -> None:
        """End the session that was opened."""
        if SESSION in self.headers:
            self.bare("DELETE", authorization)
        self.headers.clear()

    def bare(self, verb: str, authorization: str | None = None) -> Visit:
        """A request that is no message, such as a GET, at the URL of the target."""
        headers = {"Accept": STREAM, **self.headers, **_authorized(authorization)}
        page = self.web.ask(verb, headers=headers)
        return Visit(verb, page, None, self._proof(verb.lower(), b"", None, page))

    def walk(self, authorization: str | None, calls: bool = True) -> Visit:
        """The opening, a list and a call of a tool, up to the first that is not served, or the last."""
        visit = self.open(authorization)
        for method, params in self.further(calls):
            if not visit.served:
                break
            visit = self.ask(method, params, authorization)
        self.leave(authorization)
        return visit

    def further(self, calls: bool = True) -> list[tuple[str, Json]]:
        """What may ask for a token where the opening does not: a list, and a call of a tool that may be called."""
        survey = self.bench.survey
        found: list[tuple[str, Json]] = []
        for method in LISTS:
            if method.partition("/")[0] in survey.capabilities:
                found.append((method, None))
                break
        try:
            known = picks("tool-call", survey) if calls else []
        except Unavailable:
            known = []
        quick = [call for call in known if not avoided_tool(self.bench.session, call)]
        return found + [("tools/call", call) for call in quick[:1]]

    def every_request(self) -> list[tuple[str, Json]]:
        """The same, then the other methods that can be asked, and the other tools that may be called, at most MOST."""
        found = self.further()
        asked = {*LISTS, *(method for method, _ in found)}
        with suppress(Unavailable):
            found += [(method, params) for method, params in one_of_each(self.bench).items() if method not in asked]
        with suppress(Unavailable):
            calls = [("tools/call", call) for call in picks("tool-call", self.bench.survey)]
            found += [call for call in calls if call not in found and not avoided_tool(self.bench.session, call[1])]
        return found[:MOST]

    def listen(self) -> Visit:
        """subscriptions/listen without a token, up to the first words of what comes."""
        return self.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, until=bool)

    def _post(self, method: str, message: Json, authorization: str | None, until: Until | None = None) -> Visit:
        session, data = self.bench.session, encode(message)
        usual = {name: value for name, value in session.era.headers(session, message).items() if name != SESSION}
        headers = {**usual, **self.headers, **_authorized(authorization)}
        identifier = message.get("id")
        found: list[Json] = []

        def answers(text: bytes) -> bool:
            said, readable = parse(text)
            parts = said if isinstance(said, list) else [said]
            found.extend(each for each in parts if isinstance(each, dict) and each.get("id") == identifier)
            return readable and bool(found)

        page = self.web.ask("POST", self.url, headers=headers, body=data, until=until or answers)
        if not found and page.body:
            answers(page.body)
        response = next((each for each in found if "method" not in each), None) if identifier is not None else None
        return Visit(method, page, response, self._proof("post", data, message, page))

    def _proof(self, channel: str, data: bytes, message: Json, page: Page) -> tuple[Frame, ...]:
        session = self.bench.session
        case = self.bench.ledger.case
        at = time.monotonic() - session.transport.began
        proof = [Frame(session.position, "us", channel, at, data, message, message is not None, case, illegal=True)]
        if page.status:
            came = page.body if channel == "post" else b""
            proof.append(Frame(session.position + 1, "target", "head", at, b"", case=case, status=page.status))
            proof[-1] = proof[-1]._replace(headers=page.headers)
            if came:
                said, readable = parse(came)
                proof.append(Frame(session.position + 2, "target", "body", at, came, said, readable, case))
        for frame in proof:
            session.trace.keep(frame)
            session.watching.tell(frame)
        return tuple(proof)


def purpose(method: str) -> str:
    """What a request is for, in words that follow the name of a token."""
    return "for a call of a tool" if method == "tools/call" else "for a list" if method in LISTS else f"for {method}"


def bearer(token: str) -> str:
    """The value of the header Authorization."""
    return f"Bearer {token}"


def _authorized(authorization: str | None) -> Mapping[str, str]:
    return {} if authorization is None else {"Authorization": authorization}
