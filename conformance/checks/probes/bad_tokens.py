"""The probe of tokens that a server must not accept: as the first of a client, and after one that it accepts."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.authorization import (
    OPENING,
    UNDECIDED,
    UNKNOWN_CANCELLED,
    guards_all,
    known,
    needed,
    own_header,
)
from conformance.checks.probes.visits import Visit, Visitor, bearer, purpose
from conformance.model import OTHER_TOKENS, Json
from conformance.session.eras.handshake import Handshake

INVENTED = "mcp-conform-invalid"
UNSIGNED = ("none", "None", "NONE")
"""What a JSON Web Token says that is not signed; the others than the first pass where only that one is looked for."""
LATER = ("invented", "changed", "expired", "other-audience")
LEAST = 8
"""Characters of the shortest token that is cut."""


def tokens(bench: Bench) -> Iterator[Observation]:
    """Requests with tokens that are none: an invented one, the user's own one changed, one that nobody signed.

    They come first as the first requests of a client, then after such with the token of the user.
    """
    seen = known(bench)
    calls = seen.visit.method == "tools/call"
    for about, name, header in _wrong(bench):
        visit = Visitor(bench, bench.web()).walk(header, calls)
        yield _sent(about, name, visit, further=guards_all(seen) and visit.method not in OPENING)
    if own_header(bench) is not None and guards_all(seen):
        yield from _later(bench)


def _sent(about: str, name: str, visit: Visit, further: bool = False, accepted: bool = False) -> Observation:
    """A request with a token that is none; `further` says that one before it was served."""
    facts: dict[str, Json] = {
        "about": about,
        "token": name,
        "status": visit.status,
        "served": visit.served or further or accepted,
        "challenge": "www-authenticate" in visit.page.headers,
        "error": visit.asks.get("error", ""),
        "undecided": visit.status in UNDECIDED and not further,
    }
    told = f"the opening is served, then {visit.method}: {visit.told}" if further else visit.told
    return Observation(facts, None, visit.proof, told)


def _later(bench: Bench) -> Iterator[Observation]:
    """The same tokens in requests that are served with the user's own token, and refused without any."""
    own = needed(bench)
    visitor = Visitor(bench, bench.web())
    if not visitor.open(own).served:
        return
    wrong = [each for each in _wrong(bench) if each[0] in LATER]
    for method, params in visitor.every_request():
        if not visitor.ask(method, params, own).served or visitor.ask(method, params).status != 401:
            continue
        for about, name, header in wrong:
            yield _sent(_kept(about), f"{name}, {purpose(method)}", visitor.ask(method, params, header))
    if isinstance(bench.session.era, Handshake):
        yield from _without_answer(visitor, wrong)
    visitor.leave(own)


def _without_answer(visitor: Visitor, wrong: list[tuple[str, str, str]]) -> Iterator[Observation]:
    """The same in a notification and in a GET, where those are refused without a token."""
    if visitor.tell(*UNKNOWN_CANCELLED).status == 401:
        for about, name, header in wrong:
            visit = visitor.tell(*UNKNOWN_CANCELLED, header)
            if visit.accepted or visit.status == 401:
                yield _sent(_kept(about), f"{name}, for a notification", visit, accepted=visit.accepted)
    if visitor.bare("GET").status == 401:
        for about, name, header in wrong:
            visit = visitor.bare("GET", header)
            if visit.listens or visit.status == 401:  # a server may allow but one stream
                yield _sent(_kept(about), f"{name}, for the stream of a session", visit, accepted=visit.listens)


def _kept(about: str) -> str:
    return about if about == "other-audience" else "later"


def _wrong(bench: Bench) -> Iterator[tuple[str, str, str]]:
    """What is tried: what it is about, its name for people, and the header."""
    yield "invented", "an invented token", bearer(INVENTED)
    yield "malformed", "no token after the word Bearer", "Bearer"
    own = bench.target.token
    if own:
        yield "changed", "a token that was changed", bearer(changed(own))
        yield "near", "a token that goes on after its end", bearer(f"{own}x7")
        yield "near", "a token with something before it", bearer(f"x7{own}")
        if len(own) >= LEAST:
            yield "near", "the first half of a token", bearer(own[: len(own) // 2])
        for algorithm in UNSIGNED:
            if (unsigned := without_signature(own, algorithm)) is not None:
                yield "unsigned", f"a token that nobody signed, by the algorithm {algorithm}", bearer(unsigned)
    for kind in ("expired", "other-audience"):
        if kind in bench.target.tokens:
            yield kind, OTHER_TOKENS[kind], bearer(bench.target.tokens[kind])


def changed(token: str) -> str:
    """The token with another character in the middle of its last part, that of the signature if it has one."""
    place = (token.rfind(".") + 1 + len(token)) // 2
    return f"{token[:place]}{'A' if token[place] != 'A' else 'B'}{token[place + 1 :]}"


def without_signature(token: str, algorithm: str) -> str | None:
    """A JSON Web Token that says of itself that it is not signed; None if the token is none."""
    head, _, rest = token.partition(".")
    payload, dot, _ = rest.partition(".")
    if not (head.startswith("eyJ") and dot):
        return None
    none = base64.urlsafe_b64encode(json.dumps({"alg": algorithm, "typ": "JWT"}).encode()).rstrip(b"=").decode()
    return f"{none}.{payload}."
