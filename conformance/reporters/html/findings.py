"""What the page says of each requirement that is broken: all of the first findings, and a line of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.model import Basis, Judged
from conformance.reporters.grouping import Block, Item
from conformance.reporters.html.frames import FramesView, Room, frames_of
from conformance.reporters.html.kinds import Kind, Labels
from conformance.reporters.words import shortened, standing, visible

LONGEST, LINE, COMMAND = 1600, 300, 8000
"""Characters of a message, of one in a list, and of a command."""
IN_FULL, LISTED = 8, 100
"""Findings of one requirement that are shown in full, and those of which the page has a line."""
FINDINGS, LINES = 400, 2000
"""Findings of one page that are shown in full, and those of which it has a line."""

BASES: Mapping[Basis, str] = {
    Basis.TEXT: "text of the specification",
    Basis.SCHEMA: "schema of the specification",
    Basis.JSONRPC: "JSON-RPC 2.0",
    Basis.PROSE: "text of the specification, without a keyword",
    Basis.SECURITY_GUIDE: "the specification's guide on security",
    Basis.OWN: "your own cases",
    Basis.CLIENT: "what client programs need",
}


@dataclass(frozen=True, slots=True)
class ItemView:
    """One finding. `runs` are given only if it did not show in all that its requirement names."""

    message: str
    expected: str
    actual: str
    diagnosis: str
    hint: str
    standing: str
    case: str
    also: list[str]
    times: int
    runs: list[str]
    frames: FramesView


@dataclass(frozen=True, slots=True)
class FindingView:
    """A requirement that is broken. `url` is a link or "", `place` is where a rule of the user's own stands.

    `listed` are messages of findings that are not shown in full, `left` is how many have not even a line.
    """

    id: str
    kind: Kind
    requirement: str
    area: str
    on: str
    title: str
    rule: str
    level: str
    basis: str
    url: str
    place: str
    runs: list[str]
    items: list[ItemView]
    listed: list[str]
    left: int
    blocks: list[str]
    again: str

    @property
    def more(self) -> int:
        """Findings beside the one in the title."""
        return len(self.items) + len(self.listed) + self.left - 1


class Findings:
    """Makes the findings of one page, as long as there is room for them."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._room = Room()
        self._left, self._lines = FINDINGS, LINES

    def of(self, block: Block, kind: Kind, prefix: str, blocks: list[str]) -> FindingView:
        """What is said of a broken requirement; `blocks` are those that could not be tested because of it."""
        judged = block.judged
        full = block.items[: min(IN_FULL, self._left)]
        self._left -= len(full)
        listed = block.items[len(full) :][: min(LISTED, self._lines)]
        self._lines -= len(listed)
        first = block.items[0].finding.message if block.items else judged.reason
        url, place = source(judged)
        return FindingView(
            id=f"{prefix}{kind.key}/{judged.requirement.id}",
            kind=kind,
            requirement=judged.requirement.id,
            area=judged.requirement.area,
            on=self.labels.on(kind, block.runs),
            title=told(first, LINE) or judged.requirement.id,
            rule=rule(judged),
            level=judged.level.value,
            basis=BASES[judged.basis],
            url=url,
            place=place,
            runs=self.labels.short(block.runs),
            items=[self._item(item, block) for item in full],
            listed=[told(item.finding.message, LINE) for item in listed],
            left=len(block.items) - len(full) - len(listed),
            blocks=blocks,
            again=told(judged.reproduce, COMMAND),
        )

    def _item(self, item: Item, block: Block) -> ItemView:
        finding = item.finding
        return ItemView(
            message=told(finding.message),
            expected=told(finding.expected),
            actual=told(finding.actual),
            diagnosis=told(finding.diagnosis),
            hint=told(finding.hint),
            standing=standing(finding),
            case=finding.case,
            also=item.others,
            times=finding.occurrences,
            runs=[] if item.runs == block.runs else self.labels.short(item.runs),
            frames=frames_of(finding, self._room),
        )


def told(text: str, limit: int = LONGEST) -> str:
    """`text` on one line, without its middle if it is long; escapes may make it up to twice as long as `limit`."""
    return shortened(visible(shortened(text, limit)), 2 * limit)


def rule(judged: Judged) -> str:
    """The text of the requirement, on one line."""
    return told(" ".join(judged.requirement.text.split()))


def source(judged: Judged) -> tuple[str, str]:
    """Where the requirement stands: a link, or else a place that is none."""
    return (judged.url, "") if judged.url.startswith("https://") else ("", told(judged.url, LINE))
