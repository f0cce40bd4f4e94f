"""JSON that is not a request, and requests for methods that do not exist."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar

from conformance.checks.fuzz.choices import Choices, one_of, text
from conformance.checks.fuzz.example import DIED, MARK, SWALLOWED, Breach, Example, Reply
from conformance.checks.fuzz.ids import same_id
from conformance.checks.fuzz.params import NEEDS
from conformance.checks.probes import Bench
from conformance.checks.probes.outcome import UNKNOWN_STOPS
from conformance.codes import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from conformance.model import Json, Severity
from conformance.revisions import REVISIONS
from conformance.session.messages import encode
from conformance.validation.wire_schemas import for_revision

INVALID = "jsonrpc/invalid-request-code"
ECHOED = "jsonrpc/response-id-echoed"
REFUSED = "jsonrpc/unknown-method-refused"
CODE = "jsonrpc/unknown-method-code"
ONCE = "jsonrpc/every-request-answered-once"
ID = "@id"

VERSIONS: tuple[Json, ...] = ("1.0", 2, 2.0, "2", None, "2.0 ", "", [], True, "2.00", {}, "3.0", ["2.0"])
METHODS: tuple[Json, ...] = (7, None, True, [], {}, ["ping"], 1.5, -1, {"name": "ping"}, [[]])
NO_IDS: tuple[Json, ...] = (None, True, False, [], {}, [1], {"a": 1}, [None], [[]])
PARAMS: tuple[Json, ...] = ("", "x", 0, 1.5, True, False, None, -1, [], [1], ["a", {}], [[]], [None])
BARE: tuple[Json, ...] = (1, "", None, True, False, 1.5, "ping", 0, -1, 10**30, "{}")
RESPONSES: tuple[Json, ...] = (
    {"result": {}},
    {"error": {"code": INTERNAL_ERROR, "message": "x"}},
    {"result": {}, "error": {"code": 1, "message": "x"}},
    {"error": 5},
    {"error": None},
    {"result": None},
    {"error": {"code": "x"}},
    {"error": []},
)
ARRAYS: tuple[Json, ...] = ([], [1], [[]], [{}], [None], [1, 2, 3], [[], []])


class InvalidRequests:
    """JSON that is no JSON-RPC request. A server may stay silent; if it answers, it says invalid request."""

    name: ClassVar[str] = "invalid-requests"
    requirements: ClassVar[tuple[str, ...]] = (INVALID, ECHOED)
    share = 0.5

    def __init__(self, bench: Bench) -> None:
        session = bench.session
        self._stateless = session.revision.era == "stateless"
        method, params = session.era.sentinel(session)
        self._good: dict[str, Json] = {"jsonrpc": "2.0", "id": ID, "method": method}
        params = session.era.dress(session, params)
        if params is not None:
            self._good["params"] = params
        self._made: tuple[tuple[str, Callable[[Choices], tuple[bytes, str]]], ...] = (
            ("no jsonrpc", self._without("jsonrpc")),
            ("wrong jsonrpc", self._with("jsonrpc", VERSIONS)),
            ("method of a wrong type", self._with("method", METHODS)),
            ("no method", self._without("method")),
            ("id of a wrong type", self._with("id", NO_IDS)),
            ("fractional id", self._fraction),
            ("id with .0", self._round),
            ("params of a wrong type", self._with("params", PARAMS)),
            ("no object", self._value(BARE, "instead of a message")),
            ("empty object", self._value(({}, {"a": 1}, {"jsonrpc": "2.0"}), "instead of a message")),
            ("response to nothing", self._response),
            ("array", self._value(ARRAYS, "instead of a message")),
            ("member twice", self._twice),
            ("no id and wrong", self._notification),
        )

    @property
    def kinds(self) -> int:
        """Of the table in `__init__`."""
        return len(self._made)

    def make(self, choices: Choices) -> Example:
        """One message with one thing wrong."""
        kind, build = self._made[choices.below(len(self._made))]
        data, wrong = build(choices)
        return Example(data, kind, wrong)

    def judge(self, example: Example, reply: Reply) -> Breach | str:
        """Whether the target lives on, and says nothing but invalid request."""
        if reply.fate:
            return self._fate(example, reply)
        if reply.status is not None and reply.status >= 500:
            return self._wrong(reply, f"HTTP status {reply.status}", Severity.WARNING)
        if example.kind in ("response to nothing", "array", "member twice", "no id and wrong"):
            return ""  # no text says what a server makes of these
        if not reply.answers:
            return INVALID if reply.status is not None and reply.status >= 400 else ""
        if example.kind in ("fractional id", "id with .0"):
            return self._judge_number(example, reply)
        if example.kind == "id of a wrong type" and "null" in example.wrong and not reply.succeeded:
            return INVALID  # JSON-RPC allows such an id, MCP does not
        # A decoder with types makes of a method that is not a string, or missing, the method "", which does not exist.
        also = {
            "params of a wrong type": INVALID_PARAMS,
            "method of a wrong type": METHOD_NOT_FOUND,
            "no method": METHOD_NOT_FOUND,
        }
        accepted = (INVALID_REQUEST, also.get(example.kind, INVALID_REQUEST))
        if reply.code in accepted:
            return INVALID
        if reply.codeless:
            return ""
        if example.kind.startswith("params") and self._stateless:
            return ""  # without _meta it may be a message of the other era
        if reply.succeeded:
            if example.kind.startswith("params") or example.kind == "id of a wrong type":
                return ""  # an empty array of params says nothing wrong; an id of null is JSON-RPC's own
            return self._wrong(reply, "a result", Severity.WARNING)
        return self._wrong(reply, f"error {json.dumps(reply.code)}", Severity.ADVICE)

    def _judge_number(self, example: Example, reply: Reply) -> Breach | str:
        """An id that JSON-RPC allows and MCP does not, or a whole number written with a fraction."""
        identifier = reply.message.get("id")
        sent = reply.sent.message["id"] if isinstance(reply.sent.message, dict) else None
        if identifier is None or (reply.call is not None and same_id(identifier, reply.call)) or identifier == sent:
            return ""
        return Breach(
            ECHOED,
            "a number as id comes back as another one",
            f"id {json.dumps(sent)}, or an error",
            f"id {json.dumps(identifier)}",
            reply.proof,
            Severity.WARNING,
            {"response": {"id": sent}, "silence": "allowed"},
        )

    def _fate(self, example: Example, reply: Reply) -> Breach:
        what = "an array" if example.kind == "array" else "JSON that is not a request"
        message = {DIED: f"{what} ends the server", SWALLOWED: f"{what} swallows the message after it"}.get(
            reply.fate, f"after {what} the server stops answering"
        )
        return Breach(
            INVALID,
            message,
            "silence or error -32600, and the server lives on",
            reply.why,
            (reply.sent, *reply.frames[1:4]),
            # Some stream decoders end the connection at an array, and no revision but one speaks of arrays.
            Severity.ADVICE if example.kind == "array" else Severity.WARNING,
            {"alive": True},
        )

    def _wrong(self, reply: Reply, actual: str, ceiling: Severity) -> Breach:
        return Breach(
            INVALID,
            "a frame that is not a request gets another answer",
            "error -32600",
            actual,
            reply.proof,
            ceiling,
            {"response": {"error": {"code": INVALID_REQUEST}}, "silence": "allowed"},
        )

    # -- making

    def _without(self, member: str) -> Callable[[Choices], tuple[bytes, str]]:
        good = {name: value for name, value in self._good.items() if name != member}
        return lambda choices: (encode(good), f"no {member}")

    def _with(self, member: str, values: tuple[Json, ...]) -> Callable[[Choices], tuple[bytes, str]]:
        def build(choices: Choices) -> tuple[bytes, str]:
            value = one_of(choices, values)
            return encode({**self._good, member: value}), f"{member}: {json.dumps(value)}"

        return build

    def _value(self, values: tuple[Json, ...], what: str) -> Callable[[Choices], tuple[bytes, str]]:
        def build(choices: Choices) -> tuple[bytes, str]:
            value = one_of(choices, values)
            return encode(value), f"{json.dumps(value)} {what}"

        return build

    def _fraction(self, choices: Choices) -> tuple[bytes, str]:
        tail = one_of(choices, (b".5", b".25", b".999", b".0000001", b"5e-1"))
        return encode(self._good).replace(MARK, MARK + tail), f"an id with the fraction {tail.decode()}"

    def _round(self, choices: Choices) -> tuple[bytes, str]:
        tail = one_of(choices, (b".0", b"e0", b".000", b"E+0"))
        return encode(self._good).replace(MARK, MARK + tail), f"a whole number as id, written with {tail.decode()}"

    def _response(self, choices: Choices) -> tuple[bytes, str]:
        rest = one_of(choices, RESPONSES)
        identifiers: tuple[Json, ...] = (ID, None, "x", [], {}, 1.5)
        identifier = one_of(choices, identifiers)
        return encode({"jsonrpc": "2.0", "id": identifier, **rest}), f"a response to nothing, {json.dumps(rest)}"

    def _twice(self, choices: Choices) -> tuple[bytes, str]:
        member = one_of(choices, ("jsonrpc", "id", "method"))
        again = one_of(choices, (b'"x"', b"null", b"1", b"{}"))
        return encode(self._good)[:-1] + b',"' + member.encode() + b'":' + again + b"}", f"{member} twice"

    def _notification(self, choices: Choices) -> tuple[bytes, str]:
        member, values = one_of(choices, (("method", METHODS), ("params", PARAMS), ("jsonrpc", VERSIONS)))
        value = one_of(choices, values)
        good = {"jsonrpc": "2.0", "method": "notifications/mcp-conform-unknown", "params": {}}
        return encode({**good, member: value}), f"a notification with {member}: {json.dumps(value)}"


REAL = tuple(dict.fromkeys(name for revision in REVISIONS for name in for_revision(revision.date).methods))


CHANGES: tuple[Callable[[str], str], ...] = (
    lambda name: f"{name}s",
    lambda name: name[:-1],
    lambda name: name[1:],
    lambda name: name[:2] + name[1:],
    lambda name: f"{name}/",
    lambda name: f"{name}/list",
    lambda name: name.partition("/")[0],
    lambda name: f"x{name}",
    lambda name: name.replace("/", "."),
    lambda name: name[::-1],
    lambda name: f"{name}\u0000",
    lambda name: f" {name}",
    lambda name: f"{name}?",
    lambda name: f"/{name}",
)
"""From a real name to one near it."""


class UnknownMethods:
    """Requests for methods that do not exist: each is answered by error -32601."""

    name: ClassVar[str] = "unknown-methods"
    requirements: ClassVar[tuple[str, ...]] = (REFUSED, CODE, ONCE)
    share = 0.6

    def __init__(self, bench: Bench) -> None:
        self._session = bench.session
        self._plain = bench.session.transport.has_headers and bench.session.revision.era == "stateless"
        known = for_revision(bench.session.revision.date).methods
        self._served = [
            name for name, needed in NEEDS.items() if name in known and needed and bench.survey.declares(needed)
        ]
        self._served += [name for name in ("ping", "server/discover") if name in known]
        self._made = (self._near, self._invented, self._odd, self._long, self._empty, self._reserved)

    @property
    def kinds(self) -> int:
        """Ways to make a name."""
        return len(self._made)

    def make(self, choices: Choices) -> Example:
        """A request that is right but for its method."""
        kind, name = self._made[choices.below(len(self._made))](choices)
        if name in REAL or (self._plain and not (name.isascii() and name.isprintable() and name == name.strip())):
            kind, name = "invented", "mcp-conform/none"
        params = one_of(choices, ({}, {"name": "x"}, {"uri": "x:y"}, {"a": [1, None]}))
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": ID, "method": name}
        dressed = self._session.era.dress(self._session, params)
        if dressed or choices.below(2):
            message["params"] = dressed
        shown = json.dumps(name if len(name) < 60 else f"{name[:60]}…")
        return Example(encode(message), kind, f"method {shown}, which does not exist", due=True, about={"name": name})

    def judge(self, example: Example, reply: Reply) -> Breach | str:
        """Error -32601, whatever the name."""
        name = example.about["name"]
        if reply.fate:
            swallowed = "a request for an unknown method swallows the next one"
            message = swallowed if reply.fate == SWALLOWED else UNKNOWN_STOPS
            proof = (reply.sent, *reply.frames[1:4])
            return Breach(ONCE, message, "an error, and the server lives on", reply.why, proof, None, {"alive": True})
        if name.startswith("rpc."):
            return ""  # reserved for extensions of JSON-RPC
        if not reply.answers:
            if reply.status is not None:
                return REFUSED if 400 <= reply.status < 500 else ""
            return self._refused(reply, (reply.call.lost if reply.call else "") or "no answer", name)
        if reply.succeeded:
            return self._refused(reply, encode(reply.message).decode("utf-8", "replace")[:200], name)
        odd = not name.strip() or not name.isascii() or len(name) > 1000 or not name.isprintable()
        http = reply.status is not None
        if (
            reply.code == METHOD_NOT_FOUND
            or (odd and reply.code in (INVALID_REQUEST, INVALID_PARAMS))
            or (http and reply.code == HEADER_MISMATCH)
        ):
            return CODE
        if reply.codeless:
            return ""
        return Breach(
            CODE,
            "the error for an unknown method has another code",
            "error -32601",
            f"error {json.dumps(reply.code)}",
            reply.proof,
            None,
            {"response": {"error": {"code": METHOD_NOT_FOUND}}},
        )

    def _refused(self, reply: Reply, actual: str, name: str) -> Breach:
        # A name that a lenient server may take for a real one weighs less.
        near = "".join(filter(str.isalnum, name)).lower() in {"".join(filter(str.isalnum, r)).lower() for r in REAL}
        return Breach(
            REFUSED,
            "a request for an unknown method is not refused by an error",
            "error -32601",
            actual,
            reply.proof,
            Severity.ADVICE if near else None,
            {"response": {"error": {"$type": "object"}}},
        )

    # -- names

    def _near(self, choices: Choices) -> tuple[str, str]:
        change = one_of(choices, CHANGES)
        name = one_of(choices, self._served)
        return "near a real name", change(name)

    def _invented(self, choices: Choices) -> tuple[str, str]:
        words = (
            "none",
            "list",
            "call",
            "get",
            "tools",
            "constructor",
            "__proto__",
            "toString",
            "hasOwnProperty",
            "eval",
        )
        first, second = one_of(choices, ("mcp-conform", *words)), one_of(choices, words)
        return "invented", one_of(choices, (f"{first}/{second}", f"mcp-conform-{second}", first, f"__{second}__"))

    def _odd(self, choices: Choices) -> tuple[str, str]:
        return "odd characters", "x" + text(choices, "é世😀\u0000\u2028\"\\%s{}$<>'`;\u202e\ufeff\t/", 8)

    def _long(self, choices: Choices) -> tuple[str, str]:
        unit = one_of(choices, ("x", "é", "a/", "tools/"))
        return "long", unit * one_of(choices, (20, 300, 5_000, 70_000) if not self._plain else (20, 300, 1_000))

    def _empty(self, choices: Choices) -> tuple[str, str]:
        return "empty", one_of(choices, ("", " ", "/", "\t", "\u0000", ".", "//", "*"))

    def _reserved(self, choices: Choices) -> tuple[str, str]:
        return "reserved", "rpc." + one_of(choices, ("none", "", "list", "discover", "x" * 50))
