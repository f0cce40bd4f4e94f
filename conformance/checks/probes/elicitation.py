"""Probes of the area elicitation: users who decline, cancel or answer nonsense, and clients that were not asked."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.askers import Asker, Client, find_askers, fixed, is_question, proof, refusal
from conformance.checks.probes.outcome import INTERNAL_ERROR, code_of, complete, shown, succeeded
from conformance.model import Frame, Json, Severity
from conformance.session.session import Call, Session, encode
from conformance.survey.survey import Unavailable

CREATE = "elicitation/create"
ACTIONS = "elicitation/all-actions-handled"
ASSUMED = "elicitation/success-not-assumed"
VALIDATED = "elicitation/content-validated"
BOUND = "elicitation/bound-to-client-and-user"
REQUIRED = {
    "elicitation/create": "elicitation/capability-required",
    "sampling/createMessage": "sampling/capability-required",
    "roots/list": "roots/capability-checked",
}
DECLARED = "discovery/only-declared-client-capabilities"
NOBODY = "no tool that was called asks the client for input of the user; name one with --call-tool"


@probe("asking.undeclared", DECLARED, *REQUIRED.values())
def undeclared(bench: Bench) -> None:
    """The tools that ask, twice each, by a client without any capability. Invariants judge what they ask then."""
    askers = find_askers(bench)
    # What it asks for of its own accord, as it does of a client that has it, it must not ask for here.
    answered = {frame.message["method"] for frame in bench.session.trace if is_question(frame)}
    answered -= {method for asker in askers for method, _ in asker.asked}
    if not askers and not answered:
        raise Unavailable("no tool that was called asks the client for anything; name one with --call-tool")
    client = Client(bench, {})
    if client.session.hear_out() is None:
        answered.clear()
    for asker in askers:
        calls = [client.call(asker, {}) for _ in range(2)]
        if client.lost() == "" and all(call.answers for call in calls):
            answered |= {method for method, _ in asker.asked}
    for method, requirement in REQUIRED.items():
        if method in answered:
            bench.ledger.held(requirement)
            bench.ledger.held(DECLARED)
        else:
            bench.ledger.inconclusive(requirement, f"no tool that was called and is answered asks for {method}")
    bench.ledger.inconclusive(DECLARED, "the tools that ask are not answered without what they ask for")


@probe("asking.elicitation", ACTIONS, ASSUMED, VALIDATED)
def actions(bench: Bench) -> None:
    """Tools that ask the user, who accepts, declines, cancels, is refused by the client, or breaks the form."""
    askers = find_askers(bench, CREATE)
    if not askers:
        raise Unavailable(NOBODY)
    client = Client(bench, {name: value for asker in askers for name, value in asker.capabilities.items()})
    for asker in askers:
        control = client.call(asker, {})
        what = f"tool {asker.name} is called and the user accepts"
        if not client.judge_end(ACTIONS, control, False, what):
            continue
        if all(_rejected(bench, client, asker, control, action) for action in ("decline", "cancel", "error")):
            bench.ledger.held(ACTIONS)
        if succeeded(control) and complete(control):
            _invalid(bench, client, asker)
    bench.ledger.inconclusive(VALIDATED, "no tool that asks by a form succeeds, or no form can be answered wrongly")


def _rejected(bench: Bench, client: Client, asker: Asker, control: Call, action: str) -> bool:
    """Whether the tool deals with a user who says `action`, or a client that answers by an error."""
    stateless = bench.session.revision.era == "stateless"
    if action == "error":
        if stateless:
            return True  # there is no such answer
        reply = refusal(-32602, "Invalid params")
        what = f"tool {asker.name} asks the user and the client answers by an error"
    else:
        reply = fixed({"result": {"action": action}})
        what = f"tool {asker.name} asks the user, who says {action}"
    call = client.call(asker, {CREATE: reply})
    if not client.judge_end(ACTIONS, call, True, what):
        return False
    if stateless:
        _judge_assumption(bench, client, call, what)
    forms = [params for params in asker.asks(CREATE) if params.get("mode", "form") == "form"]
    if action == "decline" and forms and len(asker.asked) == 1 and _same_success(control, call):
        bench.ledger.broke(
            ACTIONS,
            f"{what}, and its result is the same as if the user had accepted",
            expected="a result that tells a user who declined from one who accepted",
            actual=shown(call),
            frames=(*control.proof, *proof(client.session, call)),
            # It may do without what it asked for.
            ceiling=Severity.ADVICE,
        )
        return False
    return True


def _judge_assumption(bench: Bench, client: Client, call: Call, what: str) -> None:
    if code_of(call) != INTERNAL_ERROR:
        bench.ledger.held(ASSUMED)
        return
    bench.ledger.broke(
        ASSUMED,
        f"{what}, and the call fails by an internal error",
        expected=f"a result, another question, or another error than {INTERNAL_ERROR}",
        actual=shown(call),
        frames=call.proof,
    )


def _same_success(control: Call, call: Call) -> bool:
    if not (succeeded(control) and complete(control) and succeeded(call) and complete(call)):
        return False
    members = ("content", "structuredContent")
    told = [encode([each.result.get(member) for member in members]) for each in (control, call)]
    return told[0] == told[1] and bool(control.result.get("content"))


def _invalid(bench: Bench, client: Client, asker: Asker) -> None:
    """The tool's first form, accepted once with content that does not fit it."""
    forms = [params.get("requestedSchema") for params in asker.asks(CREATE) if params.get("mode", "form") == "form"]
    found = next(((form, *wrong) for form in forms if (wrong := misfit(form, _filled(client, form))) is not None), None)
    if found is None:
        return
    form, content, why = found
    given = 0

    def reply(params: Json) -> dict[str, Json]:
        nonlocal given
        if isinstance(params, dict) and params.get("requestedSchema") == form:
            given += 1
            if given == 1:
                return {"result": {"action": "accept", "content": content}}
        return {"result": client.plausible(CREATE, params)}

    call = client.call(asker, {CREATE: reply})
    what = f"tool {asker.name} asks the user and gets content in which {why}"
    if not client.judge_end(VALIDATED, call, True, what) or not given:
        return
    if given > 1 or not succeeded(call) or not complete(call):
        bench.ledger.held(VALIDATED)
        return
    bench.ledger.broke(
        VALIDATED,
        f"{what}, and it succeeds",
        expected="an error, a result with isError: true, or another question",
        actual=shown(call),
        frames=proof(client.session, call),
    )


