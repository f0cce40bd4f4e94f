"""Asking: what the server asks of the client, in requests of its own or in input_required results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import ClassVar

from conformance.budget import LARGE, brief
from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher, is_integer
from conformance.checks.invariants.capability import CLIENT, ELICITATION, SAMPLING, undeclared_use
from conformance.checks.ledger import Ledger
from conformance.codes import URL_REQUIRED
from conformance.model import Frame, Json, members
from conformance.session.messages import Call, id_key
from conformance.session.session import Session

MODE = "elicitation/mode-declared"
URL = "elicitation/url-valid"
HTTPS = "elicitation/url-https"
ID_UNIQUE = "elicitation/id-unique"
COMPLETE = "elicitation/complete-names-known-id"
TOOLS = "sampling/tools-need-capability"
TOKEN = "progress/server-token-valid"
OWN = "cancellation/own-requests-only"
LISTEN_ONLY = "cancellation/server-cancels-listen-only"
KEYS = "input-required/keys-unique"

NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""Method of an input request → the client capability it needs."""

_META = "io.modelcontextprotocol/"
_LOCAL = re.compile(r"(?i)http://(localhost|127\.0\.0\.1|\[::1\])([:/]|$)")


class Asking(Watcher):
    """See the module. Shapes are judged in `wire.py`; the capabilities that requests need in `capability.py`."""

    name = "asking"
    requirements: ClassVar[tuple[str, ...]] = (
        CLIENT,
        ELICITATION,
        SAMPLING,
        MODE,
        URL,
        HTTPS,
        ID_UNIQUE,
        COMPLETE,
        TOOLS,
        TOKEN,
        OWN,
        LISTEN_ONLY,
        KEYS,
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._stateless = session.revision.era == "stateless"
        self._asked: dict[str, Frame] = {}
        self._tokens: dict[str, str] = {}
        self._elicitations: dict[str, Frame] = {}
        self._listening: set[str] = set()

    def sent(self, frame: Frame) -> None:
        """Note subscriptions, and which tokens are free again because we have answered."""
        message = frame.message
        if not isinstance(message, dict):
            return
        if message.get("method") == "subscriptions/listen":
            self._listening.add(id_key(message.get("id")))
        elif "method" not in message and self._tokens:
            self._free_tokens(id_key(message.get("id")))

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge requests, input requests, cancellations and completions."""
        message = frame.message
        if not isinstance(message, dict):
            return
        if "method" not in message:
            if call is not None and isinstance(message.get("result"), dict):
                self._input_requests(frame, message["result"], call)
            elif call is not None and isinstance(message.get("error"), dict):
                self._required(frame, message["error"])
            return
        params = message.get("params")
        params = members(params)
        if "id" in message:
            self._request(frame, message, params)
        elif message["method"] == "notifications/cancelled":
            self._cancelled(frame, params)
        elif message["method"] == "notifications/elicitation/complete":
            self._completed(frame, params)

    # -- requests of the handshake era

    def _request(self, frame: Frame, message: dict[str, Json], params: dict[str, Json]) -> None:
        if self._stateless:
            return  # none may come, see Envelope
        key = id_key(message["id"])
        self._asked[key] = brief(frame)
        meta = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            self._token(frame, key, meta["progressToken"])
        self._content(frame, message["method"], params, self.session.client)

    def _token(self, frame: Frame, request: str, token: Json) -> None:
        key = id_key(token)
        if not (isinstance(token, str) or is_integer(token)):
            what = "a request of the server has an invalid progress token"
            self._broke(TOKEN, what, "a string or an integer", token, frame)
        elif key in self._tokens:
            what = "two active requests of the server share a progress token"
            self._broke(TOKEN, what, "unique tokens", token, frame)
        else:
            self._tokens[key] = request
            self.ledger.held(TOKEN)

    def _free_tokens(self, request: str) -> None:
        self._tokens = {token: user for token, user in self._tokens.items() if user != request}

    def _cancelled(self, frame: Frame, params: dict[str, Json]) -> None:
        if "requestId" not in params:
            return
        key = id_key(params["requestId"])
        self._free_tokens(key)
        own = key in (self._listening if self._stateless else self._asked)
        requirement = LISTEN_ONLY if self._stateless else OWN
        if own:
            self.ledger.held(requirement)
            return
        what = "the server cancels something else than a subscription"
        expected = "the id of a subscriptions/listen"
        if not self._stateless:
            what, expected = "the server cancels what it never asked", "the id of a request of its own"
        self._broke(requirement, what, expected, params["requestId"], frame)

    def _completed(self, frame: Frame, params: dict[str, Json]) -> None:
        identifier = params.get("elicitationId")
        if isinstance(identifier, str) and identifier in self._elicitations:
            self.ledger.held(COMPLETE)
            return
        what = "the completion of an unknown elicitation is announced"
        if not isinstance(identifier, str):
            what = "the completion of an elicitation is announced without its id"
        self._broke(COMPLETE, what, "the elicitationId of a request", identifier, frame)

    def _required(self, frame: Frame, error: dict[str, Json]) -> None:
        data = error.get("data")
        listed = data.get("elicitations") if isinstance(data, dict) else None
        for one in listed if error.get("code") == URL_REQUIRED and isinstance(listed, list) else []:
            if isinstance(one, dict) and isinstance(one.get("elicitationId"), str):
                self._elicitations.setdefault(one["elicitationId"], brief(frame))

    # -- input requests of the stateless era

    def _input_requests(self, frame: Frame, result: dict[str, Json], call: Call) -> None:
        if result.get("resultType") != "input_required" or not isinstance(result.get("inputRequests"), dict):
            return
        if twice := _twice(frame):
            what = "a result asks for two things under one key"
            self._broke(KEYS, what, "each key once in inputRequests", twice, frame, call.sent)
        else:
            self.ledger.held(KEYS)
        params = members(call.params)
        meta = params.get("_meta")
        declared = meta.get(_META + "clientCapabilities") if isinstance(meta, dict) else None
        declared = members(declared)
        for asked in result["inputRequests"].values():
            method = asked.get("method") if isinstance(asked, dict) else None
            if not isinstance(method, str) or method not in NEEDS:
                continue
            if NEEDS[method] in declared:
                self.ledger.held(CLIENT)
                inner = asked.get("params")
                self._content(frame, method, members(inner), declared)
            else:
                self._broke(
                    undeclared_use(method, self.session.revision.date),
                    f"the server asks for {method}, although the request did not declare {NEEDS[method]}",
                    "only capabilities that the client declared on this request",
                    {"declared": declared},
                    frame,
                    call.sent,
                )

    # -- both

    def _content(self, frame: Frame, method: Json, params: dict[str, Json], client: Mapping[str, Json]) -> None:
        if method == "elicitation/create" and isinstance(client.get("elicitation"), dict):
            self._elicitation(frame, params, client["elicitation"])
        elif method == "sampling/createMessage" and isinstance(client.get("sampling"), dict):
            if "tools" in client["sampling"]:
                return
            if "tools" in params or "toolChoice" in params:
                what = "a sampling request has tools, although the client did not declare sampling.tools"
                self._broke(TOOLS, what, "no tools or toolChoice", sorted(params), frame)
            else:
                self.ledger.held(TOOLS)

    def _elicitation(self, frame: Frame, params: dict[str, Json], declared: Mapping[str, Json]) -> None:
        mode = params.get("mode", "form")
        if not isinstance(mode, str):
            return  # a wrong type is judged in wire.py
        # {} stands for form mode alone.
        if mode in (declared or {"form": {}}):
            self.ledger.held(MODE)
        elif mode in ("form", "url"):
            self._broke(MODE, f"an elicitation uses the mode {mode}", f"one of {shorten(declared)}", params, frame)
        if mode == "url" and isinstance(params.get("url"), str):
            self._url(frame, params["url"])
        identifier = params.get("elicitationId")
        if isinstance(identifier, str):
            if identifier in self._elicitations:
                self._broke(ID_UNIQUE, "an elicitationId is used again", "a new one", identifier, frame)
            else:
                self.ledger.held(ID_UNIQUE)
            self._elicitations[identifier] = brief(frame)

    def _url(self, frame: Frame, url: str) -> None:
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+", url):
            self._broke(URL, "the url of an elicitation is not an absolute URL", "scheme and host", url, frame)
            return
        self.ledger.held(URL)
        if url.lower().startswith("https:") or _LOCAL.match(url):
            self.ledger.held(HTTPS)
        else:
            self._broke(HTTPS, "the url of an elicitation is not https", "https", url, frame)

    def _broke(  # the request that led to it comes first
        self, requirement: str, what: str, expected: str, actual: Json, frame: Frame, sent: Frame | None = None
    ) -> None:
        self.ledger.broke(requirement, what, expected=expected, actual=shorten(actual), frames=(sent, frame))


def _twice(frame: Frame) -> list[str]:
    """The keys that come more than once in inputRequests, as only the text of the message shows."""
    if len(frame.data) >= LARGE:
        return []
    try:
        message = dict(json.loads(frame.data, object_pairs_hook=tuple))
        keys = [key for key, _ in dict(message["result"])["inputRequests"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return sorted({key for key in keys if keys.count(key) > 1})
