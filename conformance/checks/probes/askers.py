"""Which tools ask the client for something, and a client that answers them otherwise than one would like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import call_each, cancel
from conformance.checks.probes.input_required import asks, can_be_retried, retried
from conformance.checks.probes.lists import hears_announcements
from conformance.checks.probes.outcome import life
from conformance.model import Frame, Json, members
from conformance.session.answers import CAPABILITY, Response
from conformance.session.opened import opened_for
from conformance.session.session import Call, Session
from conformance.survey.survey import LISTS, Unavailable, walk

EVERYTHING: Json = {"roots": {"listChanged": True}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}}
"""The client capabilities with which it is found out who asks for what."""

FEW = 3
"""How many tools that ask for the same thing are tried."""

MAX_ROUNDS = 5
"""So often in one call the same unhelpful answer is given; after that the plausible one, so that it comes to an end."""

UNASKED = 1.0
"""Seconds in which a server asks that does so by itself after the opening: server-everything takes 0.35."""

Replies = Mapping[str, Callable[[Json], Response]]


@dataclass(frozen=True, slots=True)
class Asker:
    """A tool, the params of a good call of it, and what it then asks of the client: methods with their params."""

    tool: Json
    params: Json
    asked: tuple[tuple[str, Json], ...]

    @property
    def capabilities(self) -> dict[str, Json]:
        """The client capabilities that it uses, and no others."""
        return {CAPABILITY[method]: EVERYTHING[CAPABILITY[method]] for method, _ in self.asked if method in CAPABILITY}

    def asks(self, method: str) -> list[Json]:
        """The params of its requests of that method."""
        return [members(params) for asked, params in self.asked if asked == method]


def find_askers(bench: Bench, method: str = "") -> list[Asker]:
    """The tools that ask the client for `method`, or for anything, at most FEW.

    Each tool that may be called is called for that, unless that has been done in this session, whose client must have
    declared EVERYTHING: there are servers that list other tools to such a client. Raises Unavailable if no tool may be
    called, and if those that ask are not answered in time although they get what they ask for.
    """
    bench = with_tools_of(bench)
    tools = {str(tool.get("name")): tool for tool in bench.survey.callable_tools}
    if not any(_is_talkative(call) for _, call in _calls(bench.session)):
        hear_unasked(bench.session)
        for _ in call_each(bench, talkative=True):
            pass
    found: dict[str, Asker] = {}
    late = ""
    for name, call in _calls(bench.session):
        asked = tuple(_asked(bench.session, call))
        if name in tools and asked and name not in found and any(method in ("", each) for each, _ in asked):
            if not call.answers:
                late = name
                continue
            params = {key: value for key, value in call.params.items() if key != "_meta"}
            found[name] = Asker(tools[name], params, asked)
    if late and not found:
        raise Unavailable(
            f"tool {late!r} asks the client and is not answered in time although it gets what it asks for"
        )
    return list(found.values())[: FEW if method else None]


def with_tools_of(bench: Bench) -> Bench:
    """The bench, with the tools that are listed in its own session."""
    listed = [tool for _, page in walk(bench.session, *LISTS["tools"]) for tool in page]
    return replace(bench, survey=replace(bench.survey, tools=tuple(listed)))


def _is_talkative(call: Call) -> bool:
    meta = call.params.get("_meta")
    return isinstance(meta, dict) and str(meta.get("progressToken", "")).startswith("mcp-conform-")


def _calls(session: Session) -> list[tuple[str, Call]]:
    """Calls of tools by name, in order; those that were wrong, or repeat another with answers, are left out."""
    return [
        (call.params["name"], call)
        for call in session.calls.values()
        if call.method == "tools/call"
        and not call.sent.illegal
        and isinstance(call.params, dict)
        and isinstance(call.params.get("name"), str)
        and not {"inputResponses", "requestState"} & set(call.params)
    ]


def _asked(session: Session, call: Call) -> Iterator[tuple[str, Json]]:
    """What was asked of the client between the call and its answer, or by its answer."""
    result = call.result
    if isinstance(result, dict) and isinstance(result.get("inputRequests"), dict):
        for request in result["inputRequests"].values():
            if isinstance(request, dict):
                yield str(request.get("method")), request.get("params")
    later = [other.sent.number for _, other in _calls(session) if other.sent.number > call.sent.number]
    end = call.answers[0].number if call.answers else min(later, default=session.position)
    others = {other.sent.exchange for other in session.calls.values() if other is not call} - {None}
    for frame in session.since(call.sent.number):
        # Over HTTP it comes on the stream of the request that it is about, or on one that is about none.
        if frame.number < end and is_question(frame) and session.requests.polling.origin(frame.exchange) not in others:
            yield frame.message["method"], frame.message.get("params")


def is_question(frame: Frame) -> bool:
    """Whether the target asks the client for something here."""
    message = frame.message
    return (
        frame.origin == "target"
        and isinstance(message, dict)
        and isinstance(message.get("method"), str)
        and message["method"] in CAPABILITY
        and "id" in message
    )


def hear_question(session: Session, seconds: float, method: str = "") -> None:
    """Listen until the server has asked for `method`, or for anything, in this session, at most `seconds`."""
    session.listen(seconds, until=lambda: was_asked(session, method))


def was_asked(session: Session, method: str = "", since: int = 0) -> bool:
    """Whether the server has asked for `method`, or for anything, since that frame."""
    questions = filter(is_question, session.since(since))
    return any(method in ("", frame.message["method"]) for frame in questions)


def hear_unasked(session: Session) -> None:
    """Let a server that asks by itself after the opening do so, before a tool is taken for who asks."""
    if session.revision.era == "handshake" and hears_announcements(session):
        _, stream = session.unasked or (False, None)
        hear_question(session, max(0.0, unasked_within(session) - opened_for(session, stream)))


def unasked_within(session: Session) -> float:
    """Seconds in which a server asks that does so by itself.

    Of one that runs already nobody knows how long it takes to start, so that there is nothing to go by.
    """
    quiet = session.limits.quiet
    return quiet if session.transport.process_per_session else max(quiet, UNASKED)


class AskedClient:
    """A client on a session of its own, which is replaced once the server was hurt.

    In the stateless era each request says what its client can do, so that the session of the case will do at first.

    It declares no more than `capabilities`, so that a server is found out that asks for something else. `opening` is
    what it replies before the first call. With `silent` it breaks the rules itself, and no invariant watches: what
    follows on something illegal is no finding.
    """

    def __init__(
        self, bench: Bench, capabilities: Json, *, opening: Replies | None = None, silent: bool = False
    ) -> None:
        self._bench = bench
        self._capabilities = capabilities
        self._opening = opening or {}
        self._silent = silent
        self._session: Session | None = None

    def another(self) -> AskedClient:
        """A helpful client that declares the same, on a session of its own."""
        return AskedClient(self._bench, self._capabilities)

    @property
    def session(self) -> Session:
        """An open session. Raises NotSpoken, StartError."""
        if self._session is None or not self._session.alive:
            shared = self._bench.session
            any_client = shared.revision.era == "stateless" and shared.alive and not shared.deaf
            self._session = shared if any_client and not self._silent else self._opened()
        if self._session is self._bench.session:
            self._session.client = self._capabilities
        return self._session

    def _opened(self) -> Session:
        session = self._bench.connect(client=self._capabilities, open=False)
        session.answers.instead.update(self._opening)
        session.open()
        if session.revision.era == "handshake":
            hears_announcements(session)  # there are servers that ask there even while a tool is called
        if self._silent:
            session.watching.unwatch()
            session.answers.illegal = True
        return session

    def hear_question(self, method: str) -> None:
        """Listen until the server has asked for `method` in this session, at most as long as answers may take.

        For servers that ask by themselves after the opening, in their own time.
        """
        hear_question(self.session, self.session.limits.answer, method)

    def plausible(self, method: str, params: Json) -> Json:
        """What a helpful client answers."""
        return self.session.answers.plausible(method, params)

    def call(self, asker: Asker, replies: Replies, rounds: int = MAX_ROUNDS) -> Call:
        """The tool's call; its requests are answered by `replies`, plausibly after `rounds` of them."""
        session = self.session
        instead = session.answers.instead
        instead.clear()
        instead.update({method: _at_first(session, rounds, method, reply) for method, reply in replies.items()})
        call = session.send("tools/call", asker.params)
        session.wait(call)
        for _ in range(rounds if session.revision.era == "stateless" else 0):
            if not _asks_on(call):
                break
            call = session.send("tools/call", _retried(session, call, replies), illegal=self._silent)
            session.wait(call)
        instead.clear()
        call.excused = not call.answers  # it is judged here, whatever it is
        if not call.answers:
            cancel(session, call)
        return call

    def lost(self) -> str:
        """Why the server does not answer any more, "" if it does. One that does not is not used again."""
        session = self._session
        if session is None:
            return ""
        if life(session) != "over":  # if one request was lost, that is told elsewhere
            return ""
        self._session = None
        if session.ended is not None:
            return session.ended.reason
        return f"no answer within {session.limits.answer:g} s to the ping that follows"

    def observe(self, asker: Asker, call: Call, **facts: Json) -> Observation:
        """What became of the tool's call and of the server: `answered`, `server`, and what else is known."""
        session = self._session
        lost = self.lost()
        facts |= {"tool": asker.tool.get("name"), "answered": bool(call.answers)}
        if call.answers and not lost:
            return Observation({**facts, "server": "goes on"}, call, proof(session, call))
        ended = session is not None and session.ended is not None
        facts["server"] = "ends" if ended else "gets stuck"
        return Observation(facts, call, proof(session, call), call.lost or lost)


