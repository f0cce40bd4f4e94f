"""The reference server over HTTP, which answers each request by a stream of events; ids of events begin at 1-0."""

from __future__ import annotations

import sys
from typing import Any

from conformance.reference.__main__ import main
from conformance.reference.streams import Exchange, event


def _streamed(exchange: Exchange, message: Any, data: bytes) -> None:
    exchange._begin_events()
    exchange._write(event(data) if exchange.stream is None else exchange.stream.add(data))


if __name__ == "__main__":
    Exchange._answer_json = _streamed  # type: ignore[assignment,method-assign]
    main(sys.argv[1:])
