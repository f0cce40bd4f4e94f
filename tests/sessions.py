"""Sessions with servers in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from conformance.checks.invariants import load_invariants
from conformance.checks.ledger import Ledger
from conformance.model import Json, Limits
from conformance.revisions import BY_DATE
from conformance.session.eras import era_of
from conformance.session.session import Session
from conformance.transports.memory import MemoryTransport

REVISION = BY_DATE["2025-11-25"]


def session(answer: Callable[[Json], Iterable[Json]], ledger: Ledger | None = None) -> Session:
    """An open session with a server in memory; `answer` gives the responses to all requests after initialize."""

    def respond(line: bytes) -> Iterable[bytes]:
        message = json.loads(line)
        if message.get("method") == "initialize":
            result = {"protocolVersion": REVISION.date, "capabilities": {"tools": {}}, "serverInfo": {"name": "x"}}
            yield json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        elif "id" in message:
            for reply in answer(message):
                yield reply if isinstance(reply, bytes) else json.dumps({"jsonrpc": "2.0", **reply}).encode()

    limits = Limits(answer=1.0, start=1.0)
    opened = Session(MemoryTransport(respond), era_of(REVISION), REVISION, limits=limits)
    if ledger is not None:
        opened.observers += [invariant(opened, ledger) for invariant in load_invariants()]
    opened.open()
    return opened
