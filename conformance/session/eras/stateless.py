"""The stateless era, from 2026-07-28: every request says its revision and the client's capabilities."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from conformance.model import Json
from conformance.revisions import named_version
from conformance.session.era import capabilities_in
from conformance.session.eras.handshake import LONGEST, client_info, named, refusal
from conformance.session.session import NotSpoken, Session
from conformance.validation.header_annotations import as_text, value_at

META = "io.modelcontextprotocol/"
MOST = 8
"""Versions of a server that are shown."""
_NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}


class Stateless:
    """See `conformance.session.era.Era`."""

    name = "stateless"

    def open(self, session: Session) -> None:
        """server/discover; the result must name the session's revision among the supported ones.

        Nothing else says that a server speaks it: some give an empty result for whatever they do not know.
        """
        call = session.send("server/discover")
        session.wait(call, timeout=session.limits.start)
        if not isinstance(call.result, dict):
            raise NotSpoken(refusal("server/discover", call), call=call)
        supported = call.result.get("supportedVersions")
        versions = [each for each in supported if isinstance(each, str)] if isinstance(supported, list) else []
        if not versions:
            raise NotSpoken("the result of server/discover names no version", call=call)
        if session.revision.date not in versions:
            told = ", ".join(named_version(each[:LONGEST]) for each in versions[:MOST])
            raise NotSpoken(f"the server supports {told}", max(versions), call)
        session.opening = call.result
        session.capabilities = capabilities_in(call.result.get("capabilities"))
        meta = call.result.get("_meta")
        session.server = named(meta.get(META + "serverInfo") if isinstance(meta, dict) else None)

    def dress(self, session: Session, params: Json) -> Json:
        """`params` with the `_meta` of 2026-07-28; what the caller put into `_meta` wins."""
        if params is not None and not isinstance(params, dict):
            return params
        own = (params or {}).get("_meta", {})
        if not isinstance(own, dict):
            return params
        meta = {
            META + "protocolVersion": session.revision.date,
            META + "clientCapabilities": session.client,
            META + "clientInfo": client_info(),
            **own,
        }
        return {**(params or {}), "_meta": meta}

    def headers(self, session: Session, message: Json) -> dict[str, str]:
        """Accept, Content-Type and the headers that mirror the body."""
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": session.revision.date,
        }
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            headers["Mcp-Method"] = message["method"]
            params = message.get("params")
            member = _NAMED_BY.get(message["method"])
            if member and isinstance(params, dict) and isinstance(params.get(member), str):
                headers["Mcp-Name"] = header_value(params[member])
            headers.update(_mirrored_arguments(session, message))
        return headers

    def sentinel(self, session: Session) -> tuple[str, Json]:
        """server/discover, which every server of this era has."""
        return "server/discover", None

    def farewell(self, session: Session) -> None:
        """There is no session to end."""


def header_value(text: str) -> str:
    """`text` as it is, or in the base64 form where a header could not carry it or would be mistaken."""
    plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?")
    return text if plain else in_base64(text)


def in_base64(text: str) -> str:
    """`text` in the base64 form, which may be read wherever a plain value may."""
    return "=?base64?" + base64.b64encode(text.encode("utf-8", "surrogatepass")).decode() + "?="


def _mirrored_arguments(session: Session, message: Mapping[str, Json]) -> dict[str, str]:
    """Mcp-Param-* for the arguments whose schema asks for it by `x-mcp-header`."""
    params = message.get("params")
    if message["method"] != "tools/call" or not isinstance(params, dict):
        return {}
    marked = session.header_arguments.get(str(params.get("name")), {})
    values = {header: as_text(value_at(params.get("arguments"), path)) for path, header in marked.items()}
    return {header: header_value(value) for header, value in values.items() if value is not None}
