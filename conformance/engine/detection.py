"""Which revisions does the target speak? Found out on a fresh process for each, as the compatibility rules say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from conformance.catalogue.patterns import shorten
from conformance.checks.ledger import Ledger
from conformance.engine.stage import OPENING, Stage
from conformance.model import Finding, Limits, Severity
from conformance.revisions import BY_DATE, Revision, named_version, standing
from conformance.session.messages import parse
from conformance.session.session import Call, NotSpoken
from conformance.target.process import SAID, ending
from conformance.transports import BARE, StartError
from conformance.transports.pace import seconds_away

PATIENCE = 5.0
"""Seconds that a server which has answered in one era is given for its first answer in the other."""


@dataclass(slots=True)
class Attempt:
    """One try to open a session in a revision.

    `stage` is open if `spoken`. `silent` means that no answer of any kind came, and `lost` why. `fatal` means that
    the target could not be started. `judged` are the requirements of which something may be said although the revision
    is not spoken; None stands for all.
    """

    revision: Revision
    stage: Stage | None
    spoken: bool = False
    reason: str = ""
    offered: str = ""
    silent: bool = False
    fatal: bool = False
    lost: str = ""
    call: Call | None = None
    seconds: float = 0.0
    judged: frozenset[str] | None = None

    @property
    def locked(self) -> bool:
        """Whether the target asked for authorization, so that nobody knows what it speaks."""
        head = self.call.head if self.call is not None else None
        return not self.spoken and head is not None and head.status == UNAUTHORIZED


UNAUTHORIZED, UNAVAILABLE = 401, 503
SOONEST = 0.2
"""Seconds that pass at least until a server that is not ready is asked again."""

FRAMING = 1.0
"""Seconds in which a silent server may show that it speaks with Content-Length headers."""

COUNTEROFFERED = "versioning/unsupported-version-counteroffered"
IMPLEMENTED = "discovery/discover-implemented"
LISTS_VERSION = "discovery/discover-lists-version-used"
OF_BYTES = frozenset(
    ("transport-stdio/stdout-only-messages", "transport-stdio/no-embedded-newlines", "jsonrpc/messages-utf8")
)
"""The same in every revision, so that they can be judged before one is agreed on."""
OF_STREAM = frozenset(
    f"transport-sse/{name}"
    for name in ("two-endpoints", "endpoint-event-sent", "messages-as-message-events", "posted-messages-processed")
)
"""What is about a stream on which nothing may ever come."""
OF_DISCOVER = frozenset((IMPLEMENTED, LISTS_VERSION, "discovery/discover-result-shape"))

HELD_BACK = "the answer came when stdin was closed, and not before"

LOCKED = (
    "the server asks for authorization (HTTP status 401 Unauthorized) and was given nothing that it accepts: "
    "--token-env NAME sends the access token in that variable"
)

Begin = Callable[[Revision], Stage]


def attempt(revision: Revision, begin: Begin, limits: Limits) -> Attempt:
    """Try to open a session in `revision` on a fresh stage; again if the server says when it will be ready."""
    until = time.monotonic() + limits.start
    while True:
        found = _try(revision, begin, limits)
        wait = _invited_in(found)
        if found.stage is None or wait is None or time.monotonic() + wait > until:
            return found
        found.stage.close()
        time.sleep(wait)


def _invited_in(found: Attempt) -> float | None:
    """In how many seconds a server that is not ready yet (HTTP 503) wants to be asked again, None if it is not so."""
    head = found.call.head if found.call is not None else None
    if found.spoken or head is None or head.status != UNAVAILABLE:
        return None
    after = seconds_away(head.status, head.headers)
    return None if after is None else max(SOONEST, after)


def _try(revision: Revision, begin: Begin, limits: Limits) -> Attempt:
    try:
        stage = begin(revision)
    except StartError as reason:
        return Attempt(revision, None, reason=str(reason), silent=True, fatal=True)
    stage.session.limits = limits
    try:
        took = stage.open()
    except NotSpoken as reason:
        call = reason.call
        silent = call is None or (not (call.answers or call.unread) and (call.head is None or call.head.status is None))
        judged = judge_refusal(stage, reason)
        lost = _named(call.lost) + _circumstances(stage) if silent and call is not None else ""
        why = f"{call.method} is not answered: {lost}" if silent and call is not None else str(reason)
        return Attempt(
            revision, stage, reason=why, offered=reason.offered, silent=silent, lost=lost, call=call, judged=judged
        )
    transport = stage.session.transport
    # A target that was started ahead may have been ready long before it was asked.
    seconds = min(time.monotonic() - transport.began, took + transport.used().seconds)
    return Attempt(revision, stage, spoken=True, seconds=seconds)


def judge_refusal(stage: Stage, refusal: NotSpoken) -> frozenset[str] | None:
    """Write down what a failed opening says of the server itself; of which requirements that may be, None for all.

    A revision is spoken only if the server says so. Of one that it does not speak nothing is judged but that.
    """
    call, offered = refusal.call, refusal.offered
    if call is None:
        return None
    if stage.session.transport.posts_apart and not offered:
        # The specification of the revision is the one that such a server has to follow, whatever it would answer.
        call.excused = True
        return OF_BYTES | OF_STREAM
    call.excused = True  # a server that does not open cannot be tested; that is no finding
    if stage.session.revision.era == "stateless":
        modern = _modern_without_discover(stage, call) or _modern_without_version(stage, call)
        return OF_BYTES | OF_DISCOVER if modern else OF_BYTES
    if not offered or standing(offered) == "known":
        return None
    if standing(offered) != "later":
        stage.ledger.broke(
            COUNTEROFFERED,
            f"the server answers with {named_version(offered)}",
            expected="the requested version, or another one that the server supports: the date of a revision",
            actual=offered,
            frames=call.proof,
            # A draft that was never published may have had a date of its own.
            ceiling=Severity.WARNING if standing(offered) == "unpublished" else None,
        )
    return frozenset((COUNTEROFFERED,))


def _modern_without_discover(stage: Stage, refused: Call) -> bool:
    """A server that refuses server/discover and serves another request of the stateless era lacks what it must have."""
    if refused.error is None:
        return False
    try:
        call = stage.session.request("tools/list")
    except NotSpoken:  # its answer is too large to be read
        return False
    call.excused = True
    if not _is_modern(call):
        return False
    stage.ledger.broke(
        IMPLEMENTED,
        "server/discover is refused by a server that serves other requests of the stateless era",
        expected="a result",
        actual=shorten(refused.error),
        frames=(*refused.proof, *call.proof),
    )
    return True


def _modern_without_version(stage: Stage, call: Call) -> bool:
    """A result of the stateless era that names no version under which it could have been given."""
    versions = call.result.get("supportedVersions") if isinstance(call.result, dict) else None
    known = isinstance(versions, list) and any(each in BY_DATE for each in versions if isinstance(each, str))
    if not _is_modern(call) or known:
        return False  # one that names only versions of the other era says that it is of that era
    stage.ledger.broke(
        LISTS_VERSION,
        "supportedVersions does not list the version under which it was sent",
        expected=f"a list with {stage.session.revision.date}",
        actual=shorten(versions),
        frames=call.proof,
    )
    return True


def _is_modern(call: Call) -> bool:
    return isinstance(call.result, dict) and isinstance(call.result.get("resultType"), str)


def refuses_posts(failed: Iterable[Attempt]) -> bool:
    """Whether messages were refused by HTTP itself, as a server of HTTP+SSE does at the URL of its stream."""
    calls = [tried.call for tried in failed if tried.call is not None and tried.revision.era == "handshake"]
    return any(not call.answers and call.head is not None and 400 <= (call.head.status or 0) < 500 for call in calls)


def judge_offers(failed: Iterable[Attempt]) -> None:
    """No version at all was echoed, not even one that the server itself had offered."""
    answered = {attempt.revision.date: attempt for attempt in failed if attempt.offered and attempt.stage is not None}
    for first in answered.values():
        second = answered.get(first.offered)
        if second is None or second.call is None or first.call is None or second.stage is None:
            continue
        second.stage.ledger.found(
            Finding(
                "versioning/supported-version-echoed",
                OPENING,
                "the server answers no version by itself, not even one that it offers",
                f"{first.offered}, which it offered before",
                second.offered,
                second.call.proof,
                confirmed=True,  # two servers have shown it
            )
        )
        return


def _circumstances(stage: Stage) -> str:
    """What else can be said about a server that does not answer its opening request."""
    session = stage.session
    came = [f.data for f in session.trace if f.origin == "target" and not f.readable and f.channel not in BARE]
    if came:
        return f"; what came is no JSON: {came[0][:100].decode('utf-8', 'backslashreplace')}"
    other = [f.data for f in session.trace if f.origin == "target" and f.readable]
    if other and not session.transport.unfinished():
        return f"; what came is no answer to it: {other[0][:100].decode('utf-8', 'backslashreplace')}"
    if not (session.alive and session.transport.process_per_session):
        return ""
    heard, begun = _heard(stage), session.transport.unfinished()
    if begun and not heard and isinstance(parse(begun)[0], dict):
        return "; it wrote a whole message without a newline at its end"
    if begun:
        return f"; it began a line and did not end it: {begun[:100].decode('utf-8', 'backslashreplace')}"
    said = ending(session.transport.stderr())
    if not heard and _reads_content_length(stage):
        return (
            "; it wants Content-Length headers, as the Language Server Protocol does: MCP frames messages by newlines"
        )
    return f"; {SAID}{said}" if said else "; its stderr is empty"


def _named(lost: str) -> str:
    return f"{lost} (--start-timeout)" if lost.startswith("no answer within") else lost


def _heard(stage: Stage) -> bool:
    return any(frame.origin == "target" for frame in stage.session.trace)


def _reads_content_length(stage: Stage) -> bool:
    """Whether the server, silent to lines, answers a ping that is framed by headers."""
    session = stage.session
    session.watching.unwatch()  # what comes of it is a hint, no finding
    start = session.position
    body = b'{"jsonrpc":"2.0","id":"framed","method":"ping"}'
    session.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    session.listen(FRAMING)
    heard = b"\n".join(frame.data for frame in session.since(start) if frame.origin == "target")
    return b"content-length:" in heard.lower()


def discard(failed: Attempt, begin: Begin | None = None) -> Ledger:
    """Close the attempt's session; what its invariants wrote down.

    With `begin`, a server whose answer came only now, at the end, is started again to see whether that is why.
    """
    if failed.stage is None:
        return Ledger()
    failed.stage.close()
    if failed.judged is not None:
        failed.stage.ledger.keep(failed.judged)
    call = failed.call
    if begin is not None and failed.silent and call is not None and call.answers and _holds_back(failed, call, begin):
        failed.lost = f"{call.lost}; {HELD_BACK}"
        failed.reason = f"{call.method} is not answered: {failed.lost}"
    return failed.stage.ledger


def _holds_back(failed: Attempt, call: Call, begin: Begin) -> bool:
    """Whether a server answers only when its input is closed, however long it is given before.

    A server that starts slowly, or did so the first time only, does not pass for one: with its input closed at once
    it shows how long it needs; the next time it is given three times as long with its input open.
    """
    began = time.monotonic()
    if failed.stage is None or not failed.stage.session.transport.process_per_session:
        return False
    return _answers_at_end(failed, call, begin, 0.0) and _answers_at_end(
        failed, call, begin, FRAMING + 3 * (time.monotonic() - began)
    )


def _answers_at_end(failed: Attempt, asked: Call, begin: Begin, patience: float) -> bool:
    """Whether a fresh server is silent for `patience` seconds and answers once its input is closed."""
    try:
        stage = begin(failed.revision)
    except StartError:
        return False
    session = stage.session
    session.watching.unwatch()
    call = session.send(asked.method, asked.params)
    session.listen(patience, until=lambda: call.done)
    early = call.done or session.transport.unfinished() or _heard(stage)
    stage.close()
    return bool(call.answers) and not early


def untestable(failed: list[Attempt]) -> str:
    """Why no session could be opened in any revision; one line."""
    if any(tried.locked for tried in failed):
        return LOCKED
    if not failed:
        return "no revision of the specification was selected that this transport carries"
    fatal = next((tried for tried in failed if tried.fatal), None)
    if fatal is not None:
        return fatal.reason
    misnamed = next((tried for tried in failed if tried.judged == frozenset((COUNTEROFFERED,))), None)
    if misnamed is not None:
        return misnamed.reason
    if len({tried.revision.era for tried in failed}) > 1 and all(tried.silent for tried in failed):
        return f"the server answers neither initialize nor server/discover: {failed[0].lost}"
    if len({tried.reason for tried in failed}) == 1:
        return failed[0].reason
    return "; ".join(f"{tried.revision.date}: {tried.reason}" for tried in failed[:2])
