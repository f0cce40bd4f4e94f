"""Faults in resources."""

from __future__ import annotations

import os

from conformance.reference.call import Call
from conformance.reference.fault import (
    OPENING,
    Fault,
    code,
    drop,
    dropped,
    failing,
    forgiving,
    instead,
    on_item,
    on_notification,
    on_result,
    several,
    undeclared,
)
from conformance.reference.resources import COUNTER, Resource, not_found
from conformance.reference.wire import METHOD_NOT_FOUND, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

NOTES = "file:///reference/notes.txt"
SHAPE = "resources/list-shape"
TEMPLATES = "resources/templates-list-shape"
READ = "resources/read-shape"
README = "reference://text/readme"
ITEMS = "reference://items/{number}"
UPDATED = "notifications/resources/updated"
ITEM = "reference://items/"
NOT_FOUND = "resources/not-found-32002 resources/not-found-32602 resources/not-found-never-empty-contents"


def _listed(name: str, value: Any) -> Apply:
    return on_item("resources/list", README, lambda item: item.update({name: value}))


def _template(name: str, value: Any) -> Apply:
    return on_item("resources/templates/list", ITEMS, lambda item: item.update({name: value}))


def _items(change: Callable[[Message], Any]) -> Apply:
    """Change what is read of the URIs that a template makes."""
    return on_result(("resources/read",), lambda result, call: change(result) if ITEM in call.params["uri"] else None)


def _first_item() -> Apply:
    first: list[str] = []

    def change(result: Message) -> None:
        first.append(result["contents"][0]["uri"])
        result["contents"][0]["uri"] = first[0]

    return _items(change)


def _contents(change: Callable[[Message], Any]) -> Apply:
    """Change each item of `contents`."""

    def change_all(result: Message, call: Call) -> None:
        for item in result["contents"]:
            change(item)

    return on_result(("resources/read",), change_all)


def _extra(uri: str) -> Apply:
    def apply(server: Server) -> None:
        server.resources[uri] = Resource(uri, "Another text", "text/plain", lambda server: [{"text": "Here I am."}])

    return apply


def _first_twice(result: Message, call: Call) -> None:
    result["resources"].append(result["resources"][0])


def _data_uri(item: Message) -> None:
    if "blob" in item:
        item["blob"] = f"data:image/png;base64,{item['blob']}"


def _missing(call: Call) -> bool:
    return call.method == "resources/read" and "uri" in call.params


def _missing_of_ours(call: Call) -> bool:
    return _missing(call) and str(call.params["uri"]).startswith("reference://text")


def _unreadable(call: Call, proceed: Proceed) -> Message | None:
    raise not_found(call, call.params.get("uri", ""))


def _no_subscribe(result: Message, call: Call) -> None:
    result["capabilities"]["resources"].pop("subscribe")


def _not_among_several(call: Call, proceed: Proceed) -> Message | None:
    if COUNTER not in call.peer.subscribed or len(call.peer.subscribed) < 2 or call.params.get("uri") != COUNTER:
        return proceed(call)
    return {}


def _everyone(server: Server) -> None:
    def told(call: Call, proceed: Proceed) -> Message | None:
        subscribed = call.peer.subscribed
        call.peer.subscribed = subscribed | {COUNTER} if call.params.get("name") == "touch_resource" else subscribed
        try:
            return proceed(call)
        finally:
            call.peer.subscribed = subscribed

    instead("tools/call", told)(server)


def _anything(call: Call) -> Message:
    return {"contents": [{"uri": call.params["uri"], "mimeType": "text/plain", "text": "Nothing in particular."}]}


def _nonsense(call: Call) -> bool:
    return _missing(call) and ":" not in str(call.params["uri"])


def _last_subscription_only(call: Call, proceed: Proceed) -> Message | None:
    call.peer.subscribed.clear()
    return proceed(call)


