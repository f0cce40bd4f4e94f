"""Faults in how HTTP takes what is no request."""

from __future__ import annotations

from conformance.reference.http_fault import handling, over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.http_fault import Row


def _body_on_202(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    proceed(status, b"null" if status == 202 else body, headers)


def _ok_instead(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    if status == 202:
        proceed(200, b'{"status":"ok"}', {**headers, "Content-Type": "application/json"})
    else:
        proceed(status, body, headers)


_ROWS: tuple[Row, ...] = (
    (
        "notification-body",
        "transport-http/notification-accepted-202 transport-http/response-accepted-202",
        "the 202 for a notification has a body",
        handling(answer=_body_on_202),
        {},
    ),
    (
        "notification-ok",
        "transport-http/notification-accepted-202 transport-http/response-accepted-202",
        'notifications are answered by 200 with {"status": "ok"}',
        handling(answer=_ok_instead),
        {},
    ),
)

FAULTS = over_http(_ROWS)
