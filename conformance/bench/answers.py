"""Whether an answer under load is the right one: the id, the request that it belongs to, its form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from conformance.bench.operations import PLACE, Operation
from conformance.model import Json, members
from conformance.session.messages import id_key, parse
from conformance.validation.wire_schemas import WireSchemas

_ID = re.compile(rb'"id"\s*:\s*(7\d{9})\b')
_MARK = re.compile(rb"m(7\d{9})")
EDGE = 160
"""Bytes at the beginning and the end of an answer in which its id is looked for first."""
LEARNED = 8
"""Answers of an operation alone that are remembered."""
SHORT = 4096
"""Bytes of an answer that is remembered as it is; of a longer one a digest is."""
MOST_VALIDATED = 2000
"""Answers of one operation that are compared with the schema of its method."""
APART, TWO, SELDOM = 20, 2, 0.05
"""Usual answers that follow one that is not, how often that is seen, and what part of all they are at most, before it
is said that an operation has one answer and sometimes another."""

ERROR, WRONG, INVALID = "error", "answer of another request", "invalid result"
TWICE, STRAY, UNREADABLE, LOST = "second answer", "unknown id", "not JSON-RPC", "no answer"
ENDED = "connection ended"
UNLIKE = "without its argument"
"""An answer that does not repeat the argument, though the tool does so."""
KINDS = (LOST, ERROR, WRONG, UNLIKE, INVALID, TWICE, STRAY, UNREADABLE, ENDED)
"""What counts as an error, each kind by its name in reports."""
HTTP = "HTTP status "
"""Before the number, a kind of error, too: the request was refused."""
TOO_MANY, UNAVAILABLE = 429, 503
CUT = "time ran out"
"""A request that was under way when the time was over: counted, and no error."""
CHANGED = "other than alone"
"""An answer that is valid and not the one that came while nothing else was asked: counted, and no error."""


def number_in(data: bytes) -> int:
    """The id of one of our requests that an answer carries, 0 if none is found at once."""
    found = _ID.search(data, 0, EDGE) or _ID.search(data, max(0, len(data) - EDGE)) or _ID.search(data)
    return int(found[1]) if found else 0


@dataclass(slots=True)
class Known:
    """What is known about the answers of one operation: their bytes with PLACE for the id, or a digest of them,
    learned alone."""

    usual: set[bytes] = field(default_factory=set)
    asked: int = 0
    validated: int = 0
    first: bytes = b""
    same: int = 0
    """Answers that were the first one."""
    others: int = 0
    """Those that were not, but were followed by it again and again: neither a clock nor a changed list does that."""
    times: int = 0
    """How often that was seen."""
    _since: int = 0
    _pending: int = 0

    def note(self, plain: bytes) -> None:
        """Count an answer that is as good as the others."""
        self.first = self.first or plain
        if plain != self.first:
            self._since, self._pending = 0, self._pending + 1
            return
        self.same += 1
        self._since += 1
        if self._pending and self._since >= APART:
            self.others += self._pending
            self.times += 1
            self._pending = 0

    @property
    def seldom(self) -> int:
        """How many answers were not the one that nearly all were; 0 where answers may differ."""
        return self.others if self.times >= TWO and self.others <= SELDOM * self.same else 0

    @property
    def constant(self) -> bool:
        """Whether all were the same."""
        return len(self.usual) == 1 and self.asked > 1


class Answers:
    """Judges the answers of one server. `learning` holds while one request is under way at a time."""

    def __init__(self, revision: str, stateless: bool) -> None:
        self.learning = True
        self._known: dict[str, Known] = {}
        self._schemas = WireSchemas(revision) if revision else None
        self._stateless = stateless

    def judge(self, operation: Operation, number: int, data: bytes) -> str:
        """What is wrong with the answer to request `number`, one of KINDS; CHANGED; "" if nothing is.

        The bytes decide where they are those of an answer alone: parsing costs more than all the rest.
        """
        known = self._known.setdefault(operation.name, Known())
        plain = data.replace(str(number).encode(), PLACE.encode())
        if len(plain) > SHORT:
            plain = blake2b(plain, digest_size=32).digest()
        if plain in known.usual:
            known.note(plain)
            known.asked += self.learning
            return ""
        problem = self._problem(operation, number, data, known)
        if problem:
            return problem
        known.note(plain)
        if self.learning:
            known.asked += 1
            if len(known.usual) < LEARNED:
                known.usual.add(plain)
            return ""
        if known.constant:
            others = (each for name, each in self._known.items() if name != operation.name)
            return WRONG if any(plain in other.usual for other in others) else CHANGED
        return ""

    def seldom(self) -> dict[str, tuple[int, int]]:
        """Operation → how many answers were not the one that nearly all were, and how many those are."""
        return {name: (known.seldom, known.same) for name, known in self._known.items() if known.seldom}

    def _problem(self, operation: Operation, number: int, data: bytes, known: Known) -> str:
        message, readable = parse(data)
        if not readable or not isinstance(message, dict):
            return UNREADABLE
        if message.get("id") != number or ("result" in message) == ("error" in message):
            return UNREADABLE
        if "error" in message or (members(message["result"]).get("isError") is True and not operation.fails):
            return ERROR
        if operation.marked:
            marks = {int(mark) for mark in _MARK.findall(data)}
            if number not in marks:
                return WRONG if marks else UNLIKE
        if known.validated < MOST_VALIDATED:
            known.validated += 1
            return INVALID if self._invalid(operation, message["result"]) else ""
        return ""

    def _invalid(self, operation: Operation, result: Json) -> bool:
        if self._schemas is None:
            return False
        method = self._schemas.method(operation.method)
        kind = method.result_type(result, stateless=self._stateless) if method is not None else None
        return kind is not None and not self._schemas.admits(kind, result)


def stray(data: bytes, earlier: set[str]) -> str:
    """What is wrong with a message that answers none of our requests; "" if it is the server's own.

    `earlier` are the keys of what was asked before and not answered; each may still be, once.
    """
    message, readable = parse(data)
    if not readable or not isinstance(message, (dict, list)):
        return UNREADABLE
    strays = [part for part in (message if isinstance(message, list) else [message]) if "method" not in members(part)]
    late = {id_key(members(part).get("id")) for part in strays} & earlier
    earlier -= late
    return STRAY if len(strays) > len(late) else ""


def refused(status: int, answered: bool) -> str:
    """The kind of error that the status of an HTTP answer is, "" if it is none; `answered`: its body is a response.

    What such a response says is judged like any other, unless the server was only asked too much.
    """
    refusal = status in (TOO_MANY, UNAVAILABLE) or (status >= 400 and not answered)
    return f"{HTTP}{status}" if refusal else ""


def errors_in(counted: Mapping[str, int]) -> dict[str, int]:
    """The errors among what was counted."""
    kinds = (*KINDS, *sorted(kind for kind in counted if kind.startswith(HTTP)))
    return {kind: counted[kind] for kind in kinds if counted.get(kind)}


def errors(counted: Mapping[str, int]) -> int:
    """How many errors there are among what was counted."""
    return sum(errors_in(counted).values())
