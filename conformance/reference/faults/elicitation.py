"""Faults in what is asked of the user."""

from __future__ import annotations

from conformance.reference.call import Call, missing_capability
from conformance.reference.fault import Fault, drop, on_question, sending, setting
from conformance.reference.wire import Message, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.fault import Apply


def _nested(params: Message) -> None:
    if "requestedSchema" in params:
        params["requestedSchema"]["properties"]["home"] = {
            "type": "object",
            "properties": {"street": {"type": "string"}},
        }


def _same_again(message: Message, call: Call | None) -> list[Message]:
    if message.get("method") == "elicitation/create" and "elicitationId" in message["params"]:
        return [message, {**message, "id": f"{message['id']}-again"}]
    return [message]


def _completing(params: Message) -> Apply:
    """Say that an elicitation is over, with these params."""

    def complete(message: Message, call: Call | None) -> list[Message]:
        consent = call is not None and call.method == "tools/call" and call.params.get("name") == "ask_consent"
        if consent and "result" in message and "method" not in message:
            return [notification("notifications/elicitation/complete", params), message]
        return [message]

    return sending(complete)


def _consent_of_anybody(call: Call, request: Message) -> Message | None:
    consent = request.get("params", {}).get("url", "").endswith("/consent")
    return None if consent and call.client else missing_capability(call, request)


def _form_of_anybody(call: Call, request: Message) -> Message | None:
    """Take a client that declared URL mode alone for one that shows forms."""
    form = request["method"] == "elicitation/create" and "url" not in request.get("params", {})
    return None if form and call.client.get("elicitation") else missing_capability(call, request)


FAULTS = (
    Fault(
        "form-nested",
        "elicitation/form-schema-flat elicitation/form-shape",
        "an elicitation form has a nested object",
        on_question("elicitation/create", _nested),
        since="2025-06-18",
    ),
    Fault(
        "form-without-message",
        "elicitation/form-shape elicitation/url-shape",
        "elicitation requests have no message",
        on_question("elicitation/create", lambda params: drop(params, "message")),
        since="2025-06-18",
    ),
    Fault(
        "url-relative",
        "elicitation/url-valid elicitation/url-https elicitation/url-shape",
        "URL elicitation names a path instead of a URL",
        on_question("elicitation/create", lambda params: params.update(url="/consent") if "url" in params else None),
        since="2025-11-25",
    ),
    Fault(
        "url-plain-http",
        "elicitation/url-https",
        "URL elicitation uses http",
        on_question(
            "elicitation/create",
            lambda params: params.update(url="http://example.com/consent") if "url" in params else None,
        ),
        since="2025-11-25",
    ),
    Fault(
        "elicitation-id-reused",
        "elicitation/id-unique",
        "a URL elicitation is sent twice, with the same elicitationId",
        sending(_same_again),
        since="2025-11-25",
        until="2025-11-25",
    ),
    Fault(
        "completes-unknown-elicitation",
        "elicitation/complete-names-known-id",
        "the end of an elicitation is told for one that never was",
        _completing({"elicitationId": "never"}),
        since="2025-11-25",
        until="2025-11-25",
    ),
    Fault(
        "completes-nameless-elicitation",
        "elicitation/complete-names-known-id",
        "the end of an elicitation is told without its id",
        _completing({}),
        since="2025-11-25",
        until="2025-11-25",
    ),
    Fault(
        "elicits-by-url-undeclared",
        "elicitation/mode-declared discovery/only-declared-client-capabilities",
        "URL mode is used with clients that declared only forms",
        setting("missing_capability", _consent_of_anybody),
        since="2025-11-25",
    ),
    Fault(
        "elicits-by-form-undeclared",
        "elicitation/mode-declared discovery/only-declared-client-capabilities",
        "forms are used with clients that declared only URL mode",
        setting("missing_capability", _form_of_anybody),
        since="2025-11-25",
    ),
)
