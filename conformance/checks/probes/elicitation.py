"""Probes of the area elicitation: users who decline, cancel or answer nonsense, and clients that were not asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.another_client import another_client
from conformance.checks.probes.askers import AskedClient, Asker, find_askers, fixed, is_question, survived
from conformance.checks.probes.lists import hears_announcements
from conformance.checks.probes.outcome import complete, succeeded
from conformance.codes import INVALID_PARAMS
from conformance.model import Frame, Json, elements, members
from conformance.session.answers import CAPABILITY, Response
from conformance.session.session import Call, Session, encode
from conformance.survey.survey import Unavailable

CREATE = "elicitation/create"
NOBODY = "no tool that was called asks the client for input of the user; allow one with --call-tool"
SAMPLE = "sampling/createMessage"
PARTS: tuple[Json, ...] = ({"sampling": {}, "elicitation": {}}, {"elicitation": {"url": {}}})
"""Clients that have only a part of what there is: sampling without tools, forms only, URLs only."""
UNHELPFUL: dict[str, Response] = {
    "decline": {"result": {"action": "decline"}},
    "cancel": {"result": {"action": "cancel"}},
    "error": {"error": {"code": INVALID_PARAMS, "message": "Invalid params"}},
}


def undeclared(bench: Bench) -> Iterator[Observation]:
    """The tools that ask, twice each, by a client without any capability. Invariants judge what they ask then.

    It finds out what each of them asks of a client that has everything.
    """
    askers = find_askers(bench)
    # What it asks for of its own accord, as it does of a client that has it, it must not ask for here.
    answered = {frame.message["method"] for frame in bench.session.trace if is_question(frame)}
    answered -= {method for asker in askers for method, _ in asker.asked}
    if not askers and not answered:
        raise Unavailable("no tool that was called asks the client for anything; allow one with --call-tool")
    client = AskedClient(bench, {})
    if client.session.hear_out() is None:
        answered.clear()
    for asker in askers:
        calls = [client.call(asker, {}) for _ in range(2)]
        if client.lost() == "" and all(call.answers for call in calls):
            answered |= {method for method, _ in asker.asked}
        yield Observation({"tool": asker.tool.get("name")}, calls[-1])
    _beside_a_better_one(bench, askers)
    for method in CAPABILITY:
        yield Observation({"method": method, "answered-without": method in answered})


def _beside_a_better_one(bench: Bench, askers: list[Asker]) -> None:
    """The same tools, by such a client after another one of the same server has declared everything."""
    plain = another_client(bench, {})
    if plain is None or another_client(bench, bench.session.client) is None:
        return
    hears_announcements(plain)
    for asker in askers:
        if plain.alive:
            call = plain.send("tools/call", asker.params)
            plain.wait(call)
            plain.give_up(call)


def partial_client(bench: Bench) -> Iterator[Observation]:
    """The tools that ask, by clients that declared less than they could, which decides nothing by itself.

    It finds out which tools ask for something that has parts. Invariants judge what they ask then.
    """
    askers = [each for each in find_askers(bench) if {SAMPLE, CREATE} & {method for method, _ in each.asked}]
    if not askers:
        raise Unavailable("no tool that was called asks the client for sampling or for input of the user")
    clients = [AskedClient(bench, part) for part in PARTS]
    calls = [client.call(asker, {}) for client in clients for asker in askers]
    yield Observation({"answered": sum(bool(call.answers) for call in calls)})


def actions(bench: Bench) -> Iterator[Observation]:
    """Tools that ask the user, who accepts, declines, cancels, is refused by the client, or breaks the form.

    It finds out which tools ask, fills in their forms, and compares what they return.
    """
    askers = find_askers(bench, CREATE)
    if not askers:
        raise Unavailable(NOBODY)
    stateless = bench.session.revision.era == "stateless"
    client = AskedClient(bench, {name: value for asker in askers for name, value in asker.capabilities.items()})
    for asker in askers:
        control = client.call(asker, {})
        seen = client.observe(asker, control, reply="accept")
        yield seen
        if not survived(seen):
            continue
        without: list[Call] = []
        for name, reply in UNHELPFUL.items():
            if name == "error" and stateless:
                break  # there is no such answer
            call = client.call(asker, {CREATE: fixed(reply)})
            seen = client.observe(asker, call, reply=name)
            same = survived(seen) and name == "decline" and _asks_once(asker) and _same_success(control, call)
            frames = (*control.proof, *seen.frames) if same else seen.frames
            yield replace(seen, values={**seen.values, "same-as-accepted": same}, frames=frames)
            if same or not survived(seen):
                break
            without.append(call)
        # Who makes nothing of a refusal may not even have waited for it.
        heeds = _asks_once(asker) or not any(_same_success(control, call) for call in without)
        if heeds and succeeded(control) and complete(control):
            for seen in _invalid(client, asker):
                # It may leave out what does not fit, and go on as with a user who gives nothing.
                given = seen.call
                left_out = (
                    given is not None
                    and any(_same_success(other, given) for other in without)
                    and not _same_success(control, given)
                )
                yield replace(seen, values={**seen.values, "left-out": left_out})


def _asks_once(asker: Asker) -> bool:
    """Whether all that the tool asks is one form: it may do without what it asked for only then."""
    return len(asker.asked) == 1 and any(params.get("mode", "form") == "form" for params in asker.asks(CREATE))


def _same_success(control: Call, call: Call) -> bool:
    if not (succeeded(control) and complete(control) and succeeded(call) and complete(call)):
        return False
    members = ("content", "structuredContent")
    told = [encode([each.result.get(member) for member in members]) for each in (control, call)]
    return told[0] == told[1] and bool(control.result.get("content"))


def _invalid(client: AskedClient, asker: Asker) -> Iterator[Observation]:
    """The tool's first form, accepted once with content that does not fit it."""
    forms = [params.get("requestedSchema") for params in asker.asks(CREATE) if params.get("mode", "form") == "form"]
    found = next(((form, *wrong) for form in forms if (wrong := misfit(form, _filled(client, form))) is not None), None)
    if found is None:
        return
    form, content, why = found
    given = asked = 0

    def reply(params: Json) -> dict[str, Json]:
        nonlocal given, asked
        asked += 1
        if isinstance(params, dict) and params.get("requestedSchema") == form:
            given += 1
            if given == 1:
                return {"result": {"action": "accept", "content": content}}
        return {"result": client.plausible(CREATE, params)}

    call = client.call(asker, {CREATE: reply})
    seen = client.observe(asker, call, reply="wrong content", wrong=why, succeeds=succeeded(call) and complete(call))
    # It may ask again in other words, which is one question more than those that it asks a user who knows.
    again = given == 1 and asked > len(asker.asks(CREATE))
    exchange = _exchange(client.session, call, content)
    if client.session.revision.era == "handshake" and not exchange:
        given, again = 0, False  # it had ended before the content was given
    shown = sorted([*call.proof, *exchange], key=lambda frame: frame.number) if exchange else seen.frames
    yield replace(seen, values={**seen.values, "times-asked": given + again}, frames=tuple(shown))


