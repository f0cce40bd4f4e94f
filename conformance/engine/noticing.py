"""What is noticed in all sessions of a run: signs of the server's SDK, and which methods it knows."""

from __future__ import annotations

from conformance.catalogue.sdks import table
from conformance.checks.ledger import Ledger
from conformance.codes import METHOD_NOT_FOUND
from conformance.model import Frame
from conformance.session.messages import Call

SEARCHED = 4 * 1024
"""Bytes of a frame in which signs are looked for: errors are short, and their words stand at the beginning."""


class Signs:
    """An observer that looks for each sign until it has come once, and writes its number into the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open = {number: sign for number, sign in enumerate(table().signs) if number not in ledger.signs}

    def sent(self, frame: Frame) -> None:
        """A frame of ours."""

    def heard(self, frame: Frame, call: Call | None) -> None:
        """A frame of the server; `call` is the request it answers."""
        if not self._open or not frame.data:
            return
        text = frame.data[:SEARCHED].decode("utf-8", "replace")
        asked = call.sent.data[:SEARCHED].decode("utf-8", "replace") if call is not None else ""
        for number, sign in list(self._open.items()):
            if sign.heard.search(text) and (sign.sent is None or sign.sent.search(asked)):
                self._ledger.signs.add(number)
                del self._open[number]


class Methods:
    """An observer that notes which methods were answered with a result, which were refused as unknown, and the codes
    of all refusals.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def sent(self, frame: Frame) -> None:
        """A frame of ours."""

    def heard(self, frame: Frame, call: Call | None) -> None:
        """A frame of the server; `call` is the request it answers."""
        if call is None or not isinstance(frame.message, dict):
            return
        error = frame.message.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        if isinstance(code, int):
            self._ledger.codes.add(code)
        if "result" in frame.message:
            self._ledger.served.add(call.method)
        elif code == METHOD_NOT_FOUND and call.method not in self._ledger.served:
            self._ledger.unknown.add(call.method)
