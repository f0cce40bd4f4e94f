"""The reference server, which acknowledges each subscription twice; nothing forbids that."""

from __future__ import annotations

import sys

from conformance.reference import faults
from conformance.reference.__main__ import main
from conformance.reference.fault import Fault, on_notification
from conformance.reference.faults.subscriptions import ACK

TWICE = Fault("twice", "", "it does so", on_notification(ACK, lambda message, call: [message, message]))


def find(name: str) -> Fault:
    """That, which is no fault, in place of those of the table."""
    return TWICE


if __name__ == "__main__":
    faults.find = find
    main(["--fault", TWICE.name, *sys.argv[1:]])
