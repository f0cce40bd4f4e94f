"""Where a redirect leads, and whether what was given for the target may go there."""

from __future__ import annotations

import contextlib
import ipaddress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from httpx2 import URL

LEADING = (301, 302, 303, 307, 308)
KEEPING = (307, 308)
"""The redirects that keep the method and the body of a request."""

PORTS = {"http": 80, "https": 443}
ADVICE = "give that URL with --url if it is meant"
MAX_SHOWN = 200


class Origin(NamedTuple):
    """Scheme, host and port: whom credentials are for. Host names are in lower case and ASCII, ports never left out."""

    scheme: str
    host: str
    port: int


def origin(url: URL) -> Origin:
    """The origin of an absolute URL, as the HTTP client will understand it."""
    host = url.raw_host.decode("ascii", "replace").lower()
    with contextlib.suppress(ValueError):
        host = ipaddress.ip_address(host).compressed
    return Origin(url.scheme, host, url.port or PORTS.get(url.scheme, 0))


def plain(url: URL) -> str:
    """A URL for people: without user, password, query and fragment, which may be secret, in ASCII, not too long."""
    text = str(url.copy_with(userinfo=b"", query=None, fragment=None))
    text = text.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def onward(asked: URL, status: int, location: str, *, followed: bool) -> tuple[URL | None, str]:
    """The URL that a redirect may be followed to, or why not: an origin is not trusted with what another was given.

    `followed` tells whether `asked` has come from a redirect itself. Both are empty if the answer is no redirect.
    """
    import httpx2

    if status not in LEADING or not location:
        return None, ""
    try:
        leads = asked.join(location)
    except (httpx2.InvalidURL, ValueError):  # urljoin has errors of its own
        return None, f"the server redirects to something that is not a URL: {location[:MAX_SHOWN]!a}"
    to = f"the server redirects to {plain(leads)}"
    if leads.scheme not in PORTS or not leads.raw_host:
        return None, f"{to}, which is not an http or https URL"
    if leads == asked:
        return None, f"{to}, which is the URL that was asked for: it never ends"
    if origin(leads) != origin(asked):
        why = "which is another origin: not followed, since it would get the credentials"
        return None, f"{to}, {why}; {ADVICE}"
    if followed:
        return None, f"{to} after a redirect: no second one is followed; {ADVICE}"
    if status not in KEEPING:
        why = f"which may make a GET of a POST (status {status}): not followed"
        return None, f"{to}, {why}; {ADVICE}"
    # User and password are those that the user gave: the server is not to choose them.
    return leads.copy_with(userinfo=asked.userinfo), ""
