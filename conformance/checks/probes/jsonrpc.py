"""Probes of the area jsonrpc: ids, notifications, optional and wrong params, undeclared features, batches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.outcome import (
    INVALID_PARAMS,
    LACKS_HEADER,
    NO_SUCH_METHOD,
    UNANSWERED,
    answered,
    code_of,
    expect_refusal,
    shown,
    stray,
)
from conformance.model import Json, Severity
from conformance.survey.survey import LISTS, Unavailable, required_of

IDS: tuple[Json, ...] = (0, -7, 2**31 + 1, "mcp-conform", "90071", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "mcp hé世")
"""Ids that the session itself does not use: it counts from 1."""

FAILING: tuple[tuple[str, str, Json], ...] = (
    ("prompts", "prompts/get", {"name": "mcp-conform-no-such-prompt"}),
    ("resources", "resources/read", {"uri": "mcp-conform://no-such-resource/7f3b"}),
    ("tools", "tools/call", {"name": "mcp-conform-no-such-tool", "arguments": {}}),
)
"""Feature, and a request of it that is well-formed and fails."""

ONCE = "jsonrpc/every-request-answered-once"
ECHOED = "jsonrpc/response-id-echoed"


@probe("jsonrpc.ids", ECHOED)
def ids(bench: Bench) -> None:
    """A harmless request with each kind of id, and one that is refused with an id that is text.

    A wrong id in an answer is the envelope invariant's to judge.
    """
    method, params = bench.session.era.sentinel(bench.session)
    requests = [(identifier, method, params) for identifier in IDS]
    for feature, fails, wrong in FAILING:
        if bench.survey.declares(feature):
            requests.append((f"mcp-conform-{feature}", fails, wrong))
    for identifier, method, params in requests:
        call = bench.session.request(method, params, id=identifier)
        if call.answers:
            bench.ledger.held(ECHOED)
        else:
            bench.ledger.block(ECHOED, UNANSWERED)


@probe("jsonrpc.pipelined", ONCE)
def pipelined(bench: Bench) -> None:
    """Five requests without waiting. Missing and surplus answers are the envelope invariant's to judge."""
    session = bench.session
    method, params = session.era.sentinel(session)
    calls = [session.send(method, params) for _ in range(5)]
    session.wait(*calls)
    session.hear_out()
    if all(len(call.answers) == 1 for call in calls):
        bench.ledger.held(ONCE)


@probe("jsonrpc.notifications", "jsonrpc/notification-never-answered")
def notifications(bench: Bench) -> None:
    """Notifications that the server has no use for; nothing but the sentinel's answer may come back."""
    requirement = "jsonrpc/notification-never-answered"
    session = bench.session
    start = session.position
    session.notify("notifications/mcp-conform-unknown")
    session.notify("notifications/cancelled", {"requestId": "mcp-conform-none", "reason": "there is no such request"})
    sentinel = session.hear_out()
    if sentinel is None or not sentinel.answers:
        bench.ledger.block(requirement, UNANSWERED)
    elif not any(stray(frame, sentinel) for frame in session.since(start)):
        bench.ledger.held(requirement)  # what else came is the envelope invariant's to judge


@probe("jsonrpc.optional-params", "jsonrpc/optional-params-may-be-absent")
def optional_params(bench: Bench) -> None:
    """ping and each declared list, without params and with empty params."""
    requirement = "jsonrpc/optional-params-may-be-absent"
    methods = ["ping", *(method for name, method in _lists(bench) if bench.survey.declares(name))]
    for method in methods:
        without, empty = bench.session.request(method), bench.session.request(method, {})
        if not (answered(bench, without, requirement) and answered(bench, empty, requirement)):
            continue
        if (without.error is None) == (empty.error is None):
            if without.error is None:
                bench.ledger.held(requirement)
            else:
                bench.ledger.inconclusive(requirement, f"{method} is refused with params and without")
            continue
        refused, form = (without, "without params") if without.error is not None else (empty, "with params {}")
        bench.ledger.broke(
            requirement,
            f"{method} is refused {form} only",
            expected="the same kind of answer with params {} and without params",
            actual=shown(refused),
            frames=(*without.proof, *empty.proof),
        )


def _lists(bench: Bench) -> Iterator[tuple[str, str]]:
    for name, (method, _) in LISTS.items():
        yield ("resources" if name == "templates" else name), method


@probe("jsonrpc.meta-keys", "meta/unknown-keys-tolerated")
def meta_keys(bench: Bench) -> None:
    """ping and a list, with a key in _meta that nobody knows."""
    requirement = "meta/unknown-keys-tolerated"
    lists = [method for name, method in _lists(bench) if bench.survey.declares(name)]
    for method in ("ping", *lists[:1]):
        plain = bench.session.request(method)
        marked = bench.session.request(method, {"_meta": {"com.example/mcp-conform": {"a": 1}}})
        if not answered(bench, marked, requirement) or plain.error is not None:
            bench.ledger.inconclusive(requirement, f"{method} is refused without the key as well")
        elif marked.error is None:
            bench.ledger.held(requirement)
        else:
            bench.ledger.broke(
                requirement,
                f"{method} is refused with an unknown key in _meta",
                expected="a result, as without it",
                actual=shown(marked),
                frames=(*plain.proof, *marked.proof),
            )


