"""Puts the rules for clients to the test, on what the survey of a session brought."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.checks.ledger import Ledger
from conformance.checks.profiles.checks import CHECKS, Offer, Untested
from conformance.checks.profiles.rules import Rule, Source


def judge(rules: Iterable[Rule], seen: Offer, ledger: Ledger) -> None:
    """Write down what clients mind, which of them, and what they do about it."""
    for rule in rules:
        try:
            for limit, clients in _by_limit(rule).items():
                for sight in CHECKS[rule.check](seen, limit):
                    does = "; ".join(f"{client.profile}: {client.does}" for client in clients)
                    ledger.broke(
                        rule.id,
                        f"{sight.what} ({does})",
                        expected=rule.text,
                        actual=sight.actual,
                        frames=sight.frames,
                    )
        except Untested as why:
            ledger.inconclusive(rule.id, str(why))
        else:
            ledger.held(rule.id)


def _by_limit(rule: Rule) -> dict[float, list[Source]]:
    groups: dict[float, list[Source]] = {}
    for client in rule.clients:
        groups.setdefault(client.limit, []).append(client)
    return groups
