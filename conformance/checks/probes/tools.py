"""Probes of the area tools."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.calls import FEW, avoided, call_each, call_quickly, callable_tools, named_tools
from conformance.checks.probes.lists import (
    judge_independence,
    judge_listing,
    judge_uniqueness,
    walk,
)
from conformance.checks.probes.outcome import (
    ASKS_URL,
    INVALID_PARAMS,
    LACKS_CAPABILITY,
    LACKS_HEADER,
    NO_SUCH_METHOD,
    answered,
    code_of,
    complete,
    shown,
    succeeded,
)
from conformance.checks.probes.structured import CONFORMS, TEXT_COPY, judge_structure, judge_text_copy
from conformance.model import Json, Severity
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

AVAILABLE = "tools/methods-available"
EXECUTION_ERROR = "tools/execution-error-as-result"
FALLBACK = "discovery/extension-fallback"
EMBEDDED = "tools/embedded-resource-needs-capability"
VALIDATED = "tools/inputs-validated"
INPUT_ERROR = "tools/input-errors-as-result"
OPTIONAL = "tools/arguments-optional"
MALFORMED = "tools/malformed-call-refused"
CASE = "tools/name-case-sensitive"
INDEPENDENT = ("tools", "resources", "prompts")


@probe("tools.list", AVAILABLE)
def listing(bench: Bench) -> None:
    """tools/list of a declared feature."""
    judge_listing(bench, bench.session.request("tools/list"), AVAILABLE)


@probe("tools.names", "tools/name-unique")
def names(bench: Bench) -> None:
    """Tool names over all pages."""
    judge_uniqueness(bench, "tools", "tools/name-unique")


@probe("tools.call-each", AVAILABLE, EXECUTION_ERROR, CONFORMS, TEXT_COPY, EMBEDDED, FALLBACK)
def results(bench: Bench) -> None:
    """Each tool that may be called, with the smallest arguments, and with others if it fails with them.

    The shape of its result is the wire invariant's.
    """
    count = 0
    failing: dict[str, bool] = {}
    for tool, call in _calls_of_each(bench):
        count += 1
        failing[str(tool.get("name"))] = not succeeded(call)
        _judge_error(bench, tool, call)
        if complete(call) and succeeded(call):
            judge_structure(bench, tool, call)
            judge_text_copy(bench, tool, call)
        if isinstance(call.result, dict):
            _judge_embedded(bench, tool, call)
        _judge_fallback(bench, tool, call)
    if not count:
        raise Unavailable("no tool that was called has answered")
    ledger = bench.ledger
    failed = [name for name, fails in failing.items() if fails]
    hint = f"; {_named_briefly(failed)} failed: sample arguments in a target file may help" if failed else ""
    ledger.inconclusive(EXECUTION_ERROR, "no tool that was called has failed")
    ledger.inconclusive(CONFORMS, f"no tool that was called has an outputSchema and succeeds{hint}")
    ledger.inconclusive(TEXT_COPY, f"no tool that was called returns structuredContent{hint}")
    ledger.inconclusive(EMBEDDED, f"no tool that was called embeds a resource{hint}")


def _calls_of_each(bench: Bench) -> Iterator[tuple[Json, Call]]:
    for tool, call in call_each(bench):
        yield tool, call
        if succeeded(call) or call.error is not None:
            continue
        for arguments in bench.survey.other_arguments(tool):
            further = call_quickly(bench.session, {"name": tool.get("name"), "arguments": arguments})
            if not further.answers:
                break
            yield tool, further
            if succeeded(further):
                break


def _named_briefly(names: list[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _judge_error(bench: Bench, tool: Json, call: Call) -> None:
    if isinstance(call.result, dict):
        if call.result.get("isError") is True:
            bench.ledger.held(EXECUTION_ERROR)
        return
    code = code_of(call)
    if code == NO_SUCH_METHOD:
        bench.ledger.broke(
            AVAILABLE,
            f"tools/call of the listed tool {tool.get('name')!r} is refused as an unknown method",
            expected="a result",
            actual=shown(call),
            frames=call.proof,
            ceiling=Severity.WARNING,
        )
    elif call.error is not None and code not in (INVALID_PARAMS, ASKS_URL, LACKS_CAPABILITY, LACKS_HEADER):
        bench.ledger.broke(
            EXECUTION_ERROR,
            f"the failure of tool {tool.get('name')!r} is a protocol error",
            expected="a result with isError: true",
            actual=shown(call),
            frames=call.proof,
            ceiling=Severity.WARNING,
        )


def _judge_fallback(bench: Bench, tool: Json, call: Call) -> None:
    """A client without extensions gets core results, also from a server that has extensions."""
    kind = call.result.get("resultType", "complete") if isinstance(call.result, dict) else "complete"
    if kind not in ("complete", "input_required"):
        bench.ledger.broke(
            FALLBACK,
            f"tool {tool.get('name')!r} answers in the manner of an extension that the client did not declare",
            expected="a result of type complete or input_required, or an error",
            actual=shown(call),
            frames=call.proof,
        )
    elif bench.survey.declares("extensions"):
        bench.ledger.held(FALLBACK)


def _judge_embedded(bench: Bench, tool: Json, call: Call) -> None:
    content = call.result.get("content")
    blocks = content if isinstance(content, list) else []
    if not any(isinstance(block, dict) and block.get("type") == "resource" for block in blocks):
        return
    if bench.survey.declares("resources"):
        bench.ledger.held(EMBEDDED)
        return
    bench.ledger.broke(
        EMBEDDED,
        f"tool {tool.get('name')!r} embeds a resource, and the capability resources is not declared",
        expected="the capability resources",
        actual=shown(call),
        frames=call.proof,
    )


@probe("tools.missing-arguments", VALIDATED, INPUT_ERROR)
def missing_arguments(bench: Bench) -> None:
    """Tools that may be called, without their required arguments."""
    tried = 0
    for tool in named_tools(bench):
        schema = tool.get("inputSchema")
        required = schema.get("required") if isinstance(schema, dict) else None
        if not (isinstance(required, list) and required) or tried == FEW:
            continue
        tried += 1
        if why := avoided(bench.session, tool):
            for requirement in (VALIDATED, INPUT_ERROR):
                bench.ledger.inconclusive(requirement, why)
            continue
        call = bench.session.request("tools/call", {"name": tool.get("name"), "arguments": {}})
        if answered(bench, call, VALIDATED, INPUT_ERROR):
            _judge_validation(bench, tool, call)
        elif not bench.session.alive:
            return
    if not tried:
        raise Unavailable("no tool that may be called has a required argument; name one with --call-tool")


def _judge_validation(bench: Bench, tool: Json, call: Call) -> None:
    ledger, revision = bench.ledger, bench.session.revision.date
    if succeeded(call):
        ledger.broke(
            VALIDATED,
            f"tool {tool.get('name')!r} succeeds without its required arguments",
            expected="an error or a result with isError: true, since the inputSchema requires "
            + ", ".join(map(repr, tool["inputSchema"]["required"][:5])),
            actual=shown(call),
            frames=call.proof,
            ceiling=Severity.WARNING if revision >= "2026-07-28" or _defaults(tool) else None,
        )
        ledger.block(INPUT_ERROR, VALIDATED)
        return
    ledger.held(VALIDATED)
    if call.error is None:
        ledger.held(INPUT_ERROR)
        return
    ledger.broke(
        INPUT_ERROR,
        f"tool {tool.get('name')!r} refuses its arguments by a protocol error",
        expected="a result with isError: true, which the model can read",
        actual=shown(call),
        frames=call.proof,
        ceiling=Severity.ADVICE if revision >= "2026-07-28" else Severity.WARNING,
    )


def _defaults(tool: Json) -> bool:
    """Whether each required argument has a default, so that the server may fill it in and only the schema is odd."""
    schema = tool["inputSchema"]
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    described = [properties.get(name) for name in schema["required"] if isinstance(name, str)]
    return bool(described) and all(isinstance(each, dict) and "default" in each for each in described)


@probe("tools.arguments-absent", OPTIONAL)
def arguments_absent(bench: Bench) -> None:
    """A tool that needs no arguments, with empty ones and with none."""
    tried = 0
    for tool, params in callable_tools(bench):
        if params["arguments"] or tried == FEW:
            continue
        tried += 1
        empty = bench.session.request("tools/call", params)
        if not (empty.answers and succeeded(empty) and complete(empty)):
            continue
        without = bench.session.request("tools/call", {"name": tool.get("name")})
        if not answered(bench, without, OPTIONAL):
            return
        if succeeded(without):
            bench.ledger.held(OPTIONAL)
            return
        bench.ledger.broke(
            OPTIONAL,
            f"tool {tool.get('name')!r} succeeds with arguments {{}} and fails without the member",
            expected="the same as with arguments {}",
            actual=shown(without),
            frames=(*empty.proof, *without.proof),
            ceiling=Severity.WARNING,
        )
        return
    raise Unavailable("no tool that may be called succeeds without arguments")


@probe("tools.malformed-calls", MALFORMED, illegal=True)
def malformed_calls(bench: Bench) -> None:
    """tools/call without name; and with arguments that are no object, of a tool that may be called."""
    wrong: list[Json] = [{"arguments": {}}]
    wrong += [{"name": tool.get("name"), "arguments": "x"} for tool in named_tools(bench)[:1]]
    for params in wrong:
        call = bench.session.request("tools/call", params, illegal=True)
        if not answered(bench, call, MALFORMED):
            continue
        if call.error is not None:
            bench.ledger.held(MALFORMED)
            continue
        what = "without a name" if "name" not in params else "with arguments that are no object"
        bench.ledger.broke(
            MALFORMED,
            f"tools/call {what} is not refused by an error",
            expected="an error response, such as -32602",
            actual=shown(call),
            frames=call.proof,
            ceiling=None if succeeded(call) else Severity.ADVICE,
        )


@probe("tools.name-case", CASE)
def name_case(bench: Bench) -> None:
    """A tool that may be called and succeeds, under its name with the case swapped."""
    known = {tool.get("name") for tool in bench.survey.tools if isinstance(tool.get("name"), str)}
    for tool, params in callable_tools(bench):
        swapped = str(tool.get("name")).swapcase()
        if swapped in known:
            continue
        proper = bench.session.request("tools/call", params)
        if not (proper.answers and succeeded(proper)):
            continue
        call = bench.session.request("tools/call", {**params, "name": swapped})
        if not answered(bench, call, CASE):
            return
        if not succeeded(call):
            bench.ledger.held(CASE)
            return
        bench.ledger.broke(
            CASE,
            f"tool {tool.get('name')!r} is also found as {swapped!r}",
            expected="the answer for an unknown tool",
            actual=shown(call),
            frames=call.proof,
        )
        return
    raise Unavailable("no tool that may be called succeeds and has a name with letters")


@probe("tools.independence", *(f"{kind}/list-independent-of-connection" for kind in INDEPENDENT))
def independence(bench: Bench) -> None:
    """Each list on two fresh connections, since tools that were called may have changed what the present one sees."""
    shared = bench.session.transport.name == "http"
    connections = [bench.connect(open=False, shared=shared) for _ in range(2)]
    for kind in INDEPENDENT:
        if bench.survey.declares(kind):
            judge_independence(bench, kind, connections)


@probe("tools.order", "tools/list-order-deterministic")
def order(bench: Bench) -> None:
    """The list three times; while the set is the same, so is the order."""
    requirement = "tools/list-order-deterministic"
    walks = [walk(bench.session, "tools") for _ in range(3)]
    keys = [each.keys("tools") for each in walks]
    if any(each.problem for each in walks) or any(sorted(each) != sorted(keys[0]) for each in keys):
        bench.ledger.inconclusive(requirement, "the list of tools changes, or cannot be walked to its end")
    elif all(each == keys[0] for each in keys):
        bench.ledger.held(requirement)
    else:
        other = next(i for i, each in enumerate(keys) if each != keys[0])
        bench.ledger.broke(
            requirement,
            "the same tools come in another order",
            expected=", ".join(keys[0][:10]),
            actual=", ".join(keys[other][:10]),
            frames=(*walks[0].pages[0].proof, *walks[other].pages[0].proof),
        )
