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
                    return override(handler, partial(getattr(base, name), handler), *arguments)

                return run

            return type("FaultyHandler", (base,), {name: method(name, o) for name, o in overrides.items()})

        server.http_handler = faulty

    return apply


def status(was: int, now: int, having: bytes = b"") -> Apply:
    """Answer with the status `now` instead of `was` where the body contains `having`."""

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        proceed(now if status == was and having in body else status, body, headers)

    return handling(answer=answer)
