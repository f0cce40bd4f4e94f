"""Faults that real servers have in what they ask of their clients, and in what they do with the answers."""

from __future__ import annotations

from threading import Event

from conformance.reference.call import Call, missing_capability
from conformance.reference.fault import Fault, die, on_question, on_tool, sending, several
from conformance.reference.faults.asking import (
    ELICIT,
    ROOTS,
    SAMPLE,
    at_change,
    hang,
    on_action,
    on_refusal,
    on_reply,
)
from conformance.reference.handshake import Session
from conformance.reference.server import Server
from conformance.reference.shape import text
from conformance.reference.wire import Message, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply

HOME: Message = {"type": "object", "properties": {"street": {"type": "string"}}}


def _field(schema: Message) -> Apply:
    """One more property in each form, required by nobody."""

    def add(params: Message) -> None:
        if "requestedSchema" in params:
            params["requestedSchema"]["properties"]["more"] = schema

    return on_question(ELICIT, add)


def _schema(change: Callable[[Message], Any]) -> Apply:
    return on_question(
        ELICIT, lambda params: change(params["requestedSchema"]) if "requestedSchema" in params else None
    )


def _sampled(change: Callable[[Message], Any]) -> Apply:
    return on_question(SAMPLE, change)


def _url(change: Callable[[Message], Any]) -> Apply:
    return on_question(ELICIT, lambda params: change(params) if "url" in params else None)


def _question(method: str, change: Callable[[Message], Any]) -> Apply:
    """Change the whole requests of one method."""

    def change_request(message: Message, call: Call | None) -> Any:
        return change(message) if message.get("method") == method and "id" in message else None

    return sending(change_request)


def _second_time(method: str) -> Apply:
    """Ask for `method` undeclared, but not when a tool is called for the first time."""
    called: dict[tuple[int, str], int] = {}

    def missing(call: Call, request: Message) -> Message | None:
        params = request.get("params", {})
        lacking = missing_capability(call, request)
        if lacking is None or request["method"] != method or "tools" in params or params.get("mode", "form") != "form":
            return lacking
        key = (id(call.peer), call.params["name"])
        called[key] = called.get(key, 0) + 1
        return lacking if called[key] == 1 else None

    return lambda server: setattr(server, "missing_capability", missing)


def _roots_instead(server: Server) -> None:
    """Ask for roots, declared or not, when the user does not answer the form."""

    def react(call: Call, reply: Any) -> None:
        if reply is None:
            call.peer.ask(call, {"roots": {"method": ROOTS}}, True)

    on_reply(ELICIT, react)(server)


def _as_accepted(call: Call, reply: Any) -> None:
    if reply and reply["action"] != "accept":
        reply.update(action="accept", content={"name": "stranger"})


def _welcome(result: Message) -> Message:
    return result if result.get("isError") else {**result, "content": [text("Welcome!")]}


def _own_answer(message: Message) -> list[Message]:
    return [message, {"jsonrpc": "2.0", "id": message["id"], "result": {}}]


def _block(peer: Any) -> None:
    """Ask for the new roots, and read nothing before the answer is there."""
    peer.server.send(peer.unsolicited, {"jsonrpc": "2.0", "id": "changed-roots", "method": ROOTS})
    Event().wait()


def _roots_at_start(server: Server) -> None:
    """Ask for roots as soon as the session is open, if there are any; do not survive an error."""
    answered = Session.answered

    def asked(peer: Any, method: str, channel: Any) -> None:
        if method == "notifications/initialized" and "roots" in peer.client:
            peer.server.send(peer.unsolicited, {"jsonrpc": "2.0", "id": "first-roots", "method": ROOTS})

    def fragile(self: Session, response: Message) -> None:
        if response.get("id") == "first-roots" and "error" in response:
            die()
        answered(self, response)

    server.notified.append(asked)
    setattr(Session, "answered", fragile)  # noqa: B010  (a method cannot be assigned to)


