"""The ways to make faults in the Streamable HTTP transport."""

from __future__ import annotations

from functools import partial

from conformance.reference.fault import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.server import Server

    Row = tuple[str, str, str, Apply, dict[str, str]]


def over_http(rows: tuple[Row, ...]) -> tuple[Fault, ...]:
    """The faults of a table of name, requirements, summary, way to make it, and bounds of revisions."""
    return tuple(
        Fault(name, requirements, summary, apply, **{"since": "2025-03-26", "transports": "http", **where})
        for name, requirements, summary, apply, where in rows
    )


def handling(**overrides: Callable[..., Any]) -> Apply:
    """Override methods of the HTTP handler: each override gets the handler, the method it overrides, the arguments."""

    def apply(server: Server) -> None:
        before = server.http_handler

        def faulty(correct: Any) -> Any:
            base = before(correct)

            def method(name: str, override: Callable[..., Any]) -> Callable[..., Any]:
                def run(handler: Any, *arguments: Any) -> Any:
                    return override(handler, partial(getattr(base, name, _none), handler), *arguments)

                return run

            return type("FaultyHandler", (base,), {name: method(name, o) for name, o in overrides.items()})

        server.http_handler = faulty

    return apply


def _none(handler: Any) -> None:
    """What a handler does that has no such method."""


def status(was: int, now: int, having: bytes = b"") -> Apply:
    """Answer with the status `now` instead of `was` where the body contains `having`."""

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        proceed(now if status == was and having in body else status, body, headers)

    return handling(answer=answer)


def other_status(method: str, was: int, now: int) -> Apply:
    """Let a check refuse with the status `now` instead of `was`."""

    def check(handler: Any, proceed: Any, *arguments: Any) -> Any:
        from conformance.reference.http import Refusal

        try:
            return proceed(*arguments)
        except Refusal as refusal:
            raise Refusal(now, str(refusal)) if refusal.status == was else refusal from None

    return handling(**{method: check})


def listening_everywhere(server: Server) -> None:
    """Listen on all network interfaces."""
    from conformance.reference import http

    correct = http.HttpServer.server_bind

    def bind(listening: Any) -> None:
        listening.server_address = ("0.0.0.0", listening.server_address[1])
        correct(listening)

    http.HttpServer.server_bind = bind  # type: ignore[assignment,method-assign]
