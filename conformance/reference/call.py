"""One request while it is served."""

from __future__ import annotations

from threading import Event

from conformance.reference.wire import Message, is_id, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from conformance.reference.peer import Peer
    from conformance.reference.server import Server

    class Channel(Protocol):
        """Where the messages of a request go."""

        def send(self, message: Any) -> None: ...

        def run(self, work: Callable[[], None]) -> None:
            """Do `work`, in a thread of its own if other messages must not wait for it."""

        def hold(self, call: Call) -> None:
            """Keep the way to the client open until `call` is cancelled, if the way ends with the request."""

        def closed(self) -> bool:
            """Whether the client is known to have gone."""


class Cancelled(Exception):
    """The request was cancelled: nothing is owed for it any more."""


class NoAnswer(Exception):
    """The client did not give what it was asked for; the text says why."""


class InputRequired(Exception):
    """The request cannot be completed before the client has answered; `result` asks for it."""

    def __init__(self, result: Message) -> None:
        super().__init__()
        self.result = result


class Call:
    """A request: its id, method and params, who sent it, and the ways back to the client.

    `answers` are those that the client gave to questions of this request and that `requestState` carries on.
    `afterwards` is done once the response is sent. `stands_for` is the request whose response this one fetches.
    """

    __slots__ = (
        "afterwards",
        "answers",
        "cancelled",
        "channel",
        "client",
        "id",
        "message",
        "meta",
        "method",
        "params",
        "peer",
        "server",
        "stands_for",
    )

    def __init__(self, peer: Peer, message: Message, channel: Channel, client: Message) -> None:
        self.server: Server = peer.server
        self.peer = peer
        self.message = message
        self.id = message["id"]
        self.method: str = message["method"]
        self.params: Message = message.get("params", {})
        meta = self.params.get("_meta") if isinstance(self.params, dict) else None
        self.meta: Message = meta if isinstance(meta, dict) else {}
        self.client = client
        self.channel = channel
        self.cancelled = Event()
        self.answers: Message = {}
        self.afterwards: Callable[[], None] | None = None
        self.stands_for: Call | None = None

    @property
    def revision(self) -> str:
        """The revision that governs this request; the newest of the handshake era while none is negotiated."""
        return self.peer.revision or self.server.handshake_revisions[-1]

    def send(self, message: Message) -> None:
        self.server.send(self.channel, message, self.stands_for or self)

    def notify(self, method: str, params: Message) -> None:
        if not self.cancelled.is_set():
            self.send(notification(method, params))

    def progress(self, done: float, total: float, text: str) -> None:
        """Report progress, if the request carries a token."""
        token = self.meta.get("progressToken")
        if not is_id(token):
            return
        params = {"progressToken": token, "progress": done, "total": total}
        if self.revision >= "2025-03-26":
            params["message"] = text
        self.notify("notifications/progress", params)

    def log(self, level: str, data: Any) -> None:
        """Send a log message, if the level that the client set lets it through."""
        if self.peer.may_log(self, level):
            self.notify("notifications/message", {"level": level, "logger": "reference", "data": data})

    def pause(self, seconds: float) -> None:
        """Wait. Raises Cancelled as soon as the request is cancelled or the client has gone."""
        while seconds > 0:
            step = min(seconds, 0.02)
            if self.cancelled.wait(step) or self.channel.closed():
                self.cancelled.set()
                raise Cancelled
            seconds -= step

    def ask(self, key: str, method: str, params: Message | None = None) -> Message:
        """The client's answer to a request of ours. Raises NoAnswer, or whatever ends this attempt."""
        request: Message = {"method": method}
        if params is not None:
            request["params"] = params
        answer: Message = self.ask_all({key: request})[key]
        return answer

    def ask_all(self, requests: dict[str, Message], with_state: bool = True) -> dict[str, Message]:
        """The client's answers to several requests of ours, by key. Raises what `ask` raises.

        `with_state` false asks without `requestState`, so that the answers alone are what the client repeats.
        """
        return self.server.ask(self, requests, with_state)


def missing_capability(call: Call, request: Message) -> Message | None:
    """The client capabilities that `request` needs and the client did not declare, or None."""
    method, mode = request["method"], request.get("params", {}).get("mode", "form")
    if method != "elicitation/create":
        name = method.partition("/")[0]
        if "tools" in request.get("params", {}) and "tools" not in (call.client.get(name) or {}):
            return {name: {"tools": {}}}
        return None if name in call.client else {name: {}}
    modes = call.client.get("elicitation")
    since = "2025-06-18" if mode == "form" else "2025-11-25"
    form_implied = mode == "form" and (not modes or call.revision < "2025-11-25")
    if call.revision >= since and modes is not None and (mode in modes or form_implied):
        return None
    return {"elicitation": {mode: {}}}
