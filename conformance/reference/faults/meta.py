"""Faults in the members of _meta."""

from __future__ import annotations

from conformance.reference.fault import Fault, on_item

FAULTS = (
    Fault(
        "meta-prefix-forwards",
        "meta/prefix-in-reverse-dns",
        "a _meta key has a domain name in its usual order",
        on_item("tools/list", "echo", lambda item: item.update(_meta={"example.com/key": True})),
        since="2025-11-25",
    ),
)
