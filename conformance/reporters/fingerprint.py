"""What makes a finding the same one in the next run: a digest without what differs from run to run."""

from __future__ import annotations

import hashlib
import re

VOLATILE = (
    re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"),  # UUID
    re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?"),  # time
    re.compile(r"\b\d{4}-\d\d-\d\d\b"),  # date, also a revision
    re.compile(r"\b\d+(\.\d+)? ?(ms|s|seconds?|milliseconds?|bytes|times|tries|characters)\b"),  # duration, size, count
    re.compile(r"(?<=:)\d{4,5}\b"),  # port
    re.compile(r"\b(?:0x)?(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE),  # hash, address, long number
    re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w+/-]{20,}={0,2}"),  # token
    re.compile(r"(?<=\bid )[\"']?[\w-]+[\"']?"),  # id of a request
)
"""What of a message differs from run to run, or from one revision to the next."""


def stable(text: str) -> str:
    """`text` without what is volatile."""
    for pattern in VOLATILE:
        text = pattern.sub("*", text)
    return text


def fingerprint(requirement: str, server: str, message: str) -> str:
    """32 hexadecimal digits, the same for the same finding in every run and in every revision."""
    told = "\0".join((requirement, stable(server), stable(message)))
    return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:32]
