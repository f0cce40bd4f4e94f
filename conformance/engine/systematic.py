"""What a server does wrong in the same way wherever it can: one defect, which the first finding tells for all."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass

from conformance.checks.invariants.base import is_integer
from conformance.checks.invariants.envelope import MEMBERS, OBJECT, VALID, XOR
from conformance.checks.invariants.http_answers import ONE_OBJECT, TYPE
from conformance.checks.invariants.http_streams import DELIVERS
from conformance.checks.ledger import is_silence
from conformance.checks.probes.outcome import BADLY_WRITTEN, UNANSWERED
from conformance.codes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from conformance.engine.proofs import heard, requests, responses
from conformance.model import Finding, Json, members
from conformance.session.features import OURS
from conformance.transports import BROKE_OFF

REFUSED = "jsonrpc/unknown-method-refused"
SEVERAL = 3
"""So many rules, or methods, show that something is done everywhere, and is no slip in one place."""
OF_RESULTS = {"_meta", "resultType", "ttlMs", "cacheScope"}
"""Members that any result may have."""
OF_TOOLS = {"content", "isError", "structuredContent"}
"""Members by which a tool tells an error, rightly."""
EMPTY = {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
"""Methods whose result is empty, rightly."""
CONFORMS, COPY = "tools/structured-content-conforms", "tools/structured-content-text-copy"
INITIALIZED = "lifecycle/initialize-result-complete"
NUMERAL, UNDECLARED = "number as text", "undeclared"
SAY_SO = {REFUSED, UNANSWERED, TYPE, ONE_OBJECT, DELIVERS}
"""Rules that say by themselves that no response came."""
OK, NO_RESPONSE, FAILURE = 200, (202, 204), 500
"""HTTP statuses: of responses and refusals, of what has no response, and the first one of a server that failed."""
OF_REQUESTS = {PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS}
"""Codes that say what is wrong with a request."""
NAMED = 6
"""Places that are named; more are counted."""

_VALUE = re.compile(r"^(?P<place>[^ ]*) is (?P<given>.*?), expected (?P<due>[^;]*)")
_TYPED = re.compile(r"(?P<place>\$[^ ]*): (?P<given>.*) is not of type (?P<due>'\w+'(?:, '\w+')*)$", re.S)
_SILENT = (
    "Requests that must be refused get no answer.",
    "Answer each message that has an id and a method, if only with an error: -32601 for an unknown method, -32602 for "
    "wrong params. Without one, clients wait until their time is up.",
)
_BARE = (
    "Answer each message that has an id and a method by a JSON-RPC response in the body, and what is refused by one "
    "with the member error and the HTTP status that the rule names."
)
_REFUSALS = ("an error", "an answer")
_STATUS = re.compile(r"^(?:the )?HTTP (?:answer with )?(?:status )?(\d{3})\b|^(\d{3})$")
_EMPTY = re.compile(r"held no response|an empty body|the end of the stream")
_WORD = re.compile(r"[a-z]+")
_NUMERAL = re.compile(r"""(["'])-?\d+(\.\d+)?([eE][-+]?\d+)?\1""")
_CODES = re.compile(r"-32\d{3}\b")

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Defect:
    """Findings that one defect explains, and what is probably behind them."""

    findings: tuple[Finding, ...]
    diagnosis: str
    hint: str


def defects(found: Collection[Finding], codes: Collection[Json]) -> Iterator[Defect]:
    """What the findings have in common, group by group; `codes` are all that the server has refused requests with."""
    yield from _unreadable(found)
    silent = sorted(filter(_ignored, found), key=lambda each: each.requirement != REFUSED)
    if _rules(silent) > 1 and silent[0].requirement == REFUSED:
        others = any(OURS not in method for each in silent for method in _methods(each))
        yield Defect(tuple(silent), *(_SILENT if others else ("", "")))
    for (status,), group in _groups(found, _bare):
        said = f"HTTP status {status} and no JSON-RPC response" if status else "no answer: the connection is closed"
        general = {each.requirement for each in group} & SAY_SO
        refused = _rules(group) > len(general) or REFUSED in general
        if _rules(group) >= (2 if general else SEVERAL):
            group.sort(key=lambda each: each.requirement not in SAY_SO)
            yield Defect(tuple(group), *((f"Requests that are refused get {said}.", _BARE) if refused else ("", "")))
    for key, group in _groups(found, _result):
        refused = any(each.requirement == REFUSED for each in group)
        group = [each for each in group if key[0] or refused or not _methods(each) & EMPTY]
        if len({method for each in group for method in _methods(each)} - EMPTY) >= SEVERAL:
            yield _of_results(group, key[0])
    for key, group in _groups(found, lambda each: _code(each, codes)):
        if _rules(group) >= SEVERAL:
            missing = sorted({code for each in group for code in _due(each)})
            yield Defect(
                tuple(group),
                f"Requests are refused with the code {key[0]} whatever is wrong with them: "
                f"{' and '.join(map(str, missing))} never came.",
                "Give each kind of error its own code: -32601 for an unknown method, -32602 for wrong params, -32603 "
                "for what goes wrong inside, and those that the specification defines beside them.",
            )
    for _, group in _groups(found, _failure):
        if len({method for each in group for method in _methods(each)}) >= SEVERAL:
            yield Defect(tuple(group), "", "")
    for key, group in (*_groups(found, _kind), *_groups(found, _undeclared)):
        if _rules(group) >= SEVERAL:
            # Where structured content has such values, the text beside it has others.
            copies = [each for each in found if each.requirement == COPY]
            misfit = any(each.requirement == CONFORMS for each in group)
            yield Defect((*group, *(copies if misfit else ())), *_KINDS[key])


def _groups(found: Iterable[Finding], key_of: Callable[[Finding], Key | None]) -> Iterator[tuple[Key, list[Finding]]]:
    groups: dict[Key, list[Finding]] = {}
    for finding in found:
        if (key := key_of(finding)) is not None:
            groups.setdefault(key, []).append(finding)
    return iter(groups.items())


def _rules(group: Iterable[Finding]) -> int:
    return len({finding.requirement for finding in group})


# -- responses that nobody can read


def _unreadable(found: Collection[Finding]) -> Iterator[Defect]:
    """What is a result and an error, or neither, can be held for anything: nothing else is said of it."""
    for rule in (VALID, XOR, MEMBERS, OBJECT):
        group = [each for each in found if _broken_rule(each) == rule]
        if any(each.requirement == rule for each in group):
            yield Defect(tuple(sorted(group, key=lambda each: each.requirement != rule)), "", "")


def _broken_rule(finding: Finding) -> str:
    """The rule about responses that the last one breaks, so that what it means is unclear; "" for none."""
    if any("method" in each and each.keys() & {"result", "error"} for each in heard(finding)):
        return VALID
    response = _last(finding)
    result, error = response.get("result"), response.get("error")
    if "error" in response and (error is not None or "result" not in response):
        if result is not None:
            return XOR
        return "" if isinstance(error, dict) and error else MEMBERS
    return "" if "result" not in response or isinstance(result, dict) else OBJECT


def _ignored(finding: Finding) -> bool:
    """Whether it is that no answer came to what was wrong on purpose, or must not be taken for right."""
    wrong = any(frame.illegal for frame in finding.frames if frame.origin == "us") or finding.expected in _REFUSALS
    return wrong and is_silence(finding) and not responses(finding)


def _bare(finding: Finding) -> Key | None:
    """The HTTP status of the answer if that is no refusal and holds no response, 0 if there is no answer either."""
    if finding.message.startswith(BADLY_WRITTEN):
        return None  # that there is no response is the least of it
    if BROKE_OFF in finding.actual:
        return (0,)
    head = next((each for each in reversed(finding.frames) if each.channel != "end"), None)
    told = _STATUS.search(finding.actual)
    status = int(told[1] or told[2]) if told else (head.status or 0) if head is not None else 0
    empty = _EMPTY.search(finding.actual) or (head is not None and head.headers.get("content-length") == "0")
    bare = status in NO_RESPONSE or status >= FAILURE or (status == OK and empty)
    return (status,) if bare and all(frame.status != status for frame, _ in responses(finding)) else None


# -- results


def _result(finding: Finding) -> Key | None:
    """The members of the result, where other ones are due."""
    result = _last(finding).get("result")
    if not isinstance(result, dict) or result.get("resultType", "complete") != "complete":
        return None  # any method may ask for input, in one form
    given = frozenset(result.keys() - OF_RESULTS - {"nextCursor"})
    called = "tools/call" in _methods(finding) and bool(given) and given <= OF_TOOLS
    return None if called else (given,)


def _of_results(group: list[Finding], given: Hashable) -> Defect:
    names = ", ".join(sorted(map(str, given))) if isinstance(given, frozenset) else ""
    said = f"a result of the members {names}" if names else "an empty result"
    if any(each.requirement == REFUSED for each in group):
        return Defect(tuple(group), "", "")  # a common mistake may explain it
    return Defect(
        tuple(group),
        f"Requests of different methods are answered by {said}" + (", as if all had one form." if names else "."),
        "The members of a result, such as tools or contents, stand in result itself: put nothing around them.",
    )


# -- codes


def _code(finding: Finding, codes: Collection[Json]) -> Key | None:
    """The code of the error, where another one is due that the server has never given."""
    error, due = _last(finding).get("error"), _due(finding)
    code = members(error).get("code")
    if not due or not is_integer(code) or code in due or due & set(codes):
        return None
    return (code,)


def _failure(finding: Finding) -> Key | None:
    """The code of the error, where success is due, unless it says what is wrong with the request."""
    code = members(_last(finding).get("error")).get("code")
    return None if _due(finding) or not is_integer(code) or code in OF_REQUESTS else (code,)


def _undeclared(finding: Finding) -> Key | None:
    """Whether it only says that a capability is not declared, or that there are none."""
    none = finding.requirement == INITIALIZED and finding.actual.startswith("capabilities is ")
    return (UNDECLARED,) if none or "/undeclared-" in finding.case else None


def _due(finding: Finding) -> set[int]:
    return {int(code) for code in _CODES.findall(finding.expected)}


# -- kinds of values


def _kind(finding: Finding) -> Key | None:
    """What kind of value stands for which other one, if that is all that is wrong."""
    told = _VALUE.search(finding.actual) or _TYPED.search(finding.actual)
    given, due = (told["given"], told["due"]) if told else (finding.actual, finding.expected)
    if told and given in ("null", "None"):
        return ("null",)
    for key, of, is_given in _TELL:
        if (told or key == NUMERAL) and set(_WORD.findall(due)) & of and is_given(given):
            return (key,)
    return None


def _is_text(given: str) -> bool:
    return given[:1] in ('"', "'")


_TELL: tuple[tuple[str, set[str], Callable[[str], bool]], ...] = (
    (NUMERAL, {"number", "integer"}, lambda given: _NUMERAL.fullmatch(given) is not None),
    ("boolean as text", {"boolean"}, lambda given: given[1:-1].lower() in ("true", "false") and _is_text(given)),
    ("boolean as number", {"boolean"}, lambda given: given in ("0", "1")),
    ("no list", {"array"}, lambda given: _is_text(given) or given.startswith(("{", "an object"))),
    ("text", {"object"}, _is_text),
    ("list", {"object"}, lambda given: given.startswith(("[", "an array"))),
)
_KINDS: dict[Key, tuple[str, str]] = {
    ("null",): (
        "Optional members that have no value are sent as null; in MCP absent and null are not the same.",
        "Leave them out. Many encoders have a setting for that: exclude_none (pydantic), omitempty (Go), "
        "skip_serializing_if (serde), JsonInclude.NON_NULL (Jackson), WhenWritingNull (System.Text.Json).",
    ),
    (NUMERAL,): (
        "Numbers are written as text, in quotes.",
        "Write numbers as JSON numbers: an encoder does so unless they were made strings before.",
    ),
    ("boolean as text",): (
        "Booleans are written as text, in quotes.",
        "Write true and false without quotes: an encoder does so unless they were made strings before.",
    ),
    ("boolean as number",): (
        "Booleans are written as 0 and 1.",
        "Write true and false; where the language or the database has no booleans, convert them before encoding.",
    ),
    ("no list",): (
        "Where a list is due comes an object, or the only element without a list around it.",
        "Write lists as JSON arrays, also those with one element or none.",
    ),
    ("list",): (
        "Where an object is due comes an array, as some languages write an empty map.",
        "Write objects as {}, also those without members; in PHP cast them: (object) [].",
    ),
    ("text",): (
        "Objects are written as text that holds JSON; they were encoded twice.",
        "Put them into the message as objects, and encode the message once as a whole.",
    ),
    (UNDECLARED,): (
        "The server serves several features that it does not declare.",
        'Declare in capabilities whatever is offered: {"tools": {}, "resources": {}, …}.',
    ),
}


# -- telling


def elsewhere(cause: Finding, others: Iterable[Finding]) -> str:
    """What the cause says that came, with the rules that the same breaks."""
    rules = list(dict.fromkeys(each.requirement for each in others if each.requirement != cause.requirement))
    more = f" and {len(rules) - NAMED} more" if len(rules) > NAMED else ""
    return f"{cause.actual}; the same breaks {', '.join(rules[:NAMED])}{more}" if rules else cause.actual


def _last(finding: Finding) -> dict[str, Json]:
    """The last response among what proves it, as a whole; empty if there is none."""
    came = heard(finding)
    return next((each for each in reversed(came) if each.keys() & {"result", "error"} and "method" not in each), {})


def _methods(finding: Finding) -> set[str]:
    """The method that the last response is about; of all requests that prove it, if none has its id."""
    asked, last = requests(finding), _last(finding)
    meant = [each for each in asked if "id" in last and each["id"] == last["id"]]
    return {str(each["method"]) for each in meant or asked}
