"""The stateless era, 2026-07-28: every request stands alone and says in `_meta` what it needs to say."""

from __future__ import annotations

from conformance.reference import task_extension
from conformance.reference.asking import EXPECTED
from conformance.reference.call import Call, InputRequired
from conformance.reference.peer import Peer
from conformance.reference.schema import problem
from conformance.reference.server import unsupported_version
from conformance.reference.shape import LEVELS
from conformance.reference.wire import (
    CLIENT,
    INVALID_PARAMS,
    LOG_LEVEL,
    MISSING_CAPABILITY,
    SERVER_INFO,
    SUBSCRIPTION,
    Message,
    RpcError,
    notification,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.call import Channel, Work
    from conformance.reference.server import Server

CACHEABLE = {
    "server/discover": 300_000,
    "tools/list": 1_000,
    "prompts/list": 1_000,
    "resources/list": 1_000,
    "resources/templates/list": 300_000,
    "resources/read": 0,
}
"""The results that carry caching hints, and their ttlMs."""


class Connection(Peer):
    """The stateless client at the other end of a process's stdio, or of one HTTP request."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.revision = server.stateless_revisions[-1]
        self.listeners: dict[str | int, tuple[Call, Message]] = {}

    def client_of(self, message: Message) -> Message:
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        client = meta.get(CLIENT) if isinstance(meta, dict) else None
        return client if isinstance(client, dict) else {}

    def admit(self, call: Call) -> None:
        if call.method == "initialize" and not call.meta:
            raise unsupported_version(self.server.stateless_revisions, call.params.get("protocolVersion"))
        self.server.check_meta(call)

    def finished(self, call: Call, result: Message) -> Message:
        info = {SERVER_INFO: self.server.info, **result.get("_meta", {})}
        result = {"resultType": "complete", **result, "_meta": info}
        if call.method in CACHEABLE and result["resultType"] == "complete":
            result = {**result, "ttlMs": CACHEABLE[call.method], "cacheScope": "public"}
        return result

    def notified(self, method: str, params: Message, channel: Channel) -> None:
        if method == "notifications/cancelled":
            self.cancel(params.get("requestId"))

    def answered(self, response: Message) -> None:
        """A stateless server asks nothing, so it expects no answer."""

    def ask(self, call: Call, requests: dict[str, Message], with_state: bool) -> dict[str, Message]:
        from conformance.reference import state

        given: Message = call.params.get("inputResponses", {})
        token = call.params.get("requestState")
        if token is not None:
            if not state.verified(token, call):
                raise RpcError(INVALID_PARAMS, "Invalid params: requestState is not one that belongs to this request")
            given = {**state.answers(token), **given}
        elif with_state:
            given = {}
        open_requests = {key: request for key, request in requests.items() if key not in given}
        for key in requests.keys() - open_requests.keys():
            wrong = problem(
                given[key], {"type": "object", **EXPECTED[requests[key]["method"]]}, f"inputResponses.{key}"
            )
            if wrong:
                raise RpcError(INVALID_PARAMS, f"Invalid params: {wrong}")
            call.answers[key] = given[key]
        if open_requests:
            raise InputRequired(input_required(call, open_requests, with_state))
        return {key: call.answers[key] for key in requests}

    def refusal(self, missing: Message) -> Exception:
        data = {"requiredCapabilities": missing}
        return RpcError(MISSING_CAPABILITY, "The client lacks a capability that this request needs", data)

    def may_log(self, call: Call, level: str) -> bool:
        wanted = call.meta.get(LOG_LEVEL)
        return wanted is not None and self.server.declares("logging") and LEVELS.index(level) >= LEVELS.index(wanted)

    def announce(self, kind: str) -> None:
        for call, granted in list(self.listeners.values()):
            if granted.get(f"{kind}ListChanged"):
                self._tell(call, f"notifications/{kind}/list_changed", {})

    def update(self, uri: str) -> None:
        for call, granted in list(self.listeners.values()):
            if uri in granted.get("resourceSubscriptions", ()):
                self._tell(call, "notifications/resources/updated", {"uri": uri})

    def task_changed(self, work: Work) -> None:
        for call, granted in list(self.listeners.values()):
            if work.identity in granted.get("taskIds", ()):
                self._tell(call, task_extension.CHANGED, work.detailed())

    def listen(self, call: Call) -> Message | None:
        wanted: Message = call.params["notifications"]
        granted: Message = {
            f"{kind}ListChanged": True
            for kind in ("tools", "prompts", "resources")
            if wanted.get(f"{kind}ListChanged") and self.server.declares(kind)
        }
        if "resourceSubscriptions" in wanted and self.server.declares("resources"):
            granted["resourceSubscriptions"] = wanted["resourceSubscriptions"]
        if "taskIds" in wanted and self.server.declares("tasks"):
            self.server.check_task_client(call)
            granted["taskIds"] = [each for each in wanted["taskIds"] if each in self.server.works]
        self._tell(call, "notifications/subscriptions/acknowledged", {"notifications": granted})
        self.listeners[call.id] = (call, granted)
        if self not in self.server.peers:
            self.server.peers.append(self)
        call.channel.hold(call)
        return None

    def cancel(self, request_id: object) -> None:
        super().cancel(request_id)
        if isinstance(request_id, (str, int)):
            self.listeners.pop(request_id, None)
        if not self.listeners and self in self.server.peers:
            self.server.peers.remove(self)

    def _tell(self, call: Call, method: str, params: Message) -> None:
        call.notify(method, {"_meta": {SUBSCRIPTION: call.id}, **params})

    def close(self, cancelling: bool = False) -> None:
        for call, _ in list(self.listeners.values()):
            if cancelling:
                # One page wants this on stdio, the other the result: nothing forbids both.
                params = {"requestId": call.id, "reason": "the server stops"}
                call.send(notification("notifications/cancelled", params))
            result = self.finished(call, {"_meta": {SUBSCRIPTION: call.id}})
            call.send({"jsonrpc": "2.0", "id": call.id, "result": result})
        self.listeners.clear()


def input_required(call: Call, requests: dict[str, Message], with_state: bool) -> Message:
    """The result that asks the client to repeat `call` with the answers to `requests` under their keys."""
    from conformance.reference import state

    result: Message = {"resultType": "input_required", "inputRequests": requests}
    return {**result, "requestState": state.token(call)} if with_state else result
