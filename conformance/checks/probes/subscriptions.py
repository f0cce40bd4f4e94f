"""Probes of subscriptions/listen."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe

ACKNOWLEDGED = "subscriptions/acknowledgment-shape"
FILTERS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


@probe("subscriptions.listen", ACKNOWLEDGED)
def listen(bench: Bench) -> None:
    """Subscribe to the changes that the server announces, hear the acknowledgment, and cancel. Invariants judge it."""
    session = bench.session
    wanted = {name: True for list_, name in FILTERS.items() if bench.survey.declares(f"{list_}.listChanged")}
    call = session.send("subscriptions/listen", {"notifications": wanted})
    call.excused = True  # it is answered when the server ends it
    session.hear_out()
    session.notify("notifications/cancelled", {"requestId": call.id})
    session.hear_out()
    bench.ledger.inconclusive(ACKNOWLEDGED, "subscriptions/listen is not acknowledged before the next answer")
