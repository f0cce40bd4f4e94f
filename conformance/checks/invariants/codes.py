"""Codes: error codes lie in the bands that the revision leaves for them; resultType is one that exists."""

from __future__ import annotations

from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher, is_integer
from conformance.checks.invariants.tasks_extension import EXTENSION
from conformance.codes import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    PREDEFINED,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_VERSION,
    URL_REQUIRED,
)
from conformance.model import Frame, Severity
from conformance.session.session import Call

INVENTED = "jsonrpc/no-invented-reserved-codes"
SPEC_BAND = "jsonrpc/spec-code-band-only-defined"
LEGACY_BAND = "jsonrpc/legacy-code-band-unused"
RETIRED_32002 = "jsonrpc/retired-code-32002-unused"
RETIRED_32042 = "jsonrpc/retired-code-32042-unused"
APPLICATION = "jsonrpc/application-codes-outside-reserved"
AS_SPECIFIED = "jsonrpc/spec-codes-as-specified"
TYPE_PRESENT = "jsonrpc/result-type-present"
TYPE_KNOWN = "jsonrpc/result-type-known"

DEFINED = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)


class Codes(Watcher):
    """See the module."""

    name = "codes"
    requirements: ClassVar[tuple[str, ...]] = (
        INVENTED,
        SPEC_BAND,
        LEGACY_BAND,
        RETIRED_32002,
        RETIRED_32042,
        APPLICATION,
        AS_SPECIFIED,
        TYPE_PRESENT,
        TYPE_KNOWN,
    )

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the code of an error or the type of a result."""
        message = frame.message
        if not isinstance(message, dict) or "method" in message:
            return
        stateless = self.session.revision.era == "stateless"
        if stateless and (call is None or not is_of(call, self.session.revision.date)):
            return  # a server of both eras answers by the rules of the other one
        error = message.get("error")
        if isinstance(error, dict) and is_integer(error.get("code")):
            if stateless:
                self._stateless_code(int(error["code"]), frame, call)
            else:
                bad = -32768 <= error["code"] <= -32100 and error["code"] not in PREDEFINED
                self._say(INVENTED, bad, int(error["code"]), frame, call)
        elif stateless and call is not None and isinstance(message.get("result"), dict):
            self._result_type(message["result"].get("resultType"), frame, call)

    def _stateless_code(self, code: int, frame: Frame, call: Call | None) -> None:
        self._say(RETIRED_32042, code == URL_REQUIRED, code, frame, call)
        self._say(RETIRED_32002, code == RESOURCE_NOT_FOUND, code, frame, call)
        band = -32099 <= code <= HEADER_MISMATCH and code not in DEFINED and code != URL_REQUIRED
        self._say(SPEC_BAND, band, code, frame, call)
        self._say(LEGACY_BAND, -32019 <= code <= -32000 and code != RESOURCE_NOT_FOUND, code, frame, call)
        reserved = -32768 <= code <= -32100 and code not in PREDEFINED
        self._say(APPLICATION, reserved, code, frame, call)
        if code == HEADER_MISMATCH:
            self._say(AS_SPECIFIED, not self.session.transport.has_headers, code, frame, call)

    def _say(self, requirement: str, bad: bool, code: int, frame: Frame, call: Call | None) -> None:
        if not bad:
            self.ledger.held(requirement)
            return
        self.ledger.broke(
            requirement,
            f"an error has the code {code}",
            expected="a code that the revision leaves for the purpose",
            actual=str(code),
            frames=(call.sent if call else None, frame),
            # The legacy band is left to implementations that used it before, and nobody can see which those are.
            ceiling=self.softened(Severity.ADVICE if requirement == LEGACY_BAND else None),
        )

    def _result_type(self, kind: object, frame: Frame, call: Call) -> None:
        if not isinstance(kind, str):
            actual = "no resultType" if kind is None else shorten(kind)
            self.ledger.broke(
                TYPE_PRESENT,
                f"the result of {call.method} has no resultType string",
                expected='"complete" or "input_required"',
                actual=actual,
                frames=(call.sent, frame),
                ceiling=self.softened(),
            )
            return
        self.ledger.held(TYPE_PRESENT)
        declared = self.session.capabilities.get("extensions")
        own = kind == "task" and isinstance(declared, dict) and EXTENSION in declared
        if own or kind in ("complete", "input_required"):
            self.ledger.held(TYPE_KNOWN)
            return
        self.ledger.broke(
            TYPE_KNOWN,
            f"the result of {call.method} has an unknown resultType",
            expected='"complete" or "input_required"',
            actual=shorten(kind),
            frames=(call.sent, frame),
            ceiling=self.softened(Severity.WARNING if isinstance(declared, dict) and declared else None),
        )


def is_of(call: Call, revision: str) -> bool:
    """Whether the `_meta` of a request named the revision; another one may be taken for the other era."""
    meta = call.params.get("_meta") if isinstance(call.params, dict) else None
    return isinstance(meta, dict) and meta.get("io.modelcontextprotocol/protocolVersion") == revision
