"""A found example as a case of a case file, which shows it again without Hypothesis."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping

from conformance.checks.fuzz.example import Breach, Example
from conformance.model import Json

FIRST_ID = 900001
LONGEST = 200_000
"""Bytes of a frame that goes into a case file."""


def replay(campaign: str, revision: str, example: Example, breach: Breach) -> Mapping[str, Json]:
    """The case; empty if the frame is too long for a file that people read, or more than a case can send."""
    lines = example.lines(range(FIRST_ID, FIRST_ID + example.numbers)) or [example.written(FIRST_ID)]
    data = b"\n".join(lines)
    if len(data) > LONGEST or example.inner:
        return {}
    if example.about.get("together") and "alive" in breach.expect:
        lines = [data]  # one write
    expectation: dict[str, Json] = {"requirement": breach.requirement, **(breach.expect or {"alive": True})}
    if breach.ceiling is not None and breach.ceiling.value != "violation":
        expectation["severity"] = breach.ceiling.value
    expectation["message"] = breach.message
    return {
        "id": f"{campaign}-{hashlib.sha256(data + breach.message.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}",
        "title": f"Found by fuzzing: {example.wrong}",
        "since": revision,
        "until": revision,
        "isolation": "process",
        "harmful": True,
        "steps": [
            {**written(line), **({"expect": [expectation]} if i == breach.step % len(lines) else {})}
            for i, line in enumerate(lines)
        ],
    }


def written(data: bytes) -> dict[str, str]:
    """The words of a step that sends these bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return {"raw64": base64.b64encode(data).decode()}
    plain = all(character.isprintable() for character in text) and "\ufffe" not in text
    return {"raw": text} if plain else {"raw64": base64.b64encode(data).decode()}
