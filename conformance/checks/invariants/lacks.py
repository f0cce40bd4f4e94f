"""Lacks: error -32021 names the client capabilities that are missing, and comes with HTTP status 400."""

from __future__ import annotations

from typing import ClassVar

from conformance.checks.invariants.base import Watcher, is_integer
from conformance.checks.invariants.codes import is_of
from conformance.codes import MISSING_CAPABILITY
from conformance.model import Frame, Json, members
from conformance.session.eras.stateless import META
from conformance.session.session import Call

NAMED = "meta/missing-capability-named"
STATUS = "meta/missing-capability-http-400"


class Lacks(Watcher):
    """See the module."""

    name = "lacks"
    requirements: ClassVar[tuple[str, ...]] = (NAMED, STATUS)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge an error -32021."""
        if self.session.revision.era != "stateless" or call is None or not is_of(call, self.session.revision.date):
            return
        error = members(frame.message.get("error") if isinstance(frame.message, dict) else None)
        if not is_integer(error.get("code")) or error["code"] != MISSING_CAPABILITY:
            return
        proof = (call.sent, frame)
        data = error.get("data")
        declared = members(members(call.params).get("_meta")).get(META + "clientCapabilities")
        if (
            _names_some(data)
            and isinstance(declared, dict)
            and _within(_spelt_out(members(data)["requiredCapabilities"]), _spelt_out(declared))
        ):
            what = "error -32021 names capabilities that the client declared"
            expected = "in data.requiredCapabilities what is missing"
            self.breach(NAMED, what, expected, data, proof, self.softened())
        elif _names_some(data):
            self.ledger.held(NAMED)
        else:
            what = "error -32021 does not name the missing capabilities"
            expected = 'data.requiredCapabilities, as {"elicitation": {}}'
            self.breach(NAMED, what, expected, data, proof, self.softened())
        if not self.session.transport.has_headers:
            return
        if frame.channel == "sse" and frame.status == 200:  # it may have been decided after the stream had begun
            self.ledger.inconclusive(STATUS, "error -32021 came in an event stream, which had begun before")
        elif frame.status == 400:
            self.ledger.held(STATUS)
        else:
            what = "error -32021 has another HTTP status than 400"
            self.breach(STATUS, what, "HTTP status 400", f"HTTP status {frame.status}", proof, self.softened())


def _names_some(data: Json) -> bool:
    required = data.get("requiredCapabilities") if isinstance(data, dict) else None
    return isinstance(required, dict) and bool(required) and all(isinstance(each, dict) for each in required.values())


def _spelt_out(capabilities: Json) -> Json:
    """An empty object for elicitation means forms (client/elicitation, Capabilities)."""
    empty = isinstance(capabilities, dict) and capabilities.get("elicitation") == {}
    return {**capabilities, "elicitation": {"form": {}}} if empty else capabilities


def _within(required: Json, declared: Json) -> bool:
    """Whether all that is required is declared, member by member."""
    return not isinstance(required, dict) or (
        isinstance(declared, dict)
        and all(name in declared and _within(each, declared[name]) for name, each in required.items())
    )