@probe("jsonrpc.invalid-params", "jsonrpc/invalid-params-refused", illegal=True)
def invalid_params(bench: Bench) -> None:
    """A request of each declared feature without the param that it cannot do without."""
    candidates = [
        ("resources", "resources/read"),
        ("prompts", "prompts/get"),
        ("completions", "completion/complete"),
    ]
    declared = [method for feature, method in candidates if bench.survey.declares(feature)]
    if not declared and bench.survey.declares("tools"):
        declared = ["tools/call"]  # else tools/malformed-call-refused judges it, and once is enough
    codes = (INVALID_PARAMS, LACKS_HEADER) if bench.session.transport.name == "http" else (INVALID_PARAMS,)
    if not declared:
        why = "the server declares no feature with a request that needs params"
        bench.ledger.inconclusive("jsonrpc/invalid-params-refused", why)
    for method in declared:
        call = bench.session.request(method, {}, illegal=True)
        expect_refusal(bench, "jsonrpc/invalid-params-refused", call, codes=codes, soft=Severity.ADVICE)


UNDECLARED: tuple[tuple[str, str, Json, str, str], ...] = (
    ("tools", "tools/list", None, "", "9999"),
    ("resources", "resources/list", None, "", "9999"),
    ("prompts", "prompts/list", None, "", "9999"),
    (
        "completions",
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "x", "value": ""}},
        "2025-03-26",
        "9999",
    ),
    ("logging", "logging/setLevel", {"level": "error"}, "", "2025-11-25"),
    ("tasks", "tasks/list", None, "2025-11-25", "2025-11-25"),
)
"""Capability, first method of the feature, valid params, first and last revision that has both."""

MEMBERS = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}


@probe(
    "jsonrpc.undeclared",
    "jsonrpc/undeclared-feature-refused",
    "tools/capability-declared",
    "resources/capability-declared",
    "prompts/capability-declared",
    illegal=True,
)
def undeclared(bench: Bench) -> None:
    """The first method of each feature that the server does not declare."""
    general, revision = "jsonrpc/undeclared-feature-refused", bench.session.revision.date
    for feature, method, params, since, until in UNDECLARED:
        own = f"{feature}/capability-declared" if method in MEMBERS else ""
        if bench.survey.declares(feature):
            if own:
                bench.ledger.held(own)
            continue
        if not since <= revision <= until:
            continue
        call = bench.session.request(method, params, illegal=True)
        if not answered(bench, call, general, *([own] if own else [])):
            continue
        items = call.result.get(MEMBERS.get(method, "")) if isinstance(call.result, dict) else None
        if own and items:
            bench.ledger.broke(
                own,
                f"{method} lists {feature}, and the capability {feature} is not declared",
                expected=f"capabilities.{feature}, or a refusal",
                actual=shown(call),
                frames=call.proof,
            )
            continue
        if own:
            bench.ledger.held(own)
        ceiling = Severity.ADVICE if call.error is not None or items == [] else Severity.WARNING
        if code_of(call) == NO_SUCH_METHOD:
            bench.ledger.held(general)
        else:
            bench.ledger.broke(
                general,
                f"{method} of the undeclared feature {feature} is not refused as an unknown method",
                expected=f"error {NO_SUCH_METHOD}",
                actual=shown(call),
                frames=call.proof,
                ceiling=ceiling,
            )
    bench.ledger.inconclusive(general, "the server declares every feature")


NON_ASCII = "hé世😀"
_ECHO = re.compile("mcp-conform-(.{1,40}?)-end", re.DOTALL)


@probe("jsonrpc.non-ascii", "jsonrpc/messages-utf8", illegal=True)
def non_ascii(bench: Bench) -> None:
    """Names beyond ASCII; where the server repeats them they must come back unharmed."""
    requirement = "jsonrpc/messages-utf8"
    name = f"mcp-conform-{NON_ASCII}-end"
    calls = [bench.session.request(f"mcp-conform/{name}", illegal=True)]
    if bench.survey.declares("tools"):
        calls.append(bench.session.request("tools/call", {"name": name, "arguments": {}}))
    if bench.survey.declares("prompts"):
        calls.append(bench.session.request("prompts/get", {"name": name}))
    calls += [bench.session.request(method, params) for method, params in _repeating(bench, name)]
    for call in calls:
        for text in strings(call.response):
            for echo in _ECHO.findall(text):
                if echo == NON_ASCII:
                    bench.ledger.held(requirement)
                elif garbled(echo):
                    bench.ledger.broke(
                        requirement,
                        "characters beyond ASCII come back garbled",
                        expected=NON_ASCII,
                        actual=echo,
                        frames=call.proof,
                    )
    bench.ledger.inconclusive(requirement, "the server repeats no text and sends none beyond ASCII")


def _repeating(bench: Bench, text: str) -> Iterator[tuple[str, Json]]:
    """Requests whose answers may repeat `text`: calls of tools and prompts, in place of an argument that is needed."""
    for tool in bench.survey.callable_tools:
        try:
            arguments = bench.survey.arguments_for(tool)
        except Unavailable:
            continue
        plain = [name for name, value in arguments.items() if value == "x"]
        if plain:
            yield "tools/call", {"name": tool["name"], "arguments": {**arguments, plain[0]: text}}
            break
    for prompt in bench.survey.named_prompts:
        required = required_of(prompt)
        if required and isinstance(prompt.get("name"), str):
            yield "prompts/get", {"name": prompt["name"], "arguments": dict.fromkeys(required, text)}
            break


def strings(value: Json) -> Iterator[str]:
    """All strings in a JSON value, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list):
        for element in value:
            yield from strings(element)


def garbled(echo: str) -> bool:
    """Whether the echo shows a wrong or lossy decoding; an escaped or quoted form is another matter."""
    if "\ufffd" in echo or echo.replace("?", "") == "h":
        return True
    for encoding in ("latin-1", "cp1252"):
        try:
            if echo.encode(encoding).decode("utf-8") == NON_ASCII:
                return True
        except UnicodeError:
            continue
    return False
