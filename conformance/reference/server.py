"""What the server offers, and the seams at which a fault can change what it does."""

from __future__ import annotations

import binascii
from threading import RLock

from conformance.reference import client_tasks, shape, task_extension, tasks
from conformance.reference.call import Call, missing_capability
from conformance.reference.identity import INFO, REVISIONS, STATELESS
from conformance.reference.methods import METHODS, PARAMS
from conformance.reference.prompts import PROMPTS
from conformance.reference.resources import RESOURCES, TEMPLATES
from conformance.reference.schema import problem
from conformance.reference.tools import TOOLS
from conformance.reference.wire import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Message,
    RpcError,
    encode,
    is_id,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO

    from conformance.reference.call import Channel, Peer, Prompt, Resource, Task, Template, Tool, Work
    from conformance.reference.client_tasks import Session

    Filter = Callable[[Message, Call | None], list[Any]]


class Server:
    """One process's server: shared by all its clients.

    The attributes below "seams" are the correct behaviour; a fault replaces one of them, or appends to `outgoing` a
    filter that turns each outgoing message into the messages that are sent instead. `call` is the request in whose
    course the message is sent, None if there is none.
    """

    def __init__(self, revisions: Iterable[str] = REVISIONS, undeclared: Iterable[str] = ()) -> None:
        self.revisions = tuple(sorted(revisions))
        self.undeclared = frozenset(undeclared)
        self.tools: dict[str, Tool] = {tool.name: tool for tool in TOOLS}
        self.resources: dict[str, Resource] = {resource.uri: resource for resource in RESOURCES}
        self.templates: dict[str, Template] = {template.uri_template: template for template in TEMPLATES}
        self.prompts: dict[str, Prompt] = {prompt.name: prompt for prompt in PROMPTS}
        self.touched: int = 0
        self.protected = False
        self.same_user: Callable[[str, str], bool] = str.__eq__
        self.state_user: Callable[[Call], str] = lambda call: call.peer.user
        self.lock = RLock()
        self.peers: list[Peer] = []
        self.works: dict[str, Work] = {}
        self.info: Message = INFO
        self.page_size = 5
        self.ask_timeout = 1.0
        self.rounds = 5
        self.fetch_timeout = 3.0
        # seams
        self.outgoing: list[Filter] = []
        self.encode: Callable[[Any], bytes] = encode
        self.lines: Callable[[BinaryIO], Iterator[bytes]] = iter
        self.started: list[Callable[[Channel], None]] = []
        self.input_ended: list[Callable[[Channel], None]] = []
        self.notified: list[Callable[[Peer, str, Channel], None]] = []
        self.handle: Callable[[Call], Message | None] = handle
        self.negotiate: Callable[[Server, str], str] = negotiate
        self.opens: Callable[[Message], bool] = lambda params: True  # whether notifications/initialized does
        self.check_meta: Callable[[Call], None] = check_meta
        self.missing_capability: Callable[[Call, Message], Message | None] = missing_capability
        self.ask: Callable[[Call, dict[str, Message], bool], dict[str, Message]] = ask
        self.problem: Callable[[Any, Message], str | None] = problem
        self.shape: Callable[[str, Message, str], Message] = shape.result
        self.cancel: Callable[[Call], None] = lambda call: call.cancelled.set()
        self.cursor: Callable[[str, int], str] = cursor
        self.offset: Callable[[str, str], int] = offset
        self.answer_batch: Callable[[Server, list[Message], Channel], None] = answer_batch
        self.http_handler: Callable[[Any], Any] = lambda handler: handler  # the class that answers HTTP requests
        self.task_id: Callable[[], str] = tasks.new_id
        self.create_task: Callable[[Call, Tool], Message] = tasks.create
        self.task_outcome: Callable[[Message], str] = tasks.outcome
        self.need_input: Callable[[Task], None] = tasks.need_input
        self.await_task: Callable[[Call, Task], None] = tasks.await_task
        self.create_work: Callable[[Call, Tool], Message] = task_extension.create
        self.end_work: Callable[[Work, Message], None] = task_extension.end
        self.question_key: Callable[[str, int], str] = task_extension.question_key
        self.tell_of_work: Callable[[Call, Message], None] = task_extension.tell
        self.check_task_client: Callable[[Call], None] = task_extension.check_client
        self.follow_client_task: Callable[[Session, Call, Message], Message] = client_tasks.follow
        self.cancel_client_task: Callable[[Session, Call, Message], None] = client_tasks.cancel
        self.ids: Iterator[Any] = (f"reference-{number}" for number in range(1, 1 << 62))

    @property
    def handshake_revisions(self) -> tuple[str, ...]:
        return tuple(revision for revision in self.revisions if revision < STATELESS)

    @property
    def stateless_revisions(self) -> tuple[str, ...]:
        return tuple(revision for revision in self.revisions if revision >= STATELESS)

    def declares(self, feature: str) -> bool:
        return feature not in self.undeclared

    def knows(self, call: Call) -> bool:
        """Whether there is such a method, in the revision of the request and by what the server declares."""
        entry = METHODS.get(call.method)
        return bool(entry and entry.serves(call.revision) and (not entry.feature or self.declares(entry.feature)))

    def capabilities(self) -> Message:
        """The capabilities of the newest revision; `shape` takes away what an older one does not have."""
        every: Message = {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
            "tasks": tasks.CAPABILITY,
        }
        every = {name: value for name, value in every.items() if self.declares(name)}
        return {**every, "extensions": {task_extension.EXTENSION: {}}} if "tasks" in every else every

    def send(self, channel: Channel, message: Any, call: Call | None = None) -> None:
        messages = [message]
        for change in self.outgoing:
            messages = [new for old in messages for new in change(old, call)]
        for each in messages:
            channel.send(each)

    def announce(self, kind: str) -> None:
        """Tell every client that the list of `kind` (tools, resources, prompts) has changed."""
        if self.declares(kind):
            for peer in list(self.peers):
                peer.announce(kind)

    def update(self, uri: str) -> None:
        """Tell every client that subscribed to it that the resource `uri` has changed."""
        for peer in list(self.peers):
            peer.update(uri)


