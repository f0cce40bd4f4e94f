"""Probes of the area prompts."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.lists import judge_listing, judge_uniqueness
from conformance.checks.probes.outcome import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    NO_SUCH_METHOD,
    answered,
    asked_again,
    code_of,
    shown,
)
from conformance.model import Json, Severity
from conformance.survey.survey import Unavailable, required_of

MAX_GETS = 10

AVAILABLE = "prompts/methods-available"
INTERNAL = "prompts/internal-error-32603"
MISSING = "prompts/missing-argument-refused"
VALIDATED = "prompts/arguments-validated"


@probe("prompts.list", AVAILABLE)
def listing(bench: Bench) -> None:
    """prompts/list of a declared feature."""
    judge_listing(bench, bench.session.request("prompts/list"), AVAILABLE)


@probe("prompts.names", "prompts/name-unique")
def names(bench: Bench) -> None:
    """Prompt names over all pages."""
    judge_uniqueness(bench, "prompts", "prompts/name-unique")


def _named(bench: Bench) -> list[Json]:
    return bench.survey.named_prompts


@probe("prompts.get-each", AVAILABLE, INTERNAL)
def get_each(bench: Bench) -> None:
    """Each prompt, at most MAX_GETS, its arguments short strings. The shape of what comes is the wire invariant's."""
    prompts = _named(bench)
    if not prompts:
        raise Unavailable("the server lists no prompt")
    for prompt in prompts[:MAX_GETS]:
        params = {"name": prompt.get("name"), "arguments": bench.survey.prompt_arguments(prompt)}
        if not asked_again(bench, "prompts/get", params, INTERNAL):
            continue
        call = bench.session.request("prompts/get", params)
        if not answered(bench, call, INTERNAL):
            continue
        code = code_of(call)
        if code == NO_SUCH_METHOD:
            bench.ledger.broke(
                AVAILABLE,
                "prompts/get of a listed prompt is refused as an unknown method",
                expected="the prompt",
                actual=shown(call),
                frames=call.proof,
                ceiling=Severity.WARNING,
            )
        elif code == INTERNAL_ERROR:
            bench.ledger.held(INTERNAL)
        elif call.error is not None and code not in (INVALID_PARAMS, -32021, -32042) and not params["arguments"]:
            # With made-up arguments the prompt may have its reasons.
            bench.ledger.broke(
                INTERNAL,
                "a listed prompt that fails gives another code",
                expected=f"error {INTERNAL_ERROR}",
                actual=shown(call),
                frames=call.proof,
            )
    bench.ledger.inconclusive(INTERNAL, "no listed prompt fails")


@probe("prompts.missing-arguments", MISSING, VALIDATED)
def missing_arguments(bench: Bench) -> None:
    """Prompts with required arguments, without them."""
    strict = [prompt for prompt in _named(bench) if required_of(prompt)]
    if not strict:
        raise Unavailable("no prompt has a required argument")
    for prompt in strict[:3]:
        params = {"name": prompt.get("name"), "arguments": {}}
        if not asked_again(bench, "prompts/get", params, MISSING, VALIDATED):
            continue
        call = bench.session.request("prompts/get", params)
        if not answered(bench, call, MISSING, VALIDATED):
            continue
        if call.error is None:
            for requirement in (MISSING, VALIDATED):
                bench.ledger.broke(
                    requirement,
                    f"prompt {prompt.get('name')!r} is filled without its required arguments",
                    expected=f"error {INVALID_PARAMS}",
                    actual=shown(call),
                    frames=call.proof,
                )
            continue
        bench.ledger.held(VALIDATED)
        if code_of(call) == INVALID_PARAMS:
            bench.ledger.held(MISSING)
            continue
        bench.ledger.broke(
            MISSING,
            "a prompt without its required argument is refused with another code",
            expected=f"error {INVALID_PARAMS}",
            actual=shown(call),
            frames=call.proof,
        )
