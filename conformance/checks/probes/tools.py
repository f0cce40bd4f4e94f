"""Probes of the area tools."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.calls import call_each, call_quickly
from conformance.checks.probes.lists import judge_independence
from conformance.checks.probes.outcome import (
    ASKS_URL,
    INVALID_PARAMS,
    LACKS_CAPABILITY,
    LACKS_HEADER,
    NO_SUCH_METHOD,
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
INDEPENDENT = ("tools", "resources", "prompts")


@probe("tools.call-each", AVAILABLE, EXECUTION_ERROR, CONFORMS, TEXT_COPY, EMBEDDED, FALLBACK)
def results(bench: Bench) -> None:
    """Each tool that may be called, with the smallest arguments, and with others if it fails with them.

    It makes up arguments and holds results against the tools' own schemas; their shape is the wire invariant's.
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


@probe("tools.independence", *(f"{kind}/list-independent-of-connection" for kind in INDEPENDENT))
def independence(bench: Bench) -> None:
    """Each list on two fresh connections, since tools that were called may have changed what the present one sees.

    It compares sets, which change over time: a difference counts once it has shown three times.
    """
    shared = bench.session.transport.name == "http"
    connections = [bench.connect(open=False, shared=shared) for _ in range(2)]
    for kind in INDEPENDENT:
        if bench.survey.declares(kind):
            judge_independence(bench, kind, connections)
