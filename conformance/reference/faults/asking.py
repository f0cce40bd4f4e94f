"""Faults against the rules about what a server asks of its client: forms, URLs, models with tools, roots."""

from __future__ import annotations

from conformance.reference import agents
from conformance.reference import asking as correct
from conformance.reference.call import Call, NoAnswer, missing_capability
from conformance.reference.fault import (
    Fault,
    code,
    die,
    drop,
    on_error,
    on_question,
    setting,
)
from conformance.reference.handshake import Session
from conformance.reference.server import Server
from conformance.reference.shape import text
from conformance.reference.wire import Message, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
ROOTS = "roots/list"
NEEDS_ACCOUNT = "This tool needs an account"
FOREVER = 3600.0


def undeclared_use(method: str) -> Apply:
    """Ask for `method` whether or not the client declared that it can do it."""

    def missing(call: Call, request: Message) -> Message | None:
        params = request.get("params", {})
        plain = request["method"] == method and "tools" not in params and params.get("mode", "form") == "form"
        return None if plain else missing_capability(call, request)

    return setting("missing_capability", missing)


def on_reply(method: str, react: Callable[[Call, Any], Any]) -> Apply:
    """Do `react` when the client answers `method`: to its result, or to None if there is only an error."""

    def apply(server: Server) -> None:
        proceed = server.ask

        def ask(call: Call, requests: dict[str, Message], with_state: bool) -> dict[str, Message]:
            concerned = [key for key, request in requests.items() if request["method"] == method]
            try:
                replies = proceed(call, requests, with_state)
            except NoAnswer as reason:
                if concerned and "refused" in str(reason):
                    react(call, None)
                raise
            for key in concerned:
                react(call, replies[key])
            return replies

        server.ask = ask

    return apply


def on_action(action: str, react: Callable[[Call], Any]) -> Apply:
    """Do `react` when the user answers a form or a URL by `action`."""
    return on_reply(ELICIT, lambda call, reply: react(call) if reply and reply["action"] == action else None)


def on_refusal(method: str, react: Callable[[Call], Any]) -> Apply:
    """Do `react` when the client answers `method` by an error."""
    return on_reply(method, lambda call, reply: react(call) if reply is None else None)


def hang(call: Call) -> None:
    """Never go on, unless the call is cancelled."""
    call.pause(FOREVER)


def _field(name: str, schema: Message) -> Apply:
    """One more property in each form."""

    def add(params: Message) -> None:
        if "requestedSchema" in params:
            params["requestedSchema"]["properties"][name] = schema

    return on_question(ELICIT, add)


def _form(**members: Any) -> Apply:
    return on_question(ELICIT, lambda params: params.update(members) if "requestedSchema" in params else None)


def _url(url: str) -> Apply:
    return on_question(ELICIT, lambda params: params.update(url=url) if "url" in params else None)


def _unchecked(server: Server) -> None:
    setattr(correct, "problem", lambda value, schema, path: None)  # noqa: B010  (it is an import there)


def _listed(change: Callable[[Message], Any]) -> Apply:
    """Change the elicitation that the error -32042 lists."""
    return on_error(NEEDS_ACCOUNT, lambda message, call: change(message["error"]["data"]["elicitations"][0]))


def _account_undeclared(server: Server) -> None:
    def missing(call: Call, request: Message) -> Message | None:
        connect = request.get("params", {}).get("message", "").startswith("Please connect")
        return None if connect else missing_capability(call, request)

    server.missing_capability = missing


def _answered_by_anybody(server: Server) -> None:
    """An answer counts from whatever session it comes."""
    answered = Session.answered

    def from_anybody(self: Session, response: Message) -> None:
        for peer in [self, *server.peers]:
            if isinstance(peer, Session) and is_id(response.get("id")) and response["id"] in peer.questions:
                answered(peer, response)

    setattr(Session, "answered", from_anybody)  # noqa: B010  (a method cannot be assigned to)


def _die_of_unknown_content(call: Call, reply: Any) -> None:
    content = reply["content"] if reply else {}
    if isinstance(content, dict) and content.get("type") not in (None, "text", "image", "audio", "tool_use"):
        die()


def _with_results(change: Callable[[list[Message]], Any]) -> Apply:
    """Change the lists of tool results for the model."""

    def change_messages(params: Message) -> None:
        for message in params["messages"]:
            content = message["content"]
            if isinstance(content, list) and content and content[0]["type"] == "tool_result":
                change(content)

    return on_question(SAMPLE, change_messages)


def _cold(results: list[Message]) -> None:
    results[0]["structuredContent"] = {"degrees": "cold"}


def _anywhere(server: Server) -> None:
    from pathlib import Path

    agents.place_of = lambda root: Path("/")


def _die_without_roots(call: Call, reply: Any) -> None:
    if not reply or not reply["roots"]:
        die()


def at_change(act: Callable[[Session], Any]) -> Apply:
    """Do `act` when the client says that its roots have changed."""

    def notified(peer: Any, method: str, channel: Any) -> None:
        if method == "notifications/roots/list_changed":
            act(peer)

    return lambda server: server.notified.append(notified)


