"""What both eras have in common: how one client's messages are read and its requests answered."""

from __future__ import annotations

from conformance.reference.call import Call, Cancelled, InputRequired
from conformance.reference.wire import INTERNAL_ERROR, INVALID_REQUEST, Message, RpcError, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Channel, Task, Work
    from conformance.reference.server import Server


class Peer:
    """One client: a session of the handshake era, or a connection of the stateless era.

    `unsolicited` is the channel of the messages that belong to no request. `user` is who the token says it is, "" where
    none is asked for.
    """

    unsolicited: Channel

    def __init__(self, server: Server) -> None:
        self.server = server
        self.revision: str | None = None
        self.level = "debug"
        self.subscribed: set[str] = set()
        self.running: dict[Any, Call] = {}
        self.roots: list[Any] | None = None
        self.tasks: dict[str, Task] = {}
        self.user: str = ""

    def receive(self, message: Any, channel: Channel) -> None:
        """Deal with one incoming JSON value; whatever is to be said about it goes to `channel`."""
        if isinstance(message, list) and self.revision == "2025-03-26":
            channel.run(lambda: self._receive_batch(message, channel))
            return
        if not isinstance(message, dict):
            self._refuse(message, channel, "a message is an object")
        elif "method" not in message and ("result" in message or "error" in message):
            self.answered(message)
        elif isinstance(message.get("method"), str) and "id" not in message:
            params = message.get("params", {})
            if message.get("jsonrpc") == "2.0" and isinstance(params, dict):
                self.notified(message["method"], params, channel)
                for hook in self.server.notified:
                    hook(self, message["method"], channel)
        elif message.get("jsonrpc") != "2.0":
            self._refuse(message, channel, 'jsonrpc must be "2.0"')
        elif not isinstance(message.get("method"), str):
            self._refuse(message, channel, "method must be a string")
        elif not is_id(message["id"]):
            self._refuse(message, channel, "id must be a string or an integer")
        else:
            self.requested(message, channel)

    def requested(self, message: Message, channel: Channel) -> None:
        """Answer a well-formed request."""
        call = Call(self, message, channel, self.client_of(message))
        self.running[call.id] = call
        tool = None
        if call.method == "tools/call" and isinstance(call.params, dict):
            name = call.params.get("name")
            tool = self.server.tools.get(name) if isinstance(name, str) else None
        if (tool and tool.waits) or call.method == "tasks/result":
            channel.run(lambda: self.serve(call))
        else:
            self.serve(call)

    def serve(self, call: Call) -> None:
        """Send the response of a request, unless it is cancelled or answered later."""
        response: Message | None = None
        try:
            self.admit(call)
            try:
                result = self.server.handle(call)
            except InputRequired as need:
                result = need.result
            if result is not None:
                response = {"jsonrpc": "2.0", "id": call.id, "result": self.finished(call, result)}
        except Cancelled:
            pass
        except RpcError as error:
            response = error.response({"id": call.id})
        except Exception as error:
            # A defect of ours must not take the server down with it.
            failure = RpcError(INTERNAL_ERROR, f"Internal error: {type(error).__name__}: {error}")
            response = failure.response({"id": call.id})
        self.running.pop(call.id, None)
        if response is not None and not call.cancelled.is_set():
            call.send(response)
            if call.afterwards:
                call.afterwards()

    def _receive_batch(self, messages: list[Any], channel: Channel) -> None:
        if not messages:
            self._refuse(messages, channel, "a batch is not empty")
            return
        batch = Batch(channel)
        for message in messages:
            if isinstance(message, list) or (isinstance(message, dict) and message.get("method") == "initialize"):
                self._refuse(message, batch, "a batch contains neither batches nor initialize")
            else:
                self.receive(message, batch)
        self.server.answer_batch(self.server, batch.responses, channel)

    def _refuse(self, message: Any, channel: Channel, why: str) -> None:
        given = message.get("id") if isinstance(message, dict) else None
        identity = {"id": given} if is_id(given) else self.no_identity()
        error = RpcError(INVALID_REQUEST, f"Invalid request: {why}")
        self.server.send(channel, error.response(identity))

    def no_identity(self) -> Message:
        """The id of an error that answers what cannot be read: null by JSON-RPC, absent from 2025-11-25."""
        return {} if self.revision and self.revision >= "2025-11-25" else {"id": None}

    def cancel(self, request_id: Any) -> None:
        """Cancel the running request with this id, if there is one."""
        call = self.running.get(request_id) if is_id(request_id) else None
        if call is not None:
            self.server.cancel(call)

    # What the eras do differently.

    def client_of(self, message: Message) -> Message:
        """The client capabilities that hold for a request."""
        raise NotImplementedError

    def admit(self, call: Call) -> None:
        """Raise RpcError if the request cannot be served, whatever its method."""
        raise NotImplementedError

    def initialize(self, call: Call) -> Message:
        """The result of `initialize`; fixes the revision."""
        raise NotImplementedError

    def finished(self, call: Call, result: Message) -> Message:
        """The result as it goes over the wire."""
        raise NotImplementedError

    def notified(self, method: str, params: Message, channel: Channel) -> None:
        """Deal with a notification; unknown ones are ignored."""
        raise NotImplementedError

    def answered(self, response: Message) -> None:
        """Deal with a response of the client; those to nothing are ignored."""
        raise NotImplementedError

    def ask(self, call: Call, requests: dict[str, Message], with_state: bool) -> dict[str, Message]:
        """The client's answers to `requests`, each a method and params, by key."""
        raise NotImplementedError

    def refusal(self, missing: Message) -> Exception:
        """What to raise when the client lacks the capabilities `missing`."""
        raise NotImplementedError

    def keep_roots(self, call: Call, roots: list[Any]) -> None:
        """Remember the client's roots, as long as it would tell if they changed."""

    def may_log(self, call: Call, level: str) -> bool:
        """Whether the client wants a log message of `level` in the course of `call`."""
        raise NotImplementedError

    def announce(self, kind: str) -> None:
        """Tell the client that the list of `kind` has changed, if it is to know."""
        raise NotImplementedError

    def update(self, uri: str) -> None:
        """Tell the client that the resource has changed, if it subscribed to it."""
        raise NotImplementedError

    def task_changed(self, work: Work) -> None:
        """Tell the client how a task stands, if it subscribed to it."""

    def listen(self, call: Call) -> Message | None:
        """Open the subscription that `call` asks for."""
        raise NotImplementedError

    def close(self, cancelling: bool = False) -> None:
        """End what is still open, because the server stops; `cancelling` as stdio wants it."""


class Batch:
    """Collects the responses of a batch; everything else goes out at once."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.responses: list[Message] = []

    def send(self, message: Any) -> None:
        if isinstance(message, dict) and "method" in message:
            self.channel.send(message)
        else:
            self.responses.append(message)

    def run(self, work: Callable[[], None]) -> None:
        work()

    def hold(self, call: Call) -> None:
        self.channel.hold(call)

    def closed(self) -> bool:
        return self.channel.closed()
