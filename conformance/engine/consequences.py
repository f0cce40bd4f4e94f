"""Which findings only follow from another one, and would blame the server for nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial

from conformance.checks.invariants.codes import TYPE_PRESENT
from conformance.checks.invariants.http_answers import ECHOED, NO_OBJECT, NO_RESPONSE, ONE_OBJECT, TYPE
from conformance.checks.invariants.http_streams import EARLY, NO_EVENT, NO_RESPONSES, NO_RETRY
from conformance.checks.invariants.stateless import MARKED
from conformance.checks.probes.outcome import UNANSWERED
from conformance.checks.probes.written import SEPARATED, SEPARATORS
from conformance.engine.proofs import requests, responses
from conformance.engine.stage import OPENING
from conformance.engine.systematic import OF_RESULTS, OF_TOOLS, REFUSED
from conformance.model import Finding, Json, members
from conformance.session.patience import NEXT_UNANSWERED

UNASKED = "jsonrpc/notification-never-answered"
IGNORED = "cancellation/invalid-cancellation-ignored"
CANCELLED = "cancellation/late-cancellation-harmless"
FIRST = "versioning/first-request-served"
AFTER_INITIALIZE = "versioning/initialize"
UNTIL_INITIALIZE = "is refused until initialize has come"
"""What is said of a method that is served once a handshake has taken place."""
OWN_STREAM = "logging/same-stream-only"
LATE_LOGS = "come after its response"
OF_LOGS = ("logging/level-filter", "tasks/no-progress-or-log-for-tasks")
"""Rules that a call seems to break while an earlier one logs."""
ANSWERED_WRONG = (UNANSWERED, ECHOED)
"""Rules that a request breaks that is cancelled and not answered, or twice: a campaign may know its id no more."""
SHIFTED = 3
"""So many different ids of other requests show that ids lead to the wrong requests, wherever several are under way."""
HIGHEST = 2**31
"""Ids above are odd on purpose: what comes of them may be rounded, and tells nothing of others."""
UTF8 = "jsonrpc/messages-utf8"
PINGS = "lifecycle/ping-answered-promptly"
REFUSED_BY_HTTP = re.compile(r"status ([45]\d\d) held no response")
OF_SILENCE = (NEXT_UNANSWERED, " held no response", "HTTP status 200")
"""What is said of an answer that came and could not be read."""
OF_ERRORS = {"error", "errors", "isError", "code", "message", "success", "status"}
"""Members one of which tells an error, in the words of servers that have no better ones."""

Follows = Callable[[Finding], bool]


def causes(found: Collection[Finding]) -> Iterator[tuple[str, Follows]]:
    """What the findings show to be behind others: its requirement, and whether a finding follows from it."""
    for cause, shows, follows in _CAUSES:
        if any(map(shows, found)):
            yield cause, follows
    if len({wrong for each in found if each.requirement == ECHOED for wrong in _of_others(each)}) >= SHIFTED:
        yield ECHOED, _comes_of_ids
    for ping in [each for each in found if each.requirement == PINGS]:
        if told := REFUSED_BY_HTTP.search(ping.actual):
            yield PINGS, partial(_comes_of_refusals, status=told[1])
    if refused := [error for each in found if each.requirement == UNASKED for error in _errors_without_id(each)]:
        yield UNASKED, partial(_repeats, errors=refused)
    closed = {each.message.split()[0] for each in found if each.message.endswith(UNTIL_INITIALIZE)}
    if closed:
        yield FIRST, partial(_is_of, methods=closed)
    in_results = [each for each in found if each.requirement == REFUSED and _told(each)]
    if in_results:
        yield REFUSED, _comes_of(max(in_results, key=lambda each: each.occurrences))


def _comes_of_cancelling(finding: Finding) -> bool:
    """Whether it is about the answer to a request, and one was cancelled among what shows it."""
    sent = [members(each.message) for each in finding.frames if each.origin == "us" and each.readable]
    cancelled = any(each.get("method") == "notifications/cancelled" for each in sent)
    return cancelled and finding.requirement in ANSWERED_WRONG


def _errors_without_id(finding: Finding) -> list[Json]:
    return [each["error"] for _, each in responses(finding) if each.get("id") is None and "error" in each]


def _repeats(finding: Finding, errors: list[Json]) -> bool:
    """Whether it takes the same error, which refused a notification, for the answer to a request."""
    return finding.requirement == ECHOED and any(error in errors for error in _errors_without_id(finding))


def _is_of(finding: Finding, methods: set[str]) -> bool:
    """Whether it shows only that one of the methods is refused, or what it gives in the other era."""
    asked = {each.get("method") for each in requests(finding)}
    refused = all("error" in each for _, each in responses(finding))
    told = refused or finding.case == AFTER_INITIALIZE
    return finding.requirement != FIRST and bool(asked) and asked <= methods and told


def _comes_of_late_logs(finding: Finding) -> bool:
    """Whether it is about a log message that may be that of an earlier call."""
    logs = [each for each in finding.frames if members(each.message).get("method") == "notifications/message"]
    return finding.requirement in OF_LOGS and bool(logs)


def _comes_of_bodies(finding: Finding, cause: str) -> bool:
    """Whether it is that a request has no answer, where one may have come that could not be read."""
    silent = any(words in finding.actual for words in OF_SILENCE) or finding.message in (EARLY, NO_RETRY)
    return finding.requirement not in (cause, TYPE, ONE_OBJECT) and silent


def _comes_of_refusals(finding: Finding, status: str) -> bool:
    """Whether it is that something is not answered, where HTTP refuses even pings with that status."""
    told = (f"status {status} held", f"HTTP {status}", NEXT_UNANSWERED)
    refused = finding.actual.strip('"') == status or any(words in finding.actual for words in told)
    return finding.requirement != PINGS and refused


def _comes_of_encoding(finding: Finding) -> bool:
    """Whether it is that a body is not JSON, which is not UTF-8."""
    try:
        for frame in finding.frames:
            frame.data.decode()
    except UnicodeDecodeError:
        return finding.message == NO_OBJECT
    return False


def _comes_of_copies(finding: Finding) -> bool:
    """Whether it is that a request is answered twice, and one of the answers came elsewhere than its own."""
    asked = {each.exchange for each in finding.frames if each.origin == "us"}
    came = {each.exchange for each in finding.frames if each.origin == "target"}
    return finding.requirement == UNANSWERED and finding.message.endswith("twice") and bool(came - asked)


def _of_others(finding: Finding) -> set[int]:
    """The id that an answer has in place of its own and that another request can have, if there is one."""
    asked, answered = requests(finding), responses(finding)
    if len(asked) != 1 or len(answered) != 1:  # of many messages only the last are kept: others may have had these ids
        return set()
    right, wrong = asked[0].get("id"), answered[0][1].get("id")
    return {wrong} if _ordinary(right) and isinstance(wrong, int) and _ordinary(wrong) and wrong != right else set()


def _ordinary(identifier: Json) -> bool:
    return type(identifier) is int and 0 < identifier < HIGHEST


def _comes_of_ids(finding: Finding) -> bool:
    """Whether an answer was taken for that of a request for nothing but its id, or was missed because of it."""
    if finding.requirement == ECHOED:
        return False
    asked = [each.get("id") for each in requests(finding)]
    by_id = any(frame.exchange is None and each.get("id") in asked for frame, each in responses(finding))
    return by_id or finding.requirement == UNANSWERED


def _opened_without_id(finding: Finding) -> bool:
    """Whether the response that opens a session has nothing of the id of its request."""
    if finding.requirement != ECHOED or finding.case != OPENING:
        return False
    asked, answered = requests(finding), responses(finding)
    ids = [(asked[0].get("id"), answered[-1][1].get("id"))] if asked and answered else []
    return any(str(right) != str(wrong) for right, wrong in ids)


def _comes_of_lost_ids(finding: Finding) -> bool:
    """Whether it says what a response answers, or that none came, where no response says what it answers."""
    return finding.requirement in (UNANSWERED, UNASKED)


def _comes_of_acknowledging(finding: Finding) -> bool:
    """Whether it is that a notification of ours is answered by a response without an id."""
    heard = [each for _, each in responses(finding)]
    answered = bool(heard) and heard[-1].get("id") is None and not requests(finding)
    return answered and finding.requirement == IGNORED


def _comes_of_separators(finding: Finding) -> bool:
    """Whether what was sent has line separators in its texts, which the server takes for the end of a line."""
    sent = (frame.data.decode("utf-8", "replace") for frame in finding.frames if frame.origin == "us")
    return SEPARATED not in finding.message and any(set(SEPARATORS) & set(text) for text in sent)


def _asks_untyped(finding: Finding) -> bool:
    """Whether a result that it shows asks for input, and has no type that says so."""
    results = [members(each.get("result")) for _, each in responses(finding)]
    return any("inputRequests" in each and not isinstance(each.get("resultType"), str) for each in results)


def _untyped_otherwise(finding: Finding) -> bool:
    """Whether results that ask for nothing have no type, either."""
    return finding.requirement == TYPE_PRESENT and not _asks_untyped(finding)


def _comes_of_untyped_questions(finding: Finding, cause: str) -> bool:
    """Whether it breaks another rule by a result that asks for input and has no type."""
    return finding.requirement != cause and _asks_untyped(finding)


def _told(finding: Finding) -> set[str]:
    """The members of the result by which an unknown method was refused in other words than an error."""
    results = _results(finding)
    return results[0] if len(results) == 1 and results[0] & OF_ERRORS else set()


def _comes_of(cause: Finding) -> Follows:
    """Whether another answer, where an error was due perhaps, is a result of that kind as well."""
    told = _told(cause)

    def follows(finding: Finding) -> bool:
        called = any(each.get("method") == "tools/call" for each in requests(finding)) and told <= OF_TOOLS
        return finding.kind != cause.kind and told in _results(finding) and not called

    return follows


def _results(finding: Finding) -> list[set[str]]:
    """The members of each result, without those that any may have."""
    return [members(each.get("result")).keys() - OF_RESULTS for _, each in responses(finding)]


_CAUSES: tuple[tuple[str, Follows, Follows], ...] = (
    # A campaign comes by it as luck has it, and would tell now this and now that of the same defect.
    (CANCELLED, lambda each: each.requirement == CANCELLED, _comes_of_cancelling),
    (ECHOED, _opened_without_id, _comes_of_lost_ids),
    (TYPE, lambda each: each.requirement == TYPE, partial(_comes_of_bodies, cause=TYPE)),
    (ONE_OBJECT, lambda each: each.message in (NO_OBJECT, NO_RESPONSE), partial(_comes_of_bodies, cause=ONE_OBJECT)),
    (TYPE, lambda each: each.message == NO_EVENT, lambda finding: finding.actual == "silence"),
    (UTF8, lambda each: each.requirement == UTF8, _comes_of_encoding),
    (NO_RESPONSES, lambda each: each.requirement == NO_RESPONSES, _comes_of_copies),
    (OWN_STREAM, lambda each: each.requirement == OWN_STREAM and LATE_LOGS in each.message, _comes_of_late_logs),
    (UNASKED, lambda each: each.requirement == UNASKED, _comes_of_acknowledging),
    (UNANSWERED, lambda each: SEPARATED in each.message, _comes_of_separators),
    (TYPE_PRESENT, _untyped_otherwise, partial(_comes_of_untyped_questions, cause=TYPE_PRESENT)),
    (MARKED, lambda each: each.requirement == MARKED, partial(_comes_of_untyped_questions, cause=MARKED)),
)
"""The requirement of a cause, whether a finding shows it, and whether one follows from it."""
