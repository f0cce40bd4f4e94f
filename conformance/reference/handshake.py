"""The handshake era, 2024-11-05 to 2025-11-25: sessions that begin with `initialize`."""

from __future__ import annotations

from threading import Event

from conformance.reference import client_tasks
from conformance.reference.asking import EXPECTED
from conformance.reference.call import Call, NoAnswer
from conformance.reference.identity import INSTRUCTIONS
from conformance.reference.peer import Peer
from conformance.reference.schema import problem
from conformance.reference.shape import LEVELS
from conformance.reference.wire import INVALID_REQUEST, Message, RpcError, is_id, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Channel
    from conformance.reference.server import Server


class _Question:
    """A request of ours that waits for its answer."""

    __slots__ = ("arrived", "identity", "response")

    def __init__(self, identity: Any) -> None:
        self.identity = identity
        self.arrived = Event()
        self.response: Message = {}


class Session(Peer):
    """A session."""

    def __init__(self, server: Server, unsolicited: Channel) -> None:
        super().__init__(server)
        self.unsolicited = unsolicited
        self.client: Message = {}
        self.ready = False
        self.questions: dict[Any, _Question] = {}

    def client_of(self, message: Message) -> Message:
        return self.client

    def admit(self, call: Call) -> None:
        if call.method == "ping" or (self.revision is None) == (call.method == "initialize"):
            return
        if self.server.knows(call):
            why = "the session is already initialized" if self.revision else "initialize comes first"
            raise RpcError(INVALID_REQUEST, f"Invalid request: {why}")

    def initialize(self, call: Call) -> Message:
        self.revision = self.server.negotiate(self.server, call.params["protocolVersion"])
        self.client = call.params["capabilities"]
        self.server.peers.append(self)
        return {
            "protocolVersion": self.revision,
            "capabilities": self.server.capabilities(),
            "serverInfo": self.server.info,
            "instructions": INSTRUCTIONS,
        }

    def finished(self, call: Call, result: Message) -> Message:
        return result

    def notified(self, method: str, params: Message, channel: Channel) -> None:
        if method == "notifications/cancelled":
            self.cancel(params.get("requestId"))
        elif method == "notifications/initialized" and self.revision and not self.ready:
            self.ready = self.server.opens(params)
        elif method == "notifications/roots/list_changed":
            self.roots = None

    def keep_roots(self, call: Call, roots: list[Any]) -> None:
        declared = self.client.get("roots")
        if isinstance(declared, dict) and declared.get("listChanged") is True:
            self.roots = roots

    def answered(self, response: Message) -> None:
        given = response.get("id")
        question = self.questions.pop(given, None) if is_id(given) else None
        if question is not None:
            question.response = response
            question.arrived.set()

    def ask(self, call: Call, requests: dict[str, Message], with_state: bool) -> dict[str, Message]:
        return {key: self._ask(call, request) for key, request in requests.items()}

    def _ask(self, call: Call, request: Message) -> Message:
        if client_tasks.offered(call, request["method"]):
            result = client_tasks.ask(self, call, request)
        else:
            result = self.exchange(call, request)
        wrong = problem(result, {"type": "object", **EXPECTED[request["method"]]}, "result")
        if wrong:
            raise NoAnswer(f"The client's answer to {request['method']} is malformed: {wrong}")
        return result

    def demand(self, call: Call, request: Message) -> _Question:
        """Send a request without waiting for its answer."""
        identity = next(self.server.ids)
        question = self.questions[identity] = _Question(identity)
        call.send({"jsonrpc": "2.0", "id": identity, **request})
        return question

    def exchange(self, call: Call, request: Message) -> Message:
        """The client's result of a request. Raises NoAnswer."""
        question = self.demand(call, request)
        waited = 0.0
        while not question.arrived.wait(0.02):
            waited += 0.02
            call.pause(0)
            if call.cancelled.is_set() or waited >= self.server.ask_timeout:
                self.questions.pop(question.identity, None)
                params = {"requestId": question.identity, "reason": "no answer in time"}
                call.send(notification("notifications/cancelled", params))
                raise NoAnswer(f"The client did not answer {request['method']} in time.")
        if "error" in question.response:
            raise NoAnswer(f"The client refused {request['method']}: {question.response['error']}")
        result: Message = question.response["result"]
        return result

    def refusal(self, missing: Message) -> Exception:
        return NoAnswer(f"The client did not declare the capability {next(iter(missing))} that this tool needs.")

    def may_log(self, call: Call, level: str) -> bool:
        return self.server.declares("logging") and LEVELS.index(level) >= LEVELS.index(self.level)

    def announce(self, kind: str) -> None:
        if self.ready:
            self.server.send(self.unsolicited, notification(f"notifications/{kind}/list_changed"))

    def update(self, uri: str) -> None:
        if uri in self.subscribed:
            self.server.send(self.unsolicited, notification("notifications/resources/updated", {"uri": uri}))
