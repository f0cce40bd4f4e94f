"""Frames as they are shown: JSON laid out, what matters marked, and only so much of it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from conformance.model import Finding, Frame
from conformance.reporters.html.json_text import Part, laid_out, parsed, place_in
from conformance.reporters.json_report import FRAME_LIMIT
from conformance.reporters.words import decoded, frame_text, lines, sent_headers, shortened, visible

ROOM = 2_000_000
"""Characters of frames in one page; once they are used up, frames are shortened to SHORT."""
SHORT = 80
SHOWN = 20
"""Frames of one finding that are shown, the last ones."""


HEADER, HEADERS = 1000, 50
"""Characters of one header, and headers of one answer, that are shown."""


class Room:
    """What is left for the frames of one page."""

    def __init__(self, characters: int = ROOM) -> None:
        self._left = characters

    @property
    def limit(self) -> int:
        """How many characters of the next frame may be shown."""
        return FRAME_LIMIT if self._left > 0 else SHORT

    def take(self, parts: list[Part]) -> None:
        """These are shown."""
        self._left -= sum(len(part.text) for part in parts)


@dataclass(frozen=True, slots=True)
class FrameView:
    """One frame. `mark` says what the marked part is, "" if nothing is marked."""

    arrow: str
    direction: str
    time: str
    channel: str
    size: str
    illegal: bool
    parts: list[Part]
    mark: str


@dataclass(frozen=True, slots=True)
class FramesView:
    """The frames of a finding; `earlier` are not shown."""

    frames: list[FrameView]
    earlier: int
    marked: bool


def frames_of(finding: Finding, room: Room) -> FramesView:
    """The last frames of a finding. The place that it names is marked where it was sent last, if it is known."""
    shown = finding.frames[-SHOWN:]
    views: list[FrameView] = []
    told = finding.actual
    for frame in reversed(shown):
        view = _view(frame, room.limit, told)
        room.take(view.parts)
        if view.mark:
            told = ""
        views.insert(0, view)
    return FramesView(views, len(finding.frames) - len(shown), any(view.mark for view in views))


def _view(frame: Frame, limit: int, told: str) -> FrameView:
    ours = frame.origin == "us"
    parts, mark = _content(frame, limit, "" if ours else told)
    if frame.data and (headers := sent_headers(frame)):
        parts = [*parts, Part(f"\n{headers.strip()}", False)]
    return FrameView(
        arrow="→" if ours else "←",
        direction="sent" if ours else "received",
        time=f"{frame.at:.3f} s",
        channel=frame.channel,
        size=f"{len(frame.data)} bytes" if frame.data else "",
        illegal=frame.illegal,
        parts=parts,
        mark=mark,
    )


def _content(frame: Frame, limit: int, told: str) -> tuple[list[Part], str]:
    """What is shown of the frame, and what the marked part is."""
    if frame.channel == "head":
        rows = [f"HTTP {frame.status}", *(f"{name}: {value}" for name, value in frame.headers.items())]
        told_rows = [visible(shortened(row, HEADER)) for row in rows[:HEADERS]]
        told_rows += [f"… [{len(rows) - HEADERS} headers left out]"] if len(rows) > HEADERS else []
        return [Part("\n".join(told_rows), False)], ""
    if not frame.data:
        fields = {name: shortened(value, HEADER) for name, value in frame.fields.items()}
        return [Part(frame_text(frame._replace(fields=fields)), False)], ""
    text = decoded(frame.data, limit)
    try:
        document = parsed(text)
        mark = place_in(document, told) if told else None
        return laid_out(text, mark), "what the finding is about" if mark else ""
    except json.JSONDecodeError as error:
        whole = len(frame.data) <= limit
        if told and whole and frame.channel == "stdout":
            before, after = lines(text[: error.pos]), lines(text[error.pos :])
            return [Part(before, False), Part(after, True)], "not JSON from here on"
    except ValueError:
        pass
    return [Part(lines(text), False)], ""