def _filled(client: Client, form: Json) -> dict[str, Json]:
    """What a helpful client puts into the form."""
    return dict(client.plausible(CREATE, {"requestedSchema": form}).get("content", {}))


def misfit(form: Json, content: dict[str, Json]) -> tuple[dict[str, Json], str] | None:
    """`content` changed so that it breaks the form in one place, and where; None if there is no sure way to do it."""
    properties = form.get("properties") if isinstance(form, dict) else None
    required = form.get("required") if isinstance(form, dict) else None
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        schema = schema if isinstance(schema, dict) else {}
        if schema.get("type") in ("boolean", "integer", "number") or isinstance(schema.get("enum"), list):
            return {**content, name: "mcp-conform"}, f"{name!r} is 'mcp-conform', which its schema does not allow"
    for name in required if isinstance(required, list) else []:
        if name in content:
            return {key: value for key, value in content.items() if key != name}, f"the required {name!r} is missing"
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        least = schema.get("minLength") if isinstance(schema, dict) else None
        if isinstance(least, int) and least > 0:
            return {**content, name: ""}, f"{name!r} is shorter than its schema allows"
    return None


@probe("asking.other-client", BOUND)
def other_client(bench: Bench) -> None:
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
            _answer_elsewhere(bench, (ours, other), call, question)
            return
        call.excused = True
    bench.ledger.inconclusive(BOUND, "no tool that was called asks the user before all else")


def _question(session: Session, call: Call) -> Frame | None:
    """The first request of the server since `call`, if one comes before the answer."""
    for _ in range(int(session.limits.answer * 20)):
        asked = next((f for f in session.since(call.sent.number) if is_question(f)), None)
        if asked is not None or call.done or not session.alive:
            return asked
        session.listen(0.05)
    return None


def _answer_elsewhere(bench: Bench, sessions: tuple[Session, Session], call: Call, question: Frame) -> None:
    ours, other = sessions
    message = question.message
    result = ours.answers.plausible(CREATE, message.get("params"))
    response = encode({"jsonrpc": "2.0", "id": message["id"], "result": result})
    foreign = other.position
    other.raw(response)
    other.hear_out()
    ours.listen(ours.limits.quiet)
    if call.answers and succeeded(call):
        bench.ledger.broke(
            BOUND,
            "the answer of another client, in a session of its own, is taken for that of the client that was asked",
            expected="only the client that was asked can answer",
            actual=shown(call),
            frames=(call.sent, question, *[f for f in other.since(foreign) if f.origin == "us"][:1], *call.answers),
        )
        return
    if not call.answers:
        ours.raw(response, illegal=False)
        ours.wait(call)
    call.excused = True
    if call.answers:
        bench.ledger.held(BOUND)
    else:
        bench.ledger.inconclusive(BOUND, "the tool that asks is not answered in time")
