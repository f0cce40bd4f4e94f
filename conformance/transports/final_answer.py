"""The final answer to an HTTP request. Loaded only where requests are written out: http.client takes its time."""

from __future__ import annotations

from http.client import HTTPException, HTTPResponse, parse_headers

SWITCHING = 101
"""After this one there is no more HTTP, so that it is final."""
MOST_INTERIM = 100


class FinalAnswer(HTTPResponse):
    """An answer that passes over all interim ones (RFC 9110, 15.2), and not only over 100 as its base does."""

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(MOST_INTERIM):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status >= 200 or status == SWITCHING:
                return version, status, reason
            parse_headers(self.fp)
        raise HTTPException(f"more than {MOST_INTERIM} interim answers")
