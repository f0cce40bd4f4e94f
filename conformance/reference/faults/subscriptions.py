"""Faults in subscriptions."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.fault import (
    Fault,
    code,
    drop,
    failing,
    forgiving,
    instead,
    keep_silent,
    on_notification,
    on_response,
    on_result,
    sending,
)
from conformance.reference.wire import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    SUBSCRIPTION,
    Message,
    RpcError,
    notification,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Proceed

NEW = "2026-07-28"
ACK = "notifications/subscriptions/acknowledged"


def _late_acknowledgment(message: Message, call: Call | None) -> Any:
    changed = notification("notifications/tools/list_changed", {"_meta": message["params"]["_meta"]})
    return [changed, message]


def _unacknowledged_if_empty(message: Message, call: Call | None) -> Any:
    return message if message["params"]["notifications"] else []


def _everything(message: Message, call: Call | None) -> None:
    granted = message["params"]["notifications"]
    granted.update(toolsListChanged=True, promptsListChanged=True, resourcesListChanged=True)


def _subscription_text(message: Message, call: Call | None) -> None:
    meta = message.get("params", {}).get("_meta", {})
    if SUBSCRIPTION in meta:
        meta[SUBSCRIPTION] = f"subscription-{meta[SUBSCRIPTION]}"


def _subscription_unnamed(message: Message, call: Call | None) -> None:
    drop(message.get("params", {}).get("_meta", {}), SUBSCRIPTION)


def _unsolicited(message: Message, call: Call) -> Any:
    return [notification("notifications/tools/list_changed"), message]


def _one_listener(call: Call, proceed: Proceed) -> Message | None:
    if any(getattr(peer, "listeners", None) for peer in call.server.peers):
        raise RpcError(INTERNAL_ERROR, "Internal error: there is a subscription already")
    return proceed(call)


def _members_as_asked(call: Call, proceed: Proceed) -> Message | None:
    wanted = call.params.get("notifications")
    if isinstance(wanted, dict):
        wanted.update({name: True for name in wanted if name.endswith("ListChanged")})
    return proceed(call)


def _any_filter(call: Call) -> bool:
    return call.method == "subscriptions/listen"


def _more_uris(granted: Message) -> None:
    granted["resourceSubscriptions"] = [*granted.get("resourceSubscriptions", []), "reference://other"]


def _unnamed_change(message: Message, call: Call | None) -> None:
    if message["method"].endswith("/list_changed"):
        _subscription_unnamed(message, call)


def _subscription_as_text(message: Message, call: Call | None) -> None:
    meta = message.get("params", {}).get("_meta", {})
    if SUBSCRIPTION in meta:
        meta[SUBSCRIPTION] = str(meta[SUBSCRIPTION])


def _subscription_as_number(message: Message, call: Call | None) -> None:
    meta = message.get("params", {}).get("_meta", {})
    if str(meta.get(SUBSCRIPTION)).isdecimal():
        meta[SUBSCRIPTION] = int(meta[SUBSCRIPTION])


def _zero_is_none(call: Call, proceed: Proceed) -> Message | None:
    if not call.id:
        raise RpcError(INVALID_REQUEST, "Invalid request: a subscription needs an id")
    return proceed(call)


def _without_prompt_changes(result: Message, call: Call) -> None:
    result["capabilities"]["prompts"] = {}


CONCURRENT = "subscriptions/concurrent-subscriptions-independent"

FAULTS = (
    Fault(
        "listen-unknown",
        "subscriptions/listen-supported",
        "subscriptions/listen is an unknown method although list changes are declared",
        failing("subscriptions/listen", METHOD_NOT_FOUND),
        since=NEW,
    ),
    Fault(
        "subscription-result-untyped",
        "jsonrpc/result-type-present",
        "the result of a subscription has no type",
        on_result(("subscriptions/listen",), lambda result, call: drop(result, "resultType")),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "acknowledgment-late",
        "subscriptions/acknowledged-first",
        "a change is announced before the acknowledgment",
        on_notification(ACK, _late_acknowledgment),
        since=NEW,
    ),
    Fault(
        "subscription-to-nothing-unacknowledged",
        "subscriptions/acknowledged-first",
        "a subscription whose filter is empty is not acknowledged",
        on_notification(ACK, _unacknowledged_if_empty),
        since=NEW,
    ),
    Fault(
        "acknowledgment-empty",
        "subscriptions/acknowledgment-shape",
        "the acknowledgment says nothing",
        on_notification(ACK, lambda message, call: drop(message["params"], "notifications")),
        since=NEW,
    ),
    Fault(
        "acknowledgment-generous",
        "subscriptions/acknowledgment-within-request",
        "the acknowledgment grants more than was requested",
        on_notification(ACK, _everything),
        since=NEW,
    ),
    Fault(
        "subscription-id-text",
        "subscriptions/subscription-id-equals-request-id subscriptions/acknowledged-first"
        " subscriptions/listen-supported",
        "the subscription id is not the id of the request",
        sending(_subscription_text),
        since=NEW,
    ),
    Fault(
        "subscription-id-missing",
        "subscriptions/subscription-id-present subscriptions/acknowledged-first subscriptions/listen-supported"
        " subscriptions/no-unsolicited-changes",
        "notifications of a subscription do not carry its id",
        sending(_subscription_unnamed),
        since=NEW,
    ),
    Fault(
        "changes-unsolicited",
        "subscriptions/no-unsolicited-changes transport-http/sse-notifications-related",
        "tool calls announce changes to those who do not listen",
        on_response(("tools/call",), _unsolicited),
        since=NEW,
    ),
    Fault(
        "one-subscription-only",
        "subscriptions/concurrent-subscriptions-independent",
        "a second subscription is refused",
        instead("subscriptions/listen", _one_listener),
        since=NEW,
    ),
    Fault(
        "false-taken-for-true",
        "subscriptions/acknowledgment-within-request subscriptions/requested-types-only",
        "a list whose member in the filter is false counts as asked for",
        instead("subscriptions/listen", _members_as_asked),
        since=NEW,
    ),
    Fault(
        "filter-not-needed",
        "subscriptions/filter-required",
        "a subscription without filter is not refused",
        forgiving(_any_filter, keep_silent),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "filter-refused-otherwise",
        "subscriptions/filter-required",
        "a subscription without filter gives -32603",
        code("Invalid params: params.notifications is required", INTERNAL_ERROR),
        since=NEW,
    ),
    Fault(
        "acknowledgment-of-other-uris",
        "subscriptions/acknowledgment-within-request",
        "the acknowledgment grants resources that were not requested",
        on_notification(ACK, lambda message, call: _more_uris(message["params"]["notifications"])),
        since=NEW,
    ),
    Fault(
        "acknowledges-undeclared",
        "subscriptions/acknowledgment-omits-unsupported",
        "changes of prompts are acknowledged, though they are not declared",
        on_result(("server/discover",), _without_prompt_changes),
        since=NEW,
    ),
    Fault(
        "listen-answered-without-acknowledgment",
        f"subscriptions/listen-supported {CONCURRENT}",
        "subscriptions/listen is answered by an empty result, and never acknowledged",
        instead("subscriptions/listen", lambda call, proceed: {"_meta": {SUBSCRIPTION: call.id}}),
        since=NEW,
    ),
    Fault(
        "subscription-id-missing-in-tasks",
        "subscriptions/subscription-id-present",
        "notifications/tasks does not carry the subscription id",
        on_notification("notifications/tasks", _subscription_unnamed),
        since=NEW,
    ),
    Fault(
        "subscription-id-missing-in-changes",
        "subscriptions/subscription-id-present tools/list-change-announced-to-subscribers"
        " resources/list-change-announced-to-subscribers prompts/list-change-announced-to-subscribers",
        "the acknowledgment carries the subscription id, changes of lists do not",
        on_notification("notifications/", _unnamed_change),
        since=NEW,
    ),
    Fault(
        "subscription-id-as-text",
        "subscriptions/subscription-id-equals-request-id",
        "the subscription id is a string where the id of the request is a number",
        sending(_subscription_as_text),
        since=NEW,
    ),
    Fault(
        "subscription-id-as-number",
        "subscriptions/subscription-id-equals-request-id",
        "the subscription id is a number where the id of the request is text of digits",
        sending(_subscription_as_number),
        since=NEW,
    ),
    Fault(
        "zero-refused-by-subscriptions",
        "jsonrpc/response-id-echoed",
        "subscriptions/listen with the id 0 is refused",
        instead("subscriptions/listen", _zero_is_none),
        since=NEW,
    ),
)