def survived(seen: Observation) -> bool:
    """Whether the call was answered, and the server goes on."""
    return bool(seen.values["server"] == "goes on")


def proof(session: Session | None, call: Call) -> tuple[Frame, ...]:
    """The call and its answer; between them the last request of the server and our reply."""
    frames = list(call.proof)
    asked = [f for f in session.since(call.sent.number) if is_question(f)] if session is not None else []
    if session is not None and asked:
        ours = (f for f in session.since(asked[-1].number) if f.origin == "us" and isinstance(f.message, dict))
        replies = [f for f in ours if "method" not in f.message and f.message.get("id") == asked[-1].message["id"]]
        frames += [asked[-1], *replies[:1]]
    return tuple(sorted(frames, key=lambda frame: frame.number))


def _at_first(
    session: Session, rounds: int, method: str, reply: Callable[[Json], Response]
) -> Callable[[Json], Response]:
    left = rounds

    def replied(params: Json) -> Response:
        nonlocal left
        left -= 1
        return reply(params) if left >= 0 else {"result": session.answers.plausible(method, params)}

    return replied


def _retried(session: Session, call: Call, replies: Replies) -> Json:
    responses = {
        key: _response(session, str(request.get("method")), request.get("params"), replies)
        for key, request in call.result["inputRequests"].items()
        if isinstance(request, dict)
    }
    return retried(call, responses)


def _asks_on(call: Call) -> bool:
    return asks(call) and isinstance(call.result.get("inputRequests"), dict) and can_be_retried(call)


def _response(session: Session, method: str, params: Json, replies: Replies) -> Json:
    reply = replies[method](params) if method in replies else {}
    return reply["result"] if "result" in reply else session.answers.plausible(method, params)


def fixed(reply: Response) -> Callable[[Json], Response]:
    """Always the same reply."""
    return lambda _params: reply


def refusal(code: int, message: str) -> Callable[[Json], Response]:
    """Always the same error."""
    return fixed({"error": {"code": code, "message": message}})
