"""Probes of the area completion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.outcome import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    NO_SUCH_METHOD,
    answered,
    asked_again,
    code_of,
    expect_refusal,
    shown,
)
from conformance.model import Json, Severity
from conformance.session.session import Call
from conformance.survey.survey import Survey, Unavailable

METHOD = "completion/complete"
MAX_EACH = 8
"""How many arguments of prompts, and how many variables of templates, are completed."""

MAX_TIMEOUTS = 2

CONTEXT = "completion/context-accepted"
DECLARED = "completion/capability-declared"
INTERNAL = "completion/internal-error-32603"
LIMIT = "completion/at-most-100-values"
MISSING = "completion/missing-arguments-refused"
SHAPE = "completion/result-shape"
UNKNOWN = "completion/unknown-prompt-refused"
UNSUPPORTED = "completion/unsupported-refused"
VALIDATED = "completion/inputs-validated"

_EXPRESSION = re.compile(r"\{[+#./;?&]?([^{}]*)\}")
_MODIFIER = re.compile(r"(\*|:\d+)$")
NOTHING_LISTED = "the server lists no prompt with an argument and no template with a variable"


@dataclass(frozen=True, slots=True)
class Place:
    """An argument of a prompt or a variable of a template that may be completed; `others` stand beside it."""

    ref: Json
    name: str
    others: tuple[str, ...]

    def params(self, **more: Json) -> Json:
        """The params of a request to complete it, with nothing typed yet."""
        return {"ref": self.ref, "argument": {"name": self.name, "value": ""}, **more}


def places(survey: Survey) -> list[Place]:
    """What may be completed, the first MAX_EACH of either kind."""
    found = [list(_of_prompts(survey)), list(_of_templates(survey))]
    return [place for kind in found for place in kind[:MAX_EACH]]


def _of_prompts(survey: Survey) -> Iterator[Place]:
    for prompt in survey.named_prompts:
        listed = prompt.get("arguments")
        arguments = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        names = [each["name"] for each in arguments if isinstance(each.get("name"), str)]
        if isinstance(prompt.get("name"), str):
            yield from _each({"type": "ref/prompt", "name": prompt["name"]}, names)


def _of_templates(survey: Survey) -> Iterator[Place]:
    for template in survey.templates:
        pattern = template.get("uriTemplate")
        if isinstance(pattern, str):
            variables = [variable for listed in _EXPRESSION.findall(pattern) for variable in listed.split(",")]
            names = [_MODIFIER.sub("", variable) for variable in variables]
            yield from _each({"type": "ref/resource", "uri": pattern}, names)


def _each(ref: Json, names: list[str]) -> Iterator[Place]:
    for name in names:
        yield Place(ref, name, tuple(other for other in names if other != name))


@probe("completion.each", INTERNAL, CONTEXT, LIMIT, SHAPE)
def each(bench: Bench) -> None:
    """Everything that may be completed, with nothing typed; then again with context.

    What is wrong with a result is the invariants' to judge.
    """
    worked: list[Place] = []
    lost = 0
    for place in places(bench.survey):
        if not asked_again(bench, METHOD, place.params(), INTERNAL):
            continue
        call = bench.session.request(METHOD, place.params())
        if not answered(bench, call, INTERNAL):
            lost += 1
            if lost == MAX_TIMEOUTS or not bench.session.alive:
                return
            continue
        if _unknown_of_old(bench, call):
            return
        _judge_failure(bench, call)
        if isinstance(call.result, dict):
            worked.append(place)
    if not places(bench.survey):
        raise Unavailable(NOTHING_LISTED)
    if bench.session.revision.date >= "2025-06-18":
        _judge_context(bench, worked)
    bench.ledger.inconclusive(INTERNAL, "no completion fails")
    bench.ledger.inconclusive(CONTEXT, "nothing can be completed")
    for requirement in (LIMIT, SHAPE):
        bench.ledger.inconclusive(requirement, "no completion brings a result")


def _unknown_of_old(bench: Bench, call: Call) -> bool:
    """Before 2025-03-26 no capability says whether there is completion: an unknown method is a good answer."""
    if bench.session.revision.date >= "2025-03-26" or code_of(call) != NO_SUCH_METHOD:
        return False
    for requirement in (LIMIT, SHAPE, VALIDATED):
        bench.ledger.not_applicable(requirement, f"the server does not know {METHOD}")
    return True


def _judge_failure(bench: Bench, call: Call) -> None:
    code = code_of(call)
    if code == INTERNAL_ERROR:
        bench.ledger.held(INTERNAL)
    elif call.error is not None and code not in (INVALID_PARAMS, NO_SUCH_METHOD):
        bench.ledger.broke(
            INTERNAL,
            "a completion that fails gives another code",
            expected=f"error {INTERNAL_ERROR}",
            actual=shown(call),
            frames=call.proof,
        )


def _judge_context(bench: Bench, worked: list[Place]) -> None:
    """An empty context tells nothing new; a value for another argument may be one that the server cannot use."""
    trials: list[tuple[Place, dict[str, str], Severity | None]] = [(place, {}, None) for place in worked[:1]]
    companions = [place for place in worked if place.others]
    trials += [(place, {place.others[0]: "x"}, Severity.WARNING) for place in companions[:1]]
    for place, known, ceiling in trials:
        call = bench.session.request(METHOD, place.params(context={"arguments": known}))
        if not answered(bench, call, CONTEXT):
            return
        if isinstance(call.result, dict):
            bench.ledger.held(CONTEXT)
            continue
        bench.ledger.broke(
            CONTEXT,
            f"a completion that works is refused with {'a' if known else 'an empty'} context",
            expected="a result, as without context",
            actual=shown(call),
            frames=call.proof,
            ceiling=ceiling,
        )


@probe("completion.undeclared", DECLARED, UNSUPPORTED, illegal=True)
def undeclared(bench: Bench) -> None:
    """completion/complete of a server that does not declare completions."""
    if bench.survey.declares("completions"):
        bench.ledger.held(DECLARED)
        bench.ledger.not_applicable(UNSUPPORTED, "the server declares completions")
        return
    listed = places(bench.survey)
    place = listed[0] if listed else Place({"type": "ref/prompt", "name": "mcp-conform-no-such-prompt"}, "x", ())
    call = bench.session.request(METHOD, place.params(), illegal=True)
    if not answered(bench, call, DECLARED, UNSUPPORTED):
        return
    if call.error is None:
        bench.ledger.broke(
            DECLARED,
            f"{METHOD} works, and the capability completions is not declared",
            expected="capabilities.completions, or a refusal",
            actual=shown(call),
            frames=call.proof,
            ceiling=None if _values(call) else Severity.WARNING,
        )
        bench.ledger.block(UNSUPPORTED, DECLARED)
        return
    if listed:
        bench.ledger.held(DECLARED)
    bench.ledger.inconclusive(DECLARED, NOTHING_LISTED)
    expect_refusal(bench, UNSUPPORTED, call, codes=(NO_SUCH_METHOD,), soft=Severity.ADVICE)


def _values(call: Call) -> list[Json]:
    completion = call.result.get("completion") if isinstance(call.result, dict) else None
    values = completion.get("values") if isinstance(completion, dict) else None
    return values if isinstance(values, list) else []


@probe("completion.refusals", UNKNOWN, MISSING, VALIDATED, illegal=True)
def refusals(bench: Bench) -> None:
    """A prompt that does not exist, a request without argument, and a reference of no type that exists."""
    unknown = Place({"type": "ref/prompt", "name": "mcp-conform-no-such-prompt"}, "x", ())
    call = bench.session.request(METHOD, unknown.params())
    if call.answers and _unknown_of_old(bench, call):
        return
    expect_refusal(bench, UNKNOWN, call, codes=(INVALID_PARAMS,), soft=Severity.WARNING)
    # A server may complete by the name of the argument alone.
    _judge_validation(bench, call, "of a prompt that does not exist", Severity.WARNING)

    listed = places(bench.survey)
    ref = listed[0].ref if listed else unknown.ref
    call = bench.session.request(METHOD, {"ref": ref}, illegal=True)
    expect_refusal(bench, MISSING, call, codes=(INVALID_PARAMS,), soft=Severity.WARNING)

    nonsense = Place({"type": "ref/mcp-conform", "name": "x"}, "x", ())
    call = bench.session.request(METHOD, nonsense.params(), illegal=True)
    _judge_validation(bench, call, "for a reference of a type that does not exist", None)


def _judge_validation(bench: Bench, call: Call, what: str, ceiling: Severity | None) -> None:
    if call.answers and not _values(call):
        if call.error is not None:
            bench.ledger.held(VALIDATED)
        bench.ledger.inconclusive(VALIDATED, "wrong inputs are completed by nothing")
    elif answered(bench, call, VALIDATED):
        bench.ledger.broke(
            VALIDATED,
            f"values come {what}",
            expected="an error, or no values",
            actual=shown(call),
            frames=call.proof,
            ceiling=ceiling,
        )
