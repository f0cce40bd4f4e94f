"""What tells the two eras of the protocol apart: how a session begins, what every message carries, how it ends."""

from __future__ import annotations

from typing import Protocol, TypeVar

from conformance.model import Json, members

S = TypeVar("S", contravariant=True)


class Era(Protocol[S]):
    """An era, for sessions of the kind `S`."""

    name: str

    def open(self, session: S) -> None:
        """Open the session, or raise NotSpoken."""

    def dress(self, session: S, params: Json) -> Json:
        """The params of a request with what every request of the era carries."""

    def headers(self, session: S, message: Json) -> dict[str, str]:
        """The HTTP headers that go with `message`."""

    def sentinel(self, session: S) -> tuple[str, Json]:
        """Method and params of a harmless request whose answer closes a window of listening."""

    def farewell(self, session: S) -> None:
        """What a client says before it closes the connection."""


def capabilities_in(value: Json) -> dict[str, Json]:
    """The capabilities that were declared; those of an array are the names in it, which is what it was meant to say.

    A member that says false in other words, as "false" or 0, declares nothing.
    """
    if isinstance(value, list):
        return {name: {} for name in value if isinstance(name, str)}
    return {
        name: {key: False if _denies(each) else each for key, each in of.items()} if isinstance(of, dict) else of
        for name, of in members(value).items()
    }


def _denies(value: Json) -> bool:
    return value.lower() in ("false", "no") if isinstance(value, str) else value == 0 and not isinstance(value, bool)