FAULTS = (
    Fault(
        "elicits-undeclared",
        "elicitation/capability-required",
        "the user is asked by forms although the client did not declare elicitation",
        undeclared_use(ELICIT),
        since="2025-06-18",
    ),
    Fault(
        "samples-undeclared",
        "sampling/capability-required",
        "the model is asked although the client did not declare sampling",
        undeclared_use(SAMPLE),
    ),
    Fault(
        "roots-undeclared",
        "roots/capability-checked",
        "roots are asked for although the client did not declare them",
        undeclared_use(ROOTS),
        until="2025-03-26",
    ),
    Fault(
        "roots-undeclared-since",
        "discovery/only-declared-client-capabilities roots/capability-checked",
        "roots are asked for although the client did not declare them, where that says MUST",
        undeclared_use(ROOTS),
        since="2025-06-18",
    ),
    Fault(
        "hangs-on-decline",
        "elicitation/all-actions-handled",
        "a call never ends if the user declines",
        on_action("decline", hang),
        since="2025-06-18",
    ),
    Fault(
        "internal-error-on-decline",
        "elicitation/success-not-assumed",
        "a call fails by an internal error if the user declines",
        on_action("decline", lambda call: call.answers["nobody"]),
        since="2026-07-28",
    ),
    Fault(
        "form-unchecked",
        "elicitation/content-validated",
        "content that does not fit the form is taken as it is",
        _unchecked,
        since="2025-06-18",
    ),
    Fault(
        "form-asks-password",
        "elicitation/no-secrets-in-forms",
        "a form asks for a password",
        _field("password", {"type": "string", "title": "Your password"}),
        since="2025-06-18",
    ),
    Fault(
        "form-asks-api-key",
        "elicitation/no-secrets-in-forms",
        "a form asks for an API key, under a name that does not say so",
        _field("value", {"type": "string", "title": "OpenAI API key"}),
        since="2025-06-18",
    ),
    Fault(
        "form-with-link",
        "elicitation/no-clickable-urls-in-form",
        "the message of a form has a link",
        _form(message="Who are you? See https://modelcontextprotocol.io/specification"),
        since="2025-11-25",
    ),
    Fault(
        "url-with-address",
        "elicitation/url-without-user-data",
        "the url of an elicitation holds the user's address",
        _url("https://example.com/consent?user=ada%40example.org"),
        since="2025-11-25",
    ),
    Fault(
        "url-with-token",
        "elicitation/url-without-user-data",
        "the url of an elicitation holds an access token",
        _url("https://example.com/consent?access_token=0123456789abcdef"),
        since="2025-11-25",
    ),
    Fault(
        "url-required-other-code",
        "elicitation/url-required-error-code",
        "a request that needs a URL to be opened first is refused with -32000",
        code(NEEDS_ACCOUNT, -32000),
        only="2025-11-25",
    ),
    Fault(
        "url-required-without-list",
        "elicitation/url-required-error-only-then",
        "the error -32042 has no data",
        on_error(NEEDS_ACCOUNT, lambda message, call: drop(message["error"], "data")),
        only="2025-11-25",
    ),
    Fault(
        "url-required-undeclared",
        "elicitation/url-required-error-only-then",
        "the error -32042 is given to clients that cannot open URLs",
        _account_undeclared,
        only="2025-11-25",
    ),
    Fault(
        "url-required-without-id",
        "elicitation/url-required-error-data",
        "the error -32042 lists an elicitation without elicitationId",
        _listed(lambda each: drop(each, "elicitationId")),
        only="2025-11-25",
    ),
    Fault(
        "url-required-by-form",
        "elicitation/url-required-error-data",
        "the error -32042 lists an elicitation in form mode",
        _listed(lambda each: each.update(mode="form", requestedSchema=correct.FORM)),
        only="2025-11-25",
    ),
    Fault(
        "answered-by-anybody",
        "elicitation/bound-to-client-and-user",
        "a session takes the answers that another one gives",
        _answered_by_anybody,
        only="2025-11-25",
        transports="http",
    ),
    Fault(
        "dies-of-refused-model",
        "sampling/rejection-survived",
        "the server ends when the user refuses the use of the model",
        on_refusal(SAMPLE, die),
        until="2025-11-25",
    ),
    Fault(
        "dies-of-unknown-content",
        "sampling/content-validated",
        "the server ends when the model answers with content of a type that it does not know",
        on_reply(SAMPLE, _die_of_unknown_content),
    ),
    Fault(
        "samples-with-context",
        "sampling/include-context-avoided",
        "requests to the model include the context of this server",
        on_question(SAMPLE, lambda params: params.update(includeContext="thisServer")),
        since="2025-11-25",
    ),
    Fault(
        "tool-loop-endless",
        "sampling/tool-loop-limited",
        "the model may call tools without end",
        setting("rounds", 1 << 30),
        since="2025-11-25",
    ),
    Fault(
        "tool-use-unanswered",
        "sampling/every-tool-use-answered",
        "of several tool uses at once only the first is answered",
        _with_results(lambda results: results.__delitem__(slice(1, None))),
        since="2025-11-25",
    ),
    Fault(
        "tool-results-with-text",
        "sampling/tool-results-stand-alone",
        "a text stands beside the tool results",
        _with_results(lambda results: results.append(text("Go on."))),
        since="2025-11-25",
    ),
    Fault(
        "tool-result-misfits",
        "sampling/tool-result-structured-conforms",
        "the structured content of a tool result for the model does not fit",
        _with_results(_cold),
        since="2025-11-25",
    ),
    Fault(
        "dies-without-roots",
        "roots/unavailable-roots-handled",
        "the server ends when there are no roots",
        on_reply(ROOTS, _die_without_roots),
    ),
    Fault(
        "dies-of-changed-roots",
        "roots/list-change-handled",
        "the server ends when the roots change",
        at_change(die),
        until="2025-11-25",
    ),
    Fault(
        "reads-outside-roots",
        "roots/boundaries-respected",
        "a tool reads files wherever they are",
        _anywhere,
        until="2025-11-25",
    ),
)