def _answer_change(peer: Any) -> None:
    peer.server.send(peer.unsolicited, {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Unknown"}})


def _forget_nothing(call: Call, reply: Any) -> None:
    """The list of roots must not be empty."""
    if reply is not None and not reply["roots"]:
        hang(call)


def _complete_at_once(message: Message) -> list[Message]:
    identifier = message["params"].get("elicitationId")
    if identifier is None:
        return [message]
    return [notification("notifications/elicitation/complete", {"elicitationId": identifier}), message]


FAULTS = (
    # the user
    Fault(
        "hangs-on-cancel",
        "elicitation/all-actions-handled",
        "a call never ends if the user cancels",
        on_action("cancel", hang),
        since="2025-06-18",
    ),
    Fault(
        "dies-of-decline",
        "elicitation/all-actions-handled",
        "the server ends if the user declines",
        on_action("decline", die),
        since="2025-06-18",
    ),
    Fault(
        "hangs-on-refused-form",
        "elicitation/all-actions-handled",
        "a call never ends if the client answers elicitation/create by an error",
        on_refusal(ELICIT, hang),
        since="2025-06-18",
        until="2025-11-25",
    ),
    Fault(
        "declined-is-accepted",
        "elicitation/all-actions-handled",
        "a user who declines is treated as one who accepts",
        several(on_reply(ELICIT, _as_accepted), on_tool("ask_name", _welcome)),
        since="2025-06-18",
    ),
    Fault(
        "elicits-at-second-call",
        "elicitation/capability-required",
        "the user is asked although the client did not declare it, but not by the first call of a tool",
        _second_time(ELICIT),
        since="2025-06-18",
    ),
    Fault(
        "samples-at-second-call",
        "sampling/capability-required",
        "the model is asked although the client did not declare it, but not by the first call of a tool",
        _second_time(SAMPLE),
    ),
    Fault(
        "roots-instead-of-form",
        "discovery/only-declared-client-capabilities roots/capability-checked",
        "roots are asked for, declared or not, once the client has answered a form by an error",
        _roots_instead,
        since="2025-06-18",
        until="2025-11-25",
    ),
    # forms
    Fault(
        "form-optional-by-any-of",
        "elicitation/form-schema-flat elicitation/form-shape",
        "an optional property of a form is anyOf text and null",
        _field({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        since="2025-06-18",
    ),
    Fault(
        "form-refers",
        "elicitation/form-schema-flat elicitation/form-shape",
        "a property of a form is a $ref",
        several(_field({"$ref": "#/$defs/home"}), _schema(lambda form: form.update({"$defs": {"home": HOME}}))),
        since="2025-06-18",
    ),
    Fault(
        "form-of-objects",
        "elicitation/form-schema-flat elicitation/form-shape",
        "a property of a form is a list of objects",
        _field({"type": "array", "items": HOME}),
        since="2025-06-18",
    ),
    Fault(
        "form-format-unknown",
        "elicitation/form-schema-flat elicitation/form-shape",
        "a property of a form has the format phone",
        _field({"type": "string", "format": "phone"}),
        since="2025-06-18",
    ),
    Fault(
        "form-without-type",
        "elicitation/form-shape",
        "the schema of a form has no type",
        _schema(lambda form: form.pop("type")),
        since="2025-06-18",
    ),
    Fault(
        "form-is-text",
        "elicitation/form-shape",
        "the schema of a form is JSON in a string",
        on_question(
            ELICIT, lambda params: params.update(requestedSchema="{}") if "requestedSchema" in params else None
        ),
        since="2025-06-18",
    ),
    Fault(
        "url-without-id",
        "elicitation/url-shape",
        "a URL elicitation has no elicitationId",
        _url(lambda params: params.pop("elicitationId", None)),
        only="2025-11-25",
    ),
    Fault(
        "completes-before-asking",
        "elicitation/complete-names-known-id",
        "the end of an elicitation is told before it is asked for",
        _question(ELICIT, _complete_at_once),
        only="2025-11-25",
    ),
    # the model
    Fault(
        "hangs-on-refused-model",
        "sampling/rejection-survived",
        "a call never ends if the user refuses the use of the model",
        on_refusal(SAMPLE, hang),
        until="2025-11-25",
    ),
    Fault(
        "samples-as-system",
        "sampling/request-shape",
        "a message to the model has the role system",
        _sampled(lambda params: params["messages"][0].update(role="system")),
    ),
    Fault(
        "samples-bare-text",
        "content/known-types sampling/request-shape",
        "the content of a message to the model is a string",
        _sampled(lambda params: params["messages"][0].update(content="Say hello.")),
    ),
    Fault(
        "samples-one-message",
        "sampling/request-shape",
        "the messages to the model are one object instead of a list",
        _sampled(lambda params: params.update(messages=params["messages"][0])),
    ),
    Fault(
        "samples-limit-text",
        "sampling/request-shape",
        "maxTokens is a string",
        _sampled(lambda params: params.update(maxTokens="100")),
    ),
    Fault(
        "samples-priority-high",
        "sampling/request-shape",
        "a model preference is greater than 1",
        _sampled(lambda params: params.update(modelPreferences={"speedPriority": 5})),
    ),
    Fault(
        "samples-context-all",
        "sampling/request-shape",
        "includeContext has a value that there is not",
        _sampled(lambda params: params.update(includeContext="all")),
    ),
    Fault(
        "samples-null-options",
        "sampling/request-shape",
        "options that are not used are null",
        _sampled(lambda params: params.update(temperature=None)),
    ),
    # roots
    Fault(
        "hangs-without-roots",
        "roots/unavailable-roots-handled",
        "a call never ends if there are no roots",
        on_reply(ROOTS, _forget_nothing),
    ),
    Fault(
        "hangs-on-refused-roots",
        "roots/unavailable-roots-handled",
        "a call never ends if the client answers roots/list by an error",
        on_refusal(ROOTS, hang),
        until="2025-11-25",
    ),
    Fault(
        "dies-of-refused-roots-at-start",
        "roots/unavailable-roots-handled",
        "the server asks for roots at its start, and ends if that is answered by an error",
        _roots_at_start,
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "blocks-on-changed-roots",
        "roots/list-change-handled transport-stdio/exits-on-stdin-close-implied",
        "the server waits for the new roots and reads nothing, not even them",
        at_change(_block),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "answers-changed-roots",
        "jsonrpc/notification-never-answered",
        "notifications/roots/list_changed is answered by an error",
        at_change(_answer_change),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "roots-params-list",
        "jsonrpc/valid-messages roots/request-shape",
        "the params of roots/list are a list",
        _question(ROOTS, lambda message: message.update(params=[])),
        until="2025-11-25",
    ),
    # ids
    Fault(
        "answers-itself",
        "jsonrpc/response-id-echoed",
        "the server answers its own requests",
        _question(ROOTS, _own_answer),
        until="2025-11-25",
    ),
    Fault(
        "asks-with-object-id",
        "jsonrpc/server-request-id-valid cancellation/shape cancellation/own-requests-only",
        "the ids of the server's requests are objects",
        _question(ROOTS, lambda message: message.update(id={"n": message["id"]})),
        until="2025-11-25",
    ),
)
