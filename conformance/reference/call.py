"""One request while it is served, and what it may expect of the server, of the client and of what is offered.

A call knows them all, and they know calls: what they promise each other stands here, what they do in their own modules.
"""

from __future__ import annotations

from threading import Event

from conformance.reference.wire import Message, is_id, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import RLock
    from typing import Any, Protocol

    Arguments = dict[str, Any]

    class Channel(Protocol):
        """Where the messages of a request go."""

        def send(self, message: Any) -> None: ...

        def run(self, work: Callable[[], None]) -> None:
            """Do `work`, in a thread of its own if other messages must not wait for it."""

        def hold(self, call: Call) -> None:
            """Keep the way to the client open until `call` is cancelled, if the way ends with the request."""

        def closed(self) -> bool:
            """Whether the client is known to have gone."""

    class Tool(Protocol):
        """A tool of the server; `tool.py` says what the attributes mean."""

        name: str
        description: str
        run: Callable[[Call, Arguments], Message]
        input: Message
        output: Message | None
        hints: dict[str, Any]
        waits: bool
        task: str
        background: bool

        def goes_on(self, given: dict[str, Any]) -> bool: ...

        def prepare(self, call: Call) -> None: ...

        def described(self) -> Message: ...

    class Prompt(Protocol):
        """A prompt of the server; `prompts.py` says what the attributes mean."""

        description: str
        arguments: list[Message]
        completions: dict[str, list[str]]

        def messages(self, call: Call, given: dict[str, str]) -> list[Message]: ...

        def described(self) -> Message: ...

    class Resource(Protocol):
        """A resource of the server; `resources.py` says what the attributes mean."""

        mime_type: str
        read: Callable[[Server], list[Message]]

        def described(self) -> Message: ...

    class Template(Protocol):
        """A resource template of the server; `resources.py` says what the attributes mean."""

        uri_template: str
        pattern: str
        text: Callable[..., str | None]
        completions: dict[str, list[str]]

        def described(self) -> Message: ...

    class Task(Protocol):
        """A tool call that goes on after it was answered; `tasks.py` says what each method does."""

        server: Server
        identity: str
        status: str
        response: Message
        expires: float
        lock: RLock
        over: Event
        fetching: Event

        @property
        def call(self) -> Call: ...

        def described(self) -> Message: ...

        def start(self) -> None: ...

        def move(self, status: str, words: str) -> bool: ...

        def cancel(self) -> None: ...

        def fetch(self, channel: Channel) -> None: ...

        def unfetch(self) -> None: ...

    class Work(Protocol):
        """A task of the extension; `task_extension.py` says what each method does."""

        server: Server
        owner: str
        identity: str
        tool: Tool
        status: str
        words: str
        expires: float
        asked: dict[str, Message]
        lock: RLock
        over: Event

        @property
        def call(self) -> Call: ...

        def described(self) -> Message: ...

        def detailed(self) -> Message: ...

        def move(self, status: str, words: str, payload: Message | None = None) -> None: ...

        def start(self) -> None: ...

        def take(self, responses: Message) -> None: ...

        def cancel(self) -> None: ...

    class Peer(Protocol):
        """The client that calls come from; `peer.py` says what each method does."""

        unsolicited: Channel
        revision: str | None
        level: str
        subscribed: set[str]
        running: dict[Any, Call]
        roots: list[Any] | None
        tasks: dict[str, Task]
        user: str

        @property
        def server(self) -> Server: ...

        def initialize(self, call: Call) -> Message: ...

        def ask(self, call: Call, requests: dict[str, Message], with_state: bool) -> dict[str, Message]: ...

        def refusal(self, missing: Message) -> Exception: ...

        def keep_roots(self, call: Call, roots: list[Any]) -> None: ...

        def may_log(self, call: Call, level: str) -> bool: ...

        def listen(self, call: Call) -> Message | None: ...

        def cancel(self, request_id: Any) -> None: ...

        def announce(self, kind: str) -> None: ...

        def update(self, uri: str) -> None: ...

        def task_changed(self, work: Work) -> None: ...

        def close(self, cancelling: bool = False) -> None: ...

    class Server(Protocol):
        """The server as calls know it; `server.py` says what each method does and what stands at each seam."""

        tools: dict[str, Tool]
        resources: dict[str, Resource]
        templates: dict[str, Template]
        prompts: dict[str, Prompt]
        touched: int
        lock: RLock
        peers: list[Peer]
        same_user: Callable[[str, str], bool]
        state_user: Callable[[Call], str]
        page_size: int
        rounds: int
        fetch_timeout: float
        handle: Callable[[Call], Message | None]
        missing_capability: Callable[[Call, Message], Message | None]
        ask: Callable[[Call, dict[str, Message], bool], dict[str, Message]]
        problem: Callable[[Any, Message], str | None]
        shape: Callable[[str, Message, str], Message]
        cursor: Callable[[str, int], str]
        offset: Callable[[str, str], int]
        task_id: Callable[[], str]
        create_task: Callable[[Call, Tool], Message]
        task_outcome: Callable[[Message], str]
        need_input: Callable[[Task], None]
        await_task: Callable[[Call, Task], None]
        works: dict[str, Work]
        create_work: Callable[[Call, Tool], Message]
        end_work: Callable[[Work, Message], None]
        question_key: Callable[[str, int], str]
        tell_of_work: Callable[[Call, Message], None]
        check_task_client: Callable[[Call], None]

        @property
        def handshake_revisions(self) -> tuple[str, ...]: ...

        @property
        def stateless_revisions(self) -> tuple[str, ...]: ...

        def declares(self, feature: str) -> bool: ...

        def knows(self, call: Call) -> bool: ...

        def capabilities(self) -> Message: ...

        def send(self, channel: Channel, message: Any, call: Call | None = None) -> None: ...

        def announce(self, kind: str) -> None: ...

        def update(self, uri: str) -> None: ...


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
