"""What the frames that prove a finding say."""

from __future__ import annotations

from conformance.model import Finding, Frame, Json, members
from conformance.session.messages import parse


def requests(finding: Finding) -> list[dict[str, Json]]:
    """The requests among what we sent, in order."""
    sent = [members(_message(each)) for each in finding.frames if each.origin == "us"]
    return [each for each in sent if "method" in each and "id" in each]


def responses(finding: Finding) -> list[tuple[Frame, dict[str, Json]]]:
    """What came as a response, or as something that is none only for what it lacks, each with its frame."""
    return [
        (frame, each)
        for frame, each in _came(finding)
        if each.keys() & {"id", "result", "error"} and "method" not in each
    ]


def heard(finding: Finding) -> list[dict[str, Json]]:
    """All messages that came from the server."""
    return [message for _, message in _came(finding)]


def _came(finding: Finding) -> list[tuple[Frame, dict[str, Json]]]:
    return [(each, members(_message(each))) for each in finding.frames if each.origin == "target"]


def _message(frame: Frame) -> Json:
    return frame.message if frame.readable and frame.message is not None else parse(frame.data)[0]
