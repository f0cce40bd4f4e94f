"""Faults in what a server over HTTP does with requests of web pages elsewhere."""

from __future__ import annotations

from conformance.reference.http_fault import handling, other_status, over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.http_fault import Row


def _nothing(handler: Any, proceed: Any) -> None:
    """Check nothing."""


def _checked(served: Callable[[str], bool]) -> Callable[[Any, Any], None]:
    """Serve some origins beside the right ones."""

    def check(handler: Any, proceed: Any) -> None:
        if not served(handler.headers.get("Origin", "")):
            proceed()

    return check


def _kept(handler: Any, proceed: Any) -> Any:
    """Keep the body for those who look at it before its turn."""
    handler.kept = proceed()
    return handler.kept


def _host_checked(handler: Any, proceed: Any) -> None:
    from conformance.reference.http import LOOPBACK, Refusal

    if handler.headers.get("Host", "localhost").rpartition(":")[0] not in LOOPBACK:
        raise Refusal(403, "Requests for this host are refused")


def _host_of_get_checked(handler: Any, proceed: Any) -> None:
    _host_checked(handler, proceed)
    if handler.command != "GET":
        proceed()


def _like_the_host(handler: Any, proceed: Any) -> None:
    """Serve any origin that is where the request goes to, wherever its name leads."""
    if handler.headers.get("Origin", "").partition("://")[2] != handler.headers.get("Host"):
        proceed()


_ROWS: tuple[Row, ...] = (
    (
        "origin-like-host-served",
        "transport-http/origin-validated",
        "any origin is served that is the same as the Host",
        handling(check_origin=_like_the_host),
        {},
    ),
    (
        "foreign-origin-served",
        "transport-http/origin-validated transport-http/origin-refused-403",
        "requests from any origin are served",
        handling(check_origin=_nothing),
        {},
    ),
    (
        "foreign-origin-400",
        "transport-http/origin-refused-403",
        "a foreign origin is refused with 400",
        other_status("check_origin", 403, 400),
        {"since": "2025-11-25"},
    ),
    (
        "foreign-origin-500",
        "transport-http/origin-refused-403",
        "a foreign origin makes the server fail",
        other_status("check_origin", 403, 500),
        {"since": "2025-11-25"},
    ),
    (
        "foreign-origin-401",
        "transport-http/origin-refused-403",
        "a foreign origin is refused with 401",
        other_status("check_origin", 403, 401),
        {"since": "2025-11-25"},
    ),
    (
        "foreign-origin-200",
        "transport-http/origin-refused-403",
        "a foreign origin is refused by an error with status 200",
        other_status("check_origin", 403, 200),
        {"since": "2025-11-25"},
    ),
    (
        "origin-of-opening-unchecked",
        "transport-http/origin-validated",
        "the origin of initialize is not looked at",
        handling(read_body=_kept, check_origin=lambda handler, proceed: b'"initialize"' in handler.kept or proceed()),
        {"until": "2025-11-25"},
    ),
    (
        "foreign-origin-refused-by-prefix",
        "transport-http/origin-validated",
        "any origin that begins like one of this machine is served",
        handling(check_origin=_checked(lambda origin: origin.startswith(("http://localhost", "http://127.0.0.1")))),
        {},
    ),
    (
        "foreign-origin-refused-by-part",
        "transport-http/origin-validated",
        "any origin in which localhost stands is served",
        handling(check_origin=_checked(lambda origin: "localhost" in origin)),
        {},
    ),
    (
        "foreign-origin-refused-by-suffix",
        "transport-http/origin-validated",
        "any origin that ends like one of this machine is served",
        handling(check_origin=_checked(lambda origin: origin.endswith("localhost"))),
        {},
    ),
    (
        "origins-with-tls-served",
        "transport-http/origin-validated",
        "any origin with https is served",
        handling(check_origin=_checked(lambda origin: origin.startswith("https://"))),
        {},
    ),
    (
        "origin-of-calls-unchecked",
        "transport-http/origin-validated",
        "the origin of tools/call is not looked at",
        handling(read_body=_kept, check_origin=lambda handler, proceed: b"tools/call" in handler.kept or proceed()),
        {},
    ),
    (
        "origin-null-served",
        "transport-http/origin-validated",
        "the origin null is served",
        handling(check_origin=_checked(lambda origin: origin == "null")),
        {},
    ),
    (
        "origin-of-get-unchecked",
        "transport-http/origin-validated",
        "the origin of a GET is not looked at",
        handling(check_origin=lambda handler, proceed: handler.command == "GET" or proceed()),
        {"until": "2025-11-25"},
    ),
    (
        "host-checked-instead-of-origin",
        "transport-http/origin-validated transport-http/origin-refused-403",
        "the host that a request is for is looked at, its origin is not",
        handling(check_origin=_host_checked),
        {},
    ),
    (
        "host-of-get-checked-instead-of-origin",
        "transport-http/origin-validated",
        "of a GET the host that it is for is looked at, its origin is not",
        handling(check_origin=_host_of_get_checked),
        {"until": "2025-11-25"},
    ),
)

FAULTS = over_http(_ROWS)
