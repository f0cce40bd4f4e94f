"""The handshake era, 2024-11-05 to 2025-11-25: initialize, then talk."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from conformance.model import Json, members
from conformance.revisions import named_version
from conformance.session.era import capabilities_in
from conformance.session.session import Call, NotSpoken, Session
from conformance.transports import SESSION

LONGEST = 100
"""Characters of a version that are shown."""


def client_info() -> dict[str, str]:
    """How the suite names itself to servers."""
    return {"name": "mcp-conform", "version": _version()}


@cache
def _version() -> str:
    # Reading it takes longer than a request, and the stateless era says it in each.
    try:
        return version("mcp-conformance")
    except PackageNotFoundError:
        return "0"


class Handshake:
    """See `conformance.session.era.Era`."""

    name = "handshake"

    def open(self, session: Session) -> None:
        """initialize with the session's revision, then notifications/initialized."""
        call = self.greet(session)
        offered = call.result.get("protocolVersion")
        if not isinstance(offered, str):
            raise NotSpoken("the server answers initialize without a protocolVersion that is a string", call=call)
        if offered != session.revision.date:
            raise NotSpoken(f"the server answers with {named_version(offered[:LONGEST])}", offered, call)
        session.notify("notifications/initialized")

    def greet(self, session: Session, **change: Json) -> Call:
        """Only initialize; `change` replaces members of its params. Raises NotSpoken unless a result object comes."""
        call = session.send("initialize", {**self.greeting(session), **change})
        session.wait(call, timeout=session.limits.start)
        if not isinstance(call.result, dict):
            raise NotSpoken(refusal("initialize", call), call=call)
        self.accept(session, call)
        return call

    def greeting(self, session: Session) -> dict[str, Any]:
        """The params of initialize."""
        return {
            "protocolVersion": session.revision.date,
            "capabilities": session.client,
            "clientInfo": client_info(),
        }

    def accept(self, session: Session, call: Call) -> None:
        """Go on with what the server has answered to initialize, a result object."""
        session.opening = call.result
        session.capabilities = capabilities_in(call.result.get("capabilities"))
        session.server = named(call.result.get("serverInfo"))
        if call.opens:
            session.http_headers[SESSION] = call.opens
        if session.revision.names_version_in_header:
            session.http_headers["MCP-Protocol-Version"] = session.revision.date
        session.opened = True

    def go_on(self, session: Session) -> None:
        """Open the session with what a case has got for an initialize of its own, if that agrees to the revision."""
        for call in session.calls.values():
            agreed = isinstance(call.result, dict) and call.result.get("protocolVersion") == session.revision.date
            if call.method == "initialize" and agreed and not session.opened:
                self.accept(session, call)

    def dress(self, session: Session, params: Json) -> Json:
        """Requests of this era carry nothing special."""
        return params

    def headers(self, session: Session, message: Json) -> dict[str, str]:
        """Accept and Content-Type, and once open session id and protocol version."""
        return {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **session.http_headers,
        }

    def sentinel(self, session: Session) -> tuple[str, Json]:
        """ping."""
        return "ping", None

    def farewell(self, session: Session) -> None:
        """DELETE the HTTP session, if there is one."""
        if "Mcp-Session-Id" in session.http_headers:
            session.transport.send(b"", session.http_headers, "DELETE")


def named(info: Json) -> dict[str, str]:
    """Name and version out of a serverInfo, as strings."""
    info = members(info)
    return {"name": str(info.get("name", "")), "version": str(info.get("version", ""))}


def refusal(method: str, call: Call) -> str:
    """Why an opening request brought no result, for people."""
    if call.error is not None:
        error = members(call.error)
        return f"{method} is answered by error {error.get('code')}: {str(error.get('message', ''))[:200]}"
    if call.answers:
        return f"{method} is answered by a result that is not an object"
    if call.redirected:
        return call.lost
    if call.head is not None and call.head.status is not None:
        answered = f"{method} is answered by HTTP status {call.head.status}"
        kind = call.head.headers.get("content-type", "no content")
        if call.late and "json" in kind:
            length = call.head.headers.get("content-length")
            announced = f", which Content-Length says has {length} bytes" if length else ""
            return f"{answered} with a body that is not over{announced}: {call.lost}"
        why = "" if not call.lost or call.empty else f": {call.lost}"
        return f"{answered} ({kind}) without a JSON-RPC response{why}"
    return f"{method} is not answered: {call.lost}"