def _one_unknown(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("uri") == NOTES:
        raise not_found(call, NOTES)
    return proceed(call)


def _one_unknown_in_brief(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("uri") == NOTES:
        error = not_found(call, NOTES)
        raise RpcError(error.code, error.message)
    return proceed(call)


def _as_another(result: Message, call: Call) -> None:
    for item in result["contents"]:
        if item["uri"] == NOTES:
            item["uri"] = COUNTER


def _as_template(result: Message, call: Call) -> None:
    for item in result["contents"]:
        if item["uri"] == NOTES:
            item["uri"] = ITEMS


FAULTS = (
    Fault(
        "one-resource-unknown",
        "resources/listed-readable",
        "one of the listed resources is not found when it is read",
        instead("resources/read", _one_unknown),
    ),
    Fault(
        "one-resource-unknown-in-brief",
        "resources/listed-readable",
        "one of the listed resources is not found when it is read, and the error lacks the data that others have",
        instead("resources/read", _one_unknown_in_brief),
        until="2025-11-25",
    ),
    Fault(
        "contents-of-another",
        READ,
        "the contents of one resource have the URI of another",
        on_result(("resources/read",), _as_another),
    ),
    Fault(
        "contents-of-template",
        READ,
        "the contents of one resource have a template as URI",
        on_result(("resources/read",), _as_template),
    ),
    Fault(
        "resources-undeclared",
        "resources/capability-declared jsonrpc/undeclared-feature-refused discovery/only-declared-notifications"
        " tools/embedded-resource-needs-capability",
        "there are resources, but the capability is not declared",
        undeclared("resources"),
    ),
    Fault(
        "resources-list-unknown",
        "resources/methods-available",
        "resources/list is an unknown method",
        failing("resources/list", METHOD_NOT_FOUND),
    ),
    Fault(
        "resources-read-unknown",
        "resources/methods-available",
        "resources/read is an unknown method",
        failing("resources/read", METHOD_NOT_FOUND),
    ),
    Fault(
        "templates-list-unknown",
        "resources/templates-list-available jsonrpc/optional-params-may-be-absent pagination/invalid-cursor-refused"
        " pagination/invalid-cursor-survived",
        "resources/templates/list is an unknown method",
        failing("resources/templates/list", METHOD_NOT_FOUND),
    ),
    Fault("resource-mime-type-null", SHAPE, "a resource has mimeType: null", _listed("mimeType", None)),
    Fault("resource-without-name", SHAPE, "a resource has no name", _listed("name", None)),
    Fault("template-without-name", TEMPLATES, "a template's name is null", _template("name", None)),
    Fault(
        "resource-uri-without-scheme",
        f"resources/uri-valid {SHAPE} resources/listed-readable resources/internal-error-32603",
        "a listed resource has a URI without scheme",
        on_item("resources/list", "reference://text/empty", lambda item: item.update(uri="texts/empty.txt")),
    ),
    Fault(
        "resource-listed-twice",
        "resources/uri-unique",
        "the first resource of each page is listed twice",
        on_result(("resources/list",), _first_twice),
    ),
    Fault(
        "template-unbalanced",
        f"resources/template-valid {TEMPLATES}",
        "a URI template has an open brace only",
        _template("uriTemplate", "reference://items/{number"),
    ),
    Fault(
        "contents-without-uri",
        READ,
        "resource contents have no uri",
        _contents(lambda item: item.pop("uri")),
    ),
    Fault(
        "contents-empty-item",
        READ,
        "resource contents have neither text nor blob",
        _contents(lambda item: drop(item, "text", "blob")),
    ),
    Fault(
        "listed-not-found",
        "resources/listed-readable resources/methods-available resources/internal-error-32603"
        " jsonrpc/invalid-params-refused",
        "no listed resource is found",
        instead("resources/read", _unreadable),
    ),
    Fault(
        "blob-as-data-uri",
        f"resources/binary-base64 {READ}",
        "binary contents are a data: URI",
        _contents(_data_uri),
    ),
    Fault(
        "not-found-empty",
        f"{NOT_FOUND} resources/uri-inputs-validated",
        "a resource that does not exist has empty contents",
        forgiving(_missing, lambda call: {"contents": []}),
        until="2025-11-25",
    ),
    Fault(
        "not-found-code",
        NOT_FOUND,
        "a resource that does not exist gives -32603",
        code("Resource not found", -32603),
        until="2025-11-25",
    ),
    Fault(
        "not-found-empty-stateless",
        "resources/not-found-never-empty-contents resources/not-found-32602 resources/uri-inputs-validated",
        "a resource that does not exist has empty contents",
        forgiving(_missing, lambda call: {"contents": []}),
        since="2026-07-28",
    ),
    Fault(
        "not-found-empty-in-own-scheme",
        "resources/not-found-never-empty-contents",
        "a URI of the server's own scheme has empty contents if there is no such resource",
        several(
            lambda server: server.templates.clear(),
            forgiving(_missing_of_ours, lambda call: {"contents": []}),
        ),
        since="2026-07-28",
    ),
    Fault(
        "not-found-code-stateless",
        "resources/not-found-32602",
        "a resource that does not exist gives -32603",
        code("Resource not found", -32603),
        since="2026-07-28",
    ),
    Fault(
        "read-error-code",
        "resources/internal-error-32603",
        "a resource that cannot be read gives code 500",
        code("Internal error: this resource", 500),
    ),
    Fault(
        "nonsense-read",
        "resources/uri-inputs-validated",
        "what is no URI is read all the same",
        forgiving(_nonsense, _anything),
    ),
    Fault(
        "https-resource",
        "resources/https-only-if-fetchable",
        "a resource of the server's own has an https: URI",
        _extra("https://example.invalid/text"),
    ),
    Fault(
        "resources-change-unannounced",
        "resources/list-change-announced",
        "changes of the resource list are not announced",
        dropped("notifications/resources/list_changed"),
        until="2025-11-25",
    ),
    Fault(
        "resources-change-untold",
        "resources/list-change-announced-to-subscribers",
        "changes of the resource list are not announced",
        dropped("notifications/resources/list_changed"),
        since="2026-07-28",
    ),
    Fault(
        "resources-by-process",
        "resources/list-independent-of-connection",
        "every process lists a resource of its own",
        _extra(f"reference://process/{os.getpid()}"),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "subscribe-refused",
        "resources/subscribe-answered resources/update-announced",
        "resources/subscribe is an unknown method although it is declared",
        failing("resources/subscribe", METHOD_NOT_FOUND),
        until="2025-11-25",
    ),
    Fault(
        "subscribe-undeclared",
        "resources/subscribe-refused-when-undeclared jsonrpc/undeclared-feature-refused"
        " discovery/only-declared-notifications",
        "resources/subscribe works although it is not declared",
        on_result(OPENING, _no_subscribe),
        until="2025-11-25",
    ),
    Fault(
        "update-unannounced",
        "resources/update-announced",
        "changes of a subscribed resource are not announced",
        dropped(UPDATED),
        until="2025-11-25",
    ),
    Fault(
        "update-untold",
        "resources/update-announced-to-subscribers",
        "changes of a subscribed resource are not announced",
        dropped(UPDATED),
        since="2026-07-28",
    ),
    Fault(
        "updates-for-everyone",
        "resources/updates-only-for-subscribed",
        "changes of a resource are announced to those who did not subscribe",
        _everyone,
        until="2025-11-25",
    ),
    Fault(
        "unsubscribe-without-effect",
        "resources/updates-only-for-subscribed",
        "resources/unsubscribe is answered and changes nothing",
        instead("resources/unsubscribe", lambda call, proceed: {}),
        until="2025-11-25",
    ),
    Fault(
        "unsubscribe-not-among-several",
        "resources/updates-only-for-subscribed",
        "a resource is not left as long as others are subscribed to",
        instead("resources/unsubscribe", _not_among_several),
        until="2025-11-25",
    ),
    Fault(
        "update-without-uri",
        "resources/updated-shape resources/update-announced resources/update-announced-to-subscribers"
        " resources/updates-only-for-subscribed",
        "notifications/resources/updated has no uri",
        on_notification(UPDATED, lambda message, call: drop(message["params"], "uri")),
        until="2025-11-25",
    ),
    Fault(
        "last-subscription-only",
        "resources/update-announced",
        "each subscription ends the one before",
        instead("resources/subscribe", _last_subscription_only),
        until="2025-11-25",
    ),
    Fault(
        "template-read-without-uri",
        READ,
        "the contents of what a template makes have no uri",
        _items(lambda result: drop(result["contents"][0], "uri")),
        since="2025-06-18",
    ),
    Fault(
        "template-read-as-the-first",
        READ,
        "the contents of what a template makes have the uri of what it made first",
        _first_item(),
        since="2025-06-18",
    ),
    Fault(
        "template-read-without-hints",
        f"caching/hints-present {READ}",
        "what is read of a URI that a template makes has no caching hints",
        _items(lambda result: drop(result, "ttlMs", "cacheScope")),
        since="2026-07-28",
    ),
)
