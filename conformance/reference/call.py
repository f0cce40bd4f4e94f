"""One request while it is served."""

from __future__ import annotations

from threading import Event

from conformance.reference.wire import Message, RpcError, is_id, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from conformance.reference.server import Server

    class Channel(Protocol):
        """Where the messages of a request go."""

        def send(self, message: Any) -> None: ...

        def run(self, call: Call) -> None:
            """Serve `call`, in a thread of its own if others must not wait for it."""

        def hold(self, call: Call) -> None:
            """Keep the way to the client open until `call` is cancelled."""

        def closed(self) -> bool:
            """Whether the client is known to have gone."""

    class Peer(Protocol):
        """One client: a session of the handshake era, or a connection of the stateless era."""

        server: Server
        revision: str | None

        def serve(self, call: Call) -> None: ...

        def may_log(self, call: Call, level: str) -> bool: ...

        def ask(self, call: Call, key: str, request: Message) -> Message: ...

        def announce(self, kind: str) -> None: ...

        def update(self, uri: str) -> None: ...


LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Cancelled(Exception):
    """The request was cancelled: nothing is owed for it any more."""


class NoAnswer(Exception):
    """The client did not give what it was asked for; the text says why."""


class Call:
    """A request: its id, method and params, who sent it, and the ways back to the client."""

    __slots__ = ("cancelled", "channel", "client", "id", "message", "meta", "method", "params", "peer", "server")

    def __init__(self, peer: Peer, message: Message, channel: Channel, client: Message) -> None:
        self.server = peer.server
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

    @property
    def revision(self) -> str:
        """The revision that governs this request; the newest one while none is negotiated."""
        return self.peer.revision or self.server.revisions[-1]

    def send(self, message: Message) -> None:
        self.server.send(self.channel, message, self)

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
        return self.server.ask(self, key, request)


def missing_capability(call: Call, request: Message) -> Message | None:
    """The client capabilities that `request` needs and the client did not declare, or None."""
    method, params = request["method"], request.get("params", {})
    if method != "elicitation/create":
        name = method.partition("/")[0]
        return None if name in call.client else {name: {}}
    mode = params.get("mode", "form")
    declared = call.client.get("elicitation")
    if declared is not None and (mode in declared or (mode == "form" and (not declared or call.revision < "2025-11-25"))):
        return None
    return {"elicitation": {mode: {}}}


def internal_error(error: Exception) -> RpcError:
    return RpcError(-32603, f"Internal error: {type(error).__name__}: {error}")
