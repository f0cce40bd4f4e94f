"""Progress: only for tokens that we gave, rising, and over once the request is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from conformance.budget import brief
from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher, is_number
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Severity
from conformance.session.messages import Call, id_key
from conformance.session.session import Session

KNOWN = "progress/known-token-only"
INCREASES = "progress/value-increases"
STOPS = "progress/stops-after-completion"
RELATED = "transport-http/sse-messages-related"
RELATED_MUST = "transport-http/sse-notifications-related"


@dataclass(slots=True)
class Token:
    """A token of ours: the request that carried it, its last progress, its answer."""

    sent: Frame
    task: bool
    last: Frame | None = None
    value: float | None = None
    answered: Frame | None = None
    late: bool = False


class Progress(Watcher):
    """See the module."""

    name = "progress"
    requirements: ClassVar[tuple[str, ...]] = (KNOWN, INCREASES, STOPS, RELATED, RELATED_MUST)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._tokens: dict[str, Token] = {}
        self._of_request: dict[str, Token] = {}

    def sent(self, frame: Frame) -> None:
        """Remember the tokens that we give, also in messages that are wrong otherwise."""
        messages = frame.message if isinstance(frame.message, list) else (frame.message,)
        for message in messages:
            params = message.get("params") if isinstance(message, dict) else None
            if not isinstance(params, dict) or "id" not in message:
                continue
            meta = params.get("_meta")
            if isinstance(meta, dict) and "progressToken" in meta:
                token = Token(frame, "task" in params)
                self._tokens[id_key(meta["progressToken"])] = token
                self._of_request[id_key(message["id"])] = token

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge progress, and note the answers of requests that carried a token."""
        message = frame.message
        if not isinstance(message, dict):
            return
        if call is not None:
            token = self._of_request.get(id_key(call.id)) if self._of_request else None
            if token is not None:
                token.answered = token.answered or brief(frame)
        elif message.get("method") == "notifications/progress":
            params = message.get("params")
            if isinstance(params, dict) and "progressToken" in params:
                self._progress(frame, params)

    def finish(self) -> None:
        """What was answered and stayed quiet afterwards has passed."""
        if any(
            token.last is not None and token.answered is not None and not token.late
            for token in self._of_request.values()
        ):
            self.ledger.held(STOPS)

    def _progress(self, frame: Frame, params: dict[str, Json]) -> None:
        given, value = params["progressToken"], params.get("progress")
        token = self._tokens.get(id_key(given))
        if token is None:
            known = ", ".join(self._tokens) or "none"
            as_text = isinstance(given, str) and given in self._tokens  # a key without quotes is of a number
            self.ledger.broke(
                KNOWN,
                "progress refers to a token that no request carried",
                expected=f"a token of a request, with its type; given so far: {known}",
                actual=shorten(given) if not as_text else f"progressToken is {shorten(given)}, expected number",
                frames=(frame,),
            )
            return
        self.ledger.held(KNOWN)
        if self._elsewhere(frame, token):
            return  # the order of messages is defined within one stream only
        self._order(frame, value, token)
        if token.answered is not None and not token.task:
            token.late = True
            self.ledger.broke(
                STOPS,
                "progress is sent for a request that is answered",
                expected="no progress after the response",
                actual=f"{(frame.at - token.answered.at) * 1000:.1f} ms after the response",
                frames=(token.sent, token.answered, frame),
            )

    def _order(self, frame: Frame, value: Json, token: Token) -> None:
        if not is_number(value):
            return
        if token.value is not None and value <= token.value:
            same = value == token.value
            self.ledger.broke(
                INCREASES,
                "progress repeats its value" if same else "progress goes back",
                expected=f"more than {token.value:g}",
                actual=f"{value:g}",
                frames=(token.sent, token.last, frame),
                # Many tools say 100 twice; a schema comment asks for growth only "every time progress is made".
                ceiling=Severity.WARNING if same else None,
            )
        elif token.value is not None:
            self.ledger.held(INCREASES)
        token.value, token.last = value, brief(frame)

    def _elsewhere(self, frame: Frame, token: Token) -> bool:
        """Over HTTP: whether the notification came on the stream of another request."""
        if frame.exchange is None or token.sent.exchange is None:
            return False
        if token.task:
            return frame.exchange != token.sent.exchange  # its own stream ends before the task does
        requirement = RELATED_MUST if self.session.revision.era == "stateless" else RELATED
        if self.session.requests.polling.origin(frame.exchange) == token.sent.exchange:
            self.ledger.held(requirement)
            return False
        self.ledger.broke(
            requirement,
            "progress comes on the stream of another request",
            expected=f"on the stream of exchange {token.sent.exchange}",
            actual=f"on that of exchange {frame.exchange}",
            frames=(token.sent, frame),
        )
        return True
