"""What the invariant about subscriptions makes of what legally comes on them, and of what does not."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from conformance.checks.invariants.subscriptions import (
    ACKNOWLEDGED,
    EQUALS,
    FIRST,
    STOPS,
    TYPES,
    UPDATED,
    URIS,
    WITHIN,
    Subscriptions,
)
from conformance.checks.ledger import Ledger
from conformance.model import Json, Limits
from conformance.revisions import BY_DATE
from conformance.session.eras import era_of
from conformance.session.notifications import SUBSCRIPTION
from conformance.session.session import Session
from conformance.transports.memory import MemoryTransport

NEW = BY_DATE["2026-07-28"]
TOOLS_CHANGED = "notifications/tools/list_changed"
FILES: Json = {"resourceSubscriptions": ["file:///a"]}


def told(method: str, identifier: Json, **params: Json) -> Json:
    """A notification on the subscription with that id."""
    return {"method": method, "params": {"_meta": {SUBSCRIPTION: identifier}, **params}}


def acknowledged(identifier: Json, **granted: Json) -> Json:
    return told(ACKNOWLEDGED, identifier, notifications=granted)


def listened(wanted: Json, *comes: Json, identifier: Json = 7, cancel: bool = False) -> Ledger:
    """What is said of a subscription to `wanted`, on which that comes; if it is to be cancelled, after that."""

    def respond(line: bytes) -> Iterable[bytes]:
        message = json.loads(line)
        if message.get("method") == "server/discover":
            result = {"supportedVersions": [NEW.date], "capabilities": {}, "resultType": "complete"}
            yield json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        if message.get("method") == ("tools/list" if cancel else "subscriptions/listen"):
            for each in comes:
                yield json.dumps({"jsonrpc": "2.0", **each}).encode()

    session = Session(MemoryTransport(respond), era_of(NEW), NEW, limits=Limits(answer=1.0, start=1.0))
    ledger = Ledger("case")
    session.observers.append(Subscriptions(session, ledger))
    session.open()
    call = session.send("subscriptions/listen", {"notifications": wanted}, id=identifier)
    session.give_up(call)
    session.hear_out()
    if cancel:
        session.notify("notifications/cancelled", {"requestId": identifier})
        session.hear_out()
        session.give_up(session.send("tools/list"))
        session.hear_out()
    session.close(hurry=True)
    return ledger


def findings(ledger: Ledger) -> list[str]:
    return [finding.requirement for finding in ledger.findings]


@pytest.mark.parametrize("identifier", [0, 7, "", "7", "mcp-conform"])
def test_an_acknowledgment_may_have_any_id_that_the_request_has(identifier: Json) -> None:
    ledger = listened({"toolsListChanged": True}, acknowledged(identifier), identifier=identifier)
    assert findings(ledger) == []
    assert {FIRST, EQUALS, WITHIN} <= set(ledger.tested)


def test_less_may_be_granted_than_was_asked_for_and_false_is_nothing() -> None:
    assert findings(listened({"toolsListChanged": True}, acknowledged(7, promptsListChanged=False))) == []


def test_a_resource_within_the_one_that_was_asked_for_may_be_told_of() -> None:
    assert findings(listened(FILES, acknowledged(7, **FILES), told(UPDATED, 7, uri="file:///a/b"))) == []


@pytest.mark.parametrize(
    ("wanted", "comes", "broken"),
    [
        (FILES, [acknowledged("7", **FILES)], EQUALS),
        (FILES, [told(UPDATED, 7, uri="file:///a"), acknowledged(7, **FILES)], FIRST),
        (FILES, [acknowledged(7, **FILES), told(UPDATED, 7, uri="file:///c")], URIS),
        (FILES, [acknowledged(7, **FILES), told(TOOLS_CHANGED, 7)], TYPES),
        (FILES, [acknowledged(7, resourceSubscriptions=["file:///c"])], WITHIN),
        (FILES, [acknowledged(7, toolsListChanged=True)], WITHIN),
    ],
)
def test_what_was_not_asked_for_is_found(wanted: Json, comes: list[Json], broken: str) -> None:
    assert findings(listened(wanted, *comes)) == [broken]


def test_what_comes_long_after_a_cancellation_is_found() -> None:
    assert findings(listened(FILES, told(UPDATED, 7, uri="file:///a"), cancel=True)) == [STOPS]
