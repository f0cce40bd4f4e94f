"""Single HTTP requests beside a session, to the origin of the target: what is asked without a token, and documents."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.model import Json, Limits
from conformance.transports.bounds import TooMuch, Undecoded, decoded, kept_headers
from conformance.transports.event_stream import STREAM, EventStream, media_type
from conformance.transports.http_client import client_for, shut, surplus
from conformance.transports.pace import Pace
from conformance.transports.redirects import LEADING, onward, origin

if TYPE_CHECKING:
    from httpx2 import URL, Client, Response

MOST = 1024 * 1024
"""Bytes of an answer that are read."""
REDIRECTS = 3
LATES, BRIEFLY = 2, 2.0
"""So many answers are waited for with all patience until they are given up; the next ones get these seconds."""


@dataclass(frozen=True, slots=True)
class Page:
    """What one request brought: `status` 0 and `lost` if no answer came. `body` is that, or an event's data."""

    method: str
    url: str
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    lost: str = ""

    @property
    def json(self) -> Json:
        """The body, if it is JSON; else None."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def type(self) -> str:
        """The media type, in lower case and without parameters."""
        return media_type(self.headers)


class Web:
    """Speaks HTTP to one origin, one request at a time, over one connection as far as the server keeps it.

    `headers` go with each request. An answer is waited for `limits.answer` seconds, all of it, and less once some have
    not come in that time; of a stream of events the first one that `until` is true of ends it, and without `until` its
    head does. What another origin is asked is refused here; redirects within the origin are followed.
    """

    def __init__(self, url: str, headers: Mapping[str, str], limits: Limits) -> None:
        self.url = url
        self._headers = dict(headers)
        self._limits = limits
        self._sockets: set[socket.socket] = set()
        self._late = False
        self._lates = 0
        self._url, self._client = self._connect()
        self.pace = Pace()

    def _connect(self) -> tuple[URL, Client]:
        url, client = client_for(self.url, self._headers, self._limits)
        return url.copy_with(userinfo=b"", fragment=None), client

    def at(self, path: str) -> str:
        """The URL of a path of the same origin."""
        return str(self._url.copy_with(raw_path=path.encode()))

    @property
    def path(self) -> str:
        """The path of the target, without a slash at its end."""
        return self._url.path.rstrip("/")

    def is_ours(self, url: str) -> bool:
        """Whether a URL is of the origin of the target."""
        import httpx2

        try:
            return origin(self._url.join(url)) == origin(self._url)
        except (httpx2.InvalidURL, ValueError):
            return False

    def ask(
        self,
        method: str,
        url: str = "",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        until: Callable[[bytes], bool] | None = None,
    ) -> Page:
        """One request, sent again where the server wants that; `url` is that of the target if it is empty."""
        again = 0
        while self.pace.refused((page := self._ask(method, url, headers, body, until)).status, page.headers, again):
            again += 1
            self.pace.wait()
        return page

    def _ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        body: bytes,
        until: Callable[[bytes], bool] | None,
    ) -> Page:
        where = self._url.join(url) if url else self._url
        if origin(where) != origin(self._url):
            return Page(method, str(where), lost="it is another origin, which is not asked")
        for attempt in (1, 2):
            opened, self._late = set(self._sockets), False
            try:
                return self._followed(method, where, dict(headers or {}), body, until)
            except Exception as error:
                why = str(error) or type(error).__name__
                stale = attempt == 1 and opened and self._sockets == opened and not self._late
                self.close()
                self._url, self._client = self._connect()
                if not stale:
                    break
        lost = f"no whole answer within {self._patience:g} s" if self._late else why
        self._lates += self._late
        return Page(method, str(where), lost=lost)

    def _followed(
        self, method: str, where: URL, headers: dict[str, str], body: bytes, until: Callable[[bytes], bool] | None
    ) -> Page:
        for _ in range(REDIRECTS):
            page = self._once(method, where, headers, body, until)
            leads = self._onward(method, where, page)
            if leads is None:
                break
            where = leads
        return page

    @property
    def _patience(self) -> float:
        return self._limits.answer if self._lates < LATES else min(BRIEFLY, self._limits.answer)

    def _onward(self, method: str, where: URL, page: Page) -> URL | None:
        location = page.headers.get("location", "")
        if method != "GET" or page.status not in LEADING or not location:
            return onward(where, page.status, location, followed=False)[0]
        return where.join(location) if self.is_ours(str(where.join(location))) else None

    def _once(
        self, method: str, where: URL, headers: dict[str, str], body: bytes, until: Callable[[bytes], bool] | None
    ) -> Page:
        timer = threading.Timer(self._patience, self._give_up)
        timer.daemon = True
        timer.start()
        try:
            with self._client.stream(
                method,
                where,
                content=body or None,
                headers={name.encode(): value.encode("latin-1", "replace") for name, value in headers.items()},
                extensions={"trace": self._trace},
            ) as response:
                known = kept_headers(response)
                page = Page(method, str(where), response.status_code, known)
                if page.type == STREAM:
                    data = _event(response, until) if until is not None else b""
                else:
                    data = _body(response)
            if self._late:
                raise TimeoutError
            return Page(method, page.url, page.status, known, data)
        finally:
            timer.cancel()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            connection = info["return_value"].get_extra_info("socket")
            self._sockets = {known for known in self._sockets if known.fileno() >= 0} | {connection}
        elif event.endswith(".receive_response_body.complete"):
            for connection in self._sockets:
                if surplus(self._client, connection):
                    shut(connection)

    def _give_up(self) -> None:
        self._late = True
        for connection in self._sockets:
            shut(connection)

    def close(self) -> None:
        """Close the connection."""
        sockets, self._sockets = self._sockets, set()
        for connection in sockets:
            shut(connection)
        with contextlib.suppress(Exception):
            self._client.close()


def _body(response: Response) -> bytes:
    body = bytearray()
    with contextlib.suppress(TooMuch, Undecoded):
        for part in decoded(response):
            body += part
            if len(body) > MOST:
                break
    return bytes(body[:MOST])


def _event(response: Response, until: Callable[[bytes], bool]) -> bytes:
    events, read = EventStream(), 0
    for part in decoded(response):
        read += len(part)
        for data, _ in events.feed(part):
            if until(data):
                return data
        if read > MOST:
            break
    return b""
