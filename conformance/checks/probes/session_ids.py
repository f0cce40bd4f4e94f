"""The probe of session ids: whether one comes twice, and how hard they are to guess."""

from __future__ import annotations

import hashlib
import math
import string
from collections.abc import Iterator, Sequence

from conformance.checks.probes import Bench, Observation
from conformance.model import Frame, Json
from conformance.session.eras.handshake import Handshake
from conformance.session.exchanges import exchange
from conformance.survey.survey import Unavailable
from conformance.transports import SESSION

MANY, FEW = 50, 12
"""Sessions that are opened: with a server that we started, and with one that others use."""
LEAST = 8
"""Session ids from which something can be learned."""
ENOUGH = 64
"""Bits that cannot be guessed; a random UUID has 122."""
WORTH = 0.4
"""A place is as good as random if that much of what may stand in it is seen there."""
ALPHABETS = (
    string.digits,
    string.digits + "abcdef",
    string.digits + "ABCDEF",
    string.digits + string.ascii_lowercase,
    string.digits + string.ascii_uppercase,
    string.digits + string.ascii_letters,
)
LARGEST = 64
"""Characters of the alphabet of ids that have others, such as base64."""
COUNTED = 1000
"""Numbers that are tried for what an id may be the hash of."""
HASHES = ("md5", "sha1", "sha256", "sha512")


def session_ids(bench: Bench) -> Iterator[Observation]:
    """Many sessions are opened, each ended at once, and their ids compared character by character."""
    if SESSION not in bench.session.http_headers:
        return
    session = bench.connect(open=False, shared=True)
    assert isinstance(session.era, Handshake)
    ids: list[str] = []
    proof: list[Frame] = []
    for _ in range(MANY if session.transport.ours else FEW):
        call = session.request("initialize", session.era.greeting(session))
        identifier = call.opens
        if not identifier or call.head is None or not isinstance(call.result, dict):
            break
        ids.append(identifier)
        proof = [*proof[-1:], call.head]
        exchange(session, "delete", {**session.era.headers(session, None), SESSION: identifier})
    if len(ids) < LEAST:
        raise Unavailable(f"the server opened only {len(ids)} sessions one after another")
    facts: dict[str, Json] = {"twice": len(set(ids)) < len(ids), "guessable": "", "bits": math.floor(bits(ids))}
    if counted(ids):
        facts["guessable"] = "they are hashes of small numbers"
    elif bits(ids) < ENOUGH:
        facts["guessable"] = f"of their characters only about {facts['bits']} bits change unforeseeably"
    yield Observation(facts, frames=tuple(proof), actual=", ".join(each[:80] for each in ids[-3:]))


def bits(ids: Sequence[str]) -> float:
    """How many bits of the ids change from one to the next as if by chance, at most.

    Of counters and clocks only the last characters do, of a random id all.
    """
    longest = max(map(len, ids))
    places = [{each[place : place + 1] for each in ids} for place in range(longest)]
    seen = set().union(*(place for place in places if len(place) > 1)) - {""}
    size = next((len(each) for each in ALPHABETS if seen <= set(each)), LARGEST)
    most = min(size, size * (1 - (1 - 1 / size) ** len(ids)))
    return sum(math.log2(size) if len(place) >= WORTH * most else math.log2(len(place)) for place in places)


def counted(ids: Sequence[str]) -> bool:
    """Whether an id is the hash of a small number."""
    numbers = [str(number).encode() for number in range(COUNTED)]
    known = {hashlib.new(name, number).hexdigest() for name in HASHES for number in numbers}
    return any(each.lower() in known for each in ids)