def _exchange(session: Session, call: Call, content: Json) -> tuple[Frame, ...]:
    """The question that was answered with `content` while the call was under way, and that reply."""
    end = call.answers[0].number if call.answers else session.position
    during = [frame for frame in session.since(call.sent.number) if frame.number < end]
    given = next((f for f in during if f.origin == "us" and members(_result(f)).get("content") == content), None)
    if given is None:
        return ()
    asked = (f for f in during if is_question(f) and f.message["id"] == given.message.get("id"))
    return (*asked, given)


def _result(frame: Frame) -> Json:
    return frame.message.get("result") if isinstance(frame.message, dict) else None


def _filled(client: AskedClient, form: Json) -> dict[str, Json]:
    """What a helpful client puts into the form."""
    return dict(client.plausible(CREATE, {"requestedSchema": form}).get("content", {}))


def misfit(form: Json, content: dict[str, Json]) -> tuple[dict[str, Json], str] | None:
    """`content` changed so that it breaks the form in one place, and where; None if there is no sure way to do it."""
    properties = form.get("properties") if isinstance(form, dict) else None
    required = form.get("required") if isinstance(form, dict) else None
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        schema = members(schema)
        if schema.get("type") in ("boolean", "integer", "number") or isinstance(schema.get("enum"), list):
            return {**content, name: "mcp-conform"}, f"{name!r} is 'mcp-conform', which its schema does not allow"
    for name in elements(required):
        if name in content:
            return {key: value for key, value in content.items() if key != name}, f"the required {name!r} is missing"
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        least = schema.get("minLength") if isinstance(schema, dict) else None
        if isinstance(least, int) and least > 0:
            return {**content, name: ""}, f"{name!r} is shorter than its schema allows"
    return None


def other_client(bench: Bench) -> Iterator[Observation]:
    """Two sessions of one server: the second one answers what only the first was asked."""
    askers = find_askers(bench, CREATE)
    if not askers:
        raise Unavailable(NOBODY)
    for asker in askers:
        ours, other = (bench.connect(client=asker.capabilities, shared=True) for _ in range(2))
        if not all("Mcp-Session-Id" in session.http_headers for session in (ours, other)):
            raise Unavailable("the server gives its clients no session ids by which it could tell them apart")
        ours.answers.held.add(CREATE)
        call = ours.send("tools/call", asker.params)
        question = _question(ours, call)
        if question is not None and is_question(question) and question.message["method"] == CREATE:
            yield _answered_elsewhere((ours, other), call, question)
            return
        call.excused = True


def _question(session: Session, call: Call) -> Frame | None:
    """The first request of the server since `call`, if one comes before the answer."""
    for _ in range(int(session.limits.answer * 20)):
        asked = next((f for f in session.since(call.sent.number) if is_question(f)), None)
        if asked is not None or call.done or not session.alive:
            return asked
        session.listen(0.05)
    return None


def _answered_elsewhere(sessions: tuple[Session, Session], call: Call, question: Frame) -> Observation:
    ours, other = sessions
    message = question.message
    result = ours.answers.plausible(CREATE, message.get("params"))
    response = encode({"jsonrpc": "2.0", "id": message["id"], "result": result})
    foreign = other.position
    other.raw(response)
    other.hear_out()
    ours.listen(ours.limits.quiet)
    if call.answers and succeeded(call):
        told = [frame for frame in other.since(foreign) if frame.origin == "us"][:1]
        frames = (call.sent, question, *told, *call.answers)
        return Observation({"goes-on-after": "the other"}, call, frames)
    if not call.answers:
        ours.raw(response, illegal=False)
        ours.wait(call)
    call.excused = True
    return Observation({"goes-on-after": "its own" if call.answers else "none"}, call)