def handle(call: Call) -> Message | None:
    """The result of a request; None if it is answered later. Raises RpcError where it is refused."""
    server = call.server
    if not server.knows(call):
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {call.method}")
    wrong = problem(call.params, PARAMS.get(call.method, {"type": "object"}), "params")
    if wrong:
        raise RpcError(INVALID_PARAMS, f"Invalid params: {wrong}")
    result = METHODS[call.method].run(call)
    return None if result is None else server.shape(call.method, result, call.revision)


def negotiate(server: Server, requested: str) -> str:
    """The version to answer `initialize` with: the requested one, else the latest of the handshake era."""
    return requested if requested in server.handshake_revisions else server.handshake_revisions[-1]


def check_meta(call: Call) -> None:
    """Raise RpcError unless the request carries what 2026-07-28 wants in `_meta`, for a version that is served."""
    server = call.server
    meta = call.params.get("_meta") if isinstance(call.params, dict) else None
    if not isinstance(meta, dict):
        raise RpcError(INVALID_PARAMS, "Invalid params: params._meta is required")
    for name, kind, wanted in (("protocolVersion", str, "a string"), ("clientCapabilities", dict, "an object")):
        if not isinstance(meta.get(f"io.modelcontextprotocol/{name}"), kind):
            raise RpcError(INVALID_PARAMS, f"Invalid params: _meta io.modelcontextprotocol/{name} must be {wanted}")
    requested = meta["io.modelcontextprotocol/protocolVersion"]
    if requested not in server.stateless_revisions:
        raise unsupported_version(server.stateless_revisions, requested)
    level = meta.get("io.modelcontextprotocol/logLevel", "info")
    if server.declares("logging") and level not in shape.LEVELS:
        raise RpcError(INVALID_PARAMS, f"Invalid params: unknown log level {level!r}")
    if not is_id(meta.get("progressToken", "")):
        raise RpcError(INVALID_PARAMS, "Invalid params: progressToken must be a string or an integer")


def unsupported_version(served: Iterable[str], requested: Any) -> RpcError:
    data = {"supported": list(served), "requested": requested}
    return RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def ask(call: Call, requests: dict[str, Message], with_state: bool) -> dict[str, Message]:
    """The client's answers to `requests`. Raises NoAnswer, or what the era has for capabilities that are missing."""
    missing: Message = {}
    for request in requests.values():
        missing |= call.server.missing_capability(call, request) or {}
    if missing:
        raise call.peer.refusal(missing)
    return call.peer.ask(call, requests, with_state)


def answer_batch(server: Server, responses: list[Message], channel: Channel) -> None:
    if responses:
        channel.send(responses)


def cursor(kind: str, position: int) -> str:
    """An opaque cursor for the page of the list `kind` that starts at `position`."""
    return binascii.hexlify(f"{kind} {position}".encode()).decode()


def offset(kind: str, text: str) -> int:
    """Where the page of a cursor starts. Raises RpcError -32602 for a cursor that `cursor` never made."""
    try:
        name, _, position = binascii.unhexlify(text.encode()).decode().partition(" ")
        if name == kind and int(position) > 0 and cursor(kind, int(position)) == text:
            return int(position)
    except ValueError:
        pass
    raise RpcError(INVALID_PARAMS, "Invalid params: unknown cursor")
