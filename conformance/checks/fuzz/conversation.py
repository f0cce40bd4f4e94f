"""Scripts of legal traffic: requests in flight together, ids of all kinds, cancellations, tokens, notifications.

The invariants judge what is said; here it is seen that each request is answered, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from conformance.checks.fuzz.choices import Choices, one_of, text
from conformance.checks.fuzz.example import DIED, HUNG, Breach, Example, Reply
from conformance.checks.fuzz.limits import extreme_lines
from conformance.checks.fuzz.odd_values import ODD, PLAIN
from conformance.checks.fuzz.params import NEEDS, good_params
from conformance.checks.probes import Bench
from conformance.model import Frame, Json, Severity
from conformance.session.messages import MAY_TAKE_LONG, Call, encode
from conformance.validation.wire_schemas import for_revision

ONCE = "jsonrpc/every-request-answered-once"
ECHOED = "jsonrpc/response-id-echoed"
SILENT = "jsonrpc/notification-never-answered"

MOST = 8
"""Messages of a script besides the one that it is about."""
LEVELS = ("error", "debug", "info", "notice", "warning", "critical", "alert", "emergency")
IDS = ("@id{}", "s-@n{}", "@n{}", "-@n{}", "é世-@n{}", "@n{}.5", "a b\t@n{}", "00@n{}", "x" * 300 + "@n{}", '"\\@n{}')
"""Written with the number of the message; the first is a number, the others are text."""
BIG = ("", "-", "2147", "900719925", "-214748")
"""What is put before the digits of a number as id: past 31 bits, and still within 2**53."""


class Conversation:
    """See the module."""

    name: ClassVar[str] = "conversation"
    requirements: ClassVar[tuple[str, ...]] = (ONCE, ECHOED)
    share = 0.5

    def __init__(self, bench: Bench) -> None:
        self._session = bench.session
        self._one_stream = bench.session.transport.single_stream
        self._stateless = bench.session.revision.era == "stateless"
        known = for_revision(bench.session.revision.date).methods
        survey = bench.survey
        self._params = {
            name: params
            for name, params in good_params(survey).items()
            if name in known and not name.startswith(("tasks/", "subscriptions/")) and self._offered(bench, name)
        }
        self._plain = [name for name in self._params if name not in (*MAY_TAKE_LONG, "logging/setLevel")]
        self._kinds: tuple[Callable[[Choices, int], Json], ...] = (
            self._request,
            self._odd_id,
            self._big_id,
            self._token,
            self._odd_meta,
            self._deep_meta,
            self._long_meta,
            self._author,
            self._unknown_notification,
            self._cancel_unknown,
            self._cancel_earlier,
            self._level if "logging/setLevel" in self._params else self._request,
            self._listen if self._stateless and self._one_stream else self._request,
        )

    def _offered(self, bench: Bench, name: str) -> bool:
        if NEEDS[name] and not bench.survey.declares(NEEDS[name]):
            return False
        tools = bench.survey.callable_tools
        hints = tools[0].get("annotations") if tools else None
        closed = isinstance(hints, dict) and hints.get("openWorldHint") is False
        return name != "tools/call" or closed or bench.survey.policy.mode == "all"

    @property
    def kinds(self) -> int:
        """Kinds of messages."""
        return len(self._kinds)

    def make(self, choices: Choices) -> Example:
        """A script. The first choices are about its last message; what comes before it has the numbers from 1."""
        last = self._kinds[choices.below(len(self._kinds))]
        about = last(choices, 0)
        others = [self._kinds[choices.below(len(self._kinds))](choices, i + 1) for i in range(choices.below(MOST))]
        lines = [*others, about]
        astray = _aim(lines)
        script = tuple(_numbers(encode(line)) for line in lines)
        together = self._one_stream and bool(choices.below(2))
        said = ", ".join(dict.fromkeys(str(line["method"]) for line in lines))
        example = Example(
            b"\n".join(script),
            last.__name__.strip("_").replace("_", " "),
            f"{len(script)} {_kind(astray)}{' at once' if together and len(script) > 1 else ''} ({said})",
            due=True,
            illegal=False,
            about={"together": together, "astray": astray},
            script=script,
        )
        return replace(example, about={**example.about, "extreme": extreme_lines(example)})

    def judge(self, example: Example, reply: Reply) -> Breach | str:
        """Whether each request was answered once and nothing else came."""
        extreme = any(example.about["extreme"])
        ceiling = Severity.WARNING if extreme else None
        astray = example.about["astray"]
        ended = Severity.WARNING if astray else ceiling
        open_calls = [call for call in reply.calls if not call.answers and not call.excused]
        if reply.fate == DIED:
            message, expected = f"{_kind(astray)} end the server", "a response to each request"
            return Breach(ONCE, message, expected, reply.why, reply.frames, ended, {"alive": True})
        if any(call.garbled or call.method in MAY_TAKE_LONG for call in open_calls):
            return ""
        if reply.fate == HUNG:
            message = f"after {_kind(astray)} the server stops answering"
            return Breach(ONCE, message, "a response", reply.why, reply.frames, ended, {"alive": True})
        if reply.strays and not (extreme and all(_unread(stray) for stray in reply.strays)):
            # What its parser does not take a server may refuse as JSON-RPC says.
            return self._stray(example, reply, open_calls, ceiling)
        if open_calls:
            first = open_calls[0]
            if first.head is not None and (first.head.status or 200) >= 400:
                return ""
            message = f"{first.method} is not answered"
            expect, step = _answered(example, reply, first)
            lost = f"{first.lost or 'no answer'} (the id is {encode(first.id).decode()})"
            return Breach(ONCE, message, "exactly one response", lost, reply.frames, None, expect, step)
        return ONCE

    def _stray(self, example: Example, reply: Reply, lacking: list[Call], ceiling: Severity | None) -> Breach:
        """A response to nothing: to a notification, or to a request under another id."""
        shown = encode(reply.strays[0].message).decode("utf-8", "replace")[:200]
        if not lacking and reply.strays[0].message.get("id") is None and b'"notifications/' in example.data:
            expect, step = {"nothing": True}, len(example.script) - 1
            message, expected = "a notification is answered", "no response to a notification"
            return Breach(SILENT, message, expected, shown, reply.frames, ceiling, expect, step)
        expect, step = _answered(example, reply, lacking[0]) if lacking else ({"alive": True}, -1)
        message, expected = "a response has an id that no request has", "the id of a request"
        return Breach(ECHOED, message, expected, shown, reply.frames, ceiling, expect, step)

    # -- messages

    def _message(self, method: str, params: Json, number: int, identifier: str = "@id{}") -> dict[str, Json]:
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": identifier.format(number), "method": method}
        dressed = self._session.era.dress(self._session, params)
        if dressed is not None:
            message["params"] = dressed
        return message

    def _request(self, choices: Choices, number: int) -> Json:
        method = one_of(choices, self._plain)
        params = self._params[method]
        return self._message(method, params if params or choices.below(2) else None, number)

    def _odd_id(self, choices: Choices, number: int) -> Json:
        identifier = one_of(choices, IDS)
        method = one_of(choices, self._plain)
        return self._message(method, self._params[method], number, identifier)

    def _big_id(self, choices: Choices, number: int) -> Json:
        # A number that begins with these digits: the mark is replaced inside it.
        start = one_of(choices, BIG)
        method = one_of(choices, self._plain)
        return {**self._message(method, self._params[method], number), "id": f"@big{start}@id{number}"}

    def _token(self, choices: Choices, number: int) -> Json:
        method = one_of(choices, [*self._plain, *self._authors()])
        token = one_of(choices, (f"@id{number}", f"t-@n{number}", f"é@n{number}", f"@n{number}"))
        return self._message(method, {**self._params[method], "_meta": {"progressToken": token}}, number)

    def _with_meta(self, choices: Choices, number: int, value: Json) -> Json:
        method = one_of(choices, self._plain)
        return self._message(method, {**self._params[method], "_meta": {"com.example/mcp-conform": value}}, number)

    def _odd_meta(self, choices: Choices, number: int) -> Json:
        values: tuple[Json, ...] = (0.1, {}, [], None, True, -0.0, 1e300, 2**53, -(2**63), 2**64, 1e-300, "", {}, [""])
        at = choices.below(len(values) + 4)
        words = text(choices, one_of(choices, (ODD, PLAIN, "\ud7ff\uffff\U0010ffff\u0001\u007f\u0085/")), 8)
        value = values[at] if at < len(values) else one_of(choices, (words, {words: words}, [words] * 3))
        return self._with_meta(choices, number, value)

    def _deep_meta(self, choices: Choices, number: int) -> Json:
        depth = one_of(choices, (1, 10, 31, 63, 64, 100, 130))
        value: Json = one_of(choices, (0, "x", []))
        for _ in range(depth):
            value = [value] if choices.below(2) == 0 else {"a": value}
        return self._with_meta(choices, number, value)

    def _long_meta(self, choices: Choices, number: int) -> Json:
        length = one_of(choices, (100, 5_000, 66_000, 70_000, 1_100_000))
        unit = one_of(choices, ("x", "é", "\\", "😀"))
        return self._with_meta(choices, number, unit * (length // len(encode(unit)[1:-1])))

    def _authors(self) -> list[str]:
        return [name for name in MAY_TAKE_LONG if name in self._params]

    def _author(self, choices: Choices, number: int) -> Json:
        method = one_of(choices, self._authors() or self._plain)
        return self._message(method, self._params[method], number)

    def _level(self, choices: Choices, number: int) -> Json:
        return self._message("logging/setLevel", {"level": one_of(choices, LEVELS)}, number)

    def _listen(self, choices: Choices, number: int) -> Json:
        names = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
        wanted = {name: True for name in names if choices.below(2)}
        return self._message("subscriptions/listen", {"notifications": wanted}, number)

    def _unknown_notification(self, choices: Choices, number: int) -> Json:
        name = one_of(choices, ("unknown", "", "x" * 300, "é"))
        return {"jsonrpc": "2.0", "method": f"notifications/mcp-conform-{name}"}

    def _cancelled(self, identifier: Json, choices: Choices) -> Json:
        reason = one_of(choices, (None, "", "no reason", "é😀\u0000", "x" * 5_000))
        params = {"requestId": identifier, **({"reason": reason} if reason is not None else {})}
        return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}

    def _cancel_unknown(self, choices: Choices, number: int) -> Json:
        return self._cancelled(one_of(choices, ("mcp-conform-none", 987654321, "", "0", -5, "é")), choices)

    def _cancel_earlier(self, choices: Choices, number: int) -> Json:
        return self._cancelled(f"@id{1 + choices.below(3)}", choices)


def _aim(lines: list[Json]) -> bool:
    """Give each cancellation of an earlier message the id that this has; whether one is of no earlier request.

    Such cancellations no client should send, and a server only SHOULD ignore them.
    """
    astray = False
    earlier: dict[Json, Json] = {}
    for number, line in enumerate(lines, 1):
        if line["method"] == "notifications/cancelled":
            aimed = line["params"]["requestId"]
            line["params"]["requestId"] = earlier.get(aimed, aimed)
            astray = astray or aimed not in earlier
        elif "id" in line:
            earlier[f"@id{number}"] = line["id"]
    return astray


def _kind(astray: bool) -> str:
    return "messages, of them a cancellation of no request," if astray else "legal messages"


def _unread(response: Frame) -> bool:
    """Whether it says that a message could not be read: an error without an id."""
    return response.message.get("id") is None and "error" in response.message


def _answered(example: Example, reply: Reply, call: Call) -> tuple[dict[str, Json], int]:
    """What a case expects of a request of the script, and in which line it stands."""
    requests = [i for i, line in enumerate(example.script) if b'"notifications/' not in line]
    return {"response": {"jsonrpc": "2.0"}}, requests[reply.calls.index(call)]


_NUMBER = re.compile(rb'"(?:@big(-?[0-9]*))?@id([0-9]+)"')


def _numbers(line: bytes) -> bytes:
    """A line whose ids that are numbers are no text any more."""
    return _NUMBER.sub(rb"\1@n\2", line)
