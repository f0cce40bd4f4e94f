"""The report as Markdown, for GitHub and GitLab: the verdict, areas that are not green, and each finding to unfold.

Whatever a server said stands in code, in a span, a fence or an HTML element, since nothing in code is a link, a
mention, a reference to an issue or markup, on GitHub and on GitLab. A fence is longer than any run of its character in
what it holds. Tables have none of the server's words.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from conformance.engine.events import Event, Finished
from conformance.model import Judged, Report, Run, Severity, Verdict
from conformance.reporters.grouping import (
    Block,
    Item,
    areas,
    blocked_by_others,
    blocks,
    by_reason,
    by_server,
    known,
    left_out,
)
from conformance.reporters.report_file import ReportFile
from conformance.reporters.summary import Bottom, bottom, headline, in_full, tally, unfinished
from conformance.reporters.words import SEVERITIES, address, covered, diagnosis_of, facts, shortened, standing, visible

LIMIT = 1_000_000
"""Bytes of a report. GitHub takes 1 MiB as the summary of a step, GitLab a million characters as a note."""
RESERVE = 2000
"""Bytes kept for saying what was left out."""
FINDINGS, FRAMES, LISTED = 3, 8, 10
"""Findings of one requirement, frames of one finding, and lines of a list that are shown."""
MESSAGE, LINE, NAME = 300, 2000, 100
"""Characters of a message in a heading, of a line in a block, and of what a server calls itself."""

MARKS = {Bottom.FAILS: "❌", Bottom.CONFORMS: "✅", Bottom.PARTLY: "⚠️", Bottom.UNTESTED: "⚠️"}
SIGNS = {Severity.VIOLATION: "❌", Severity.WARNING: "⚠️", Severity.ADVICE: "💡"}
TITLES = {severity: many.capitalize() for severity, (_one, many) in SEVERITIES.items()}
GREEN = (Verdict.PASSED, Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE)
"""What keeps an area out of the table; what is inconclusive has a list of its own."""

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>()#!|~$&^=]|^[+-]|(?<=^\d)[.)])")
_QUOTED = re.compile(r"`([^`]+)`")
_PLAIN_URL = re.compile(r"https?://[\w.~:/?#&=%+-]+", re.ASCII)


class MarkdownReporter:
    """Writes the report when the run is finished."""

    def __init__(self, path: Path, _fail_on: str = "") -> None:
        self._file = ReportFile(path)

    def consume(self, event: Event) -> None:
        """Write the report."""
        if isinstance(event, Finished):
            self._file.write(as_markdown(event.report))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def as_markdown(report: Report, limit: int = LIMIT) -> str:
    """The report in at most `limit` bytes of UTF-8; it says what was left out. Nothing if not even the head fits."""
    parts = list(_head(report))
    rest = limit - _size(parts) - RESERVE
    cut: list[str] = []
    for title, part in _body(report):
        if not cut and _size([part]) <= rest:
            parts.append(part)
            rest -= _size([part])
        elif title:
            cut.append(title)
    if cut:
        parts.append(_left_out(cut))
    return "\n".join(parts) if _size(parts) <= limit else ""


# -- Markdown


def code(text: str) -> str:
    """A code span: the text on one line, with nothing in it that ends the span."""
    text = visible(text) or " "
    fence = "`" * (_longest(text, "`") + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" or text.strip() != text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(lines: Iterable[str], language: str = "text") -> str:
    """A block of code, each of the `lines` on one line of it."""
    told = [visible(line) for line in lines]
    fence = "`" * max(3, *(_longest(line, "`") + 1 for line in told), 3)
    return "\n".join([f"{fence}{language}", *told, fence])


def inline(text: str) -> str:
    """Code within HTML, where Markdown is not read."""
    return f"<code>{html.escape(visible(text))}</code>"


def prose(text: str) -> str:
    """Words of the catalogue, or of the user's own cases: plain text, with what is between backticks as code."""
    parts = _QUOTED.split(visible(" ".join(text.split())))
    return "".join(code(part) if i % 2 else _PUNCTUATION.sub(r"\\\1", part) for i, part in enumerate(parts))


def link(text: str, url: str) -> str:
    """A link, if the address is plain; else the address as code."""
    return f"[{text}]({url})" if _PLAIN_URL.fullmatch(url) else code(url) if url else ""


def _longest(text: str, character: str) -> int:
    return max((len(run) for run in re.findall(re.escape(character) + "+", text)), default=0)


def _size(parts: Iterable[str]) -> int:
    return sum(len(part.encode()) + 1 for part in parts)


# -- the report


def _head(report: Report) -> Iterator[str]:
    """The verdict, what was tested, and what was not."""
    yield f"## {MARKS[bottom(report)]} mcp-conform: {headline(report)}\n"
    what = report.target.config or address(report.target)
    yield f"{code(shortened(what, LINE))}, exit status {report.exit}, {report.seconds:.1f} s\n"
    told = []
    for run in report.runs[:LISTED]:
        calls_itself = " ".join(str(run.server.get(name, "")) for name in ("name", "version")).strip()
        who = code(shortened(run.name or calls_itself, NAME)) if run.name or calls_itself else "the server"
        part = f"{len(run.verdicts)} requirements asked for, of {run.extent.checked} that can be checked"
        told.append(f"- {who} in {run.revision} over {run.transport}: {covered(run.extent) if in_full(run) else part}")
    if len(report.runs) > LISTED:
        told.append(f"- and {len(report.runs) - LISTED} more")
    why = unfinished(report)
    wrong = [f"- Not all was tested: {code(shortened(why, LINE))}"] if why else []
    for name, why in list(report.problems.items())[:LISTED]:
        wrong.append(f"- Not tested: {code(shortened(name, NAME))}: {code(shortened(why, MESSAGE))}")
    if len(report.problems) > LISTED:
        wrong.append(f"- and {len(report.problems) - LISTED} more servers not tested")
    stale = report.known.stale if report.known else ()
    wrong += [f"- Baseline: {code(shortened(sentence, MESSAGE))}" for sentence in stale[:LISTED]]
    if len(stale) > LISTED:
        wrong.append(f"- and {len(stale) - LISTED} more entries of the baseline")
    wrong += [f"- {label.capitalize()}: {prose(text)}" for label, text in diagnosis_of(report)]
    if report.untried:
        told.append(f"- not tried: {', '.join(report.untried)} (`--revision all`)")
    if wrong or told:
        yield "\n".join(wrong + told) + "\n"


def _body(report: Report) -> Iterator[tuple[str, str]]:
    """What is named if it has to be left out, "" for what is not, and the part of the report."""
    for part in by_server(report):
        if part.target.config and part.runs:
            yield "", f"### {code(shortened(part.runs[0].name, NAME))}\n"
        if table := _table(part):
            yield "the table of areas", table
        for severity in (Severity.VIOLATION, Severity.WARNING):
            found = blocks(part, severity)
            if found:
                yield "", f"{'####' if part.target.config else '###'} {TITLES[severity]} ({len(found)})\n"
            for block in found:
                yield f"{severity} {block.judged.requirement.id}", _block(block, part)
        yield from _short(part)


def _table(report: Report) -> str:
    """Areas × runs, where something is not green."""
    rows = [area for area in areas(report) if not all(_green(run, area) for run in report.runs)]
    if not rows:
        return ""
    runs = [f"{run.revision} {run.transport}" for run in report.runs]
    lines = [["area", *runs], ["---"] * (len(runs) + 1)]
    lines += [[prose(area), *(tally(run, area) for run in report.runs)] for area in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _green(run: Run, area: str) -> bool:
    return all(judged.verdict in GREEN for judged in run.verdicts if judged.requirement.area == area)


def _block(block: Block, report: Report) -> str:
    """A broken requirement, to be unfolded."""
    judged = block.judged
    assert judged.severity is not None
    first = inline(shortened(block.items[0].finding.message, MESSAGE)) if block.items else ""
    where = f" in {inline(', '.join(block.runs))}" if len(report.runs) > 1 else ""
    title = f"{SIGNS[judged.severity]} <b>{html.escape(judged.requirement.id)}</b> ({judged.level}, {judged.basis})"
    lines = [f"<details>\n<summary>{title}{where}<br>{first}</summary>\n", prose(judged.requirement.text) + "\n"]
    for item in block.items[:FINDINGS]:
        told = list(_finding(item))
        if item is block.items[0] and len(item.finding.message) <= MESSAGE:
            told.pop(0)  # it stands in the title
        lines.append(fenced(told) + "\n")
    if len(block.items) > FINDINGS:
        lines.append(f"and {len(block.items) - FINDINGS} more findings of this rule\n")
    lines.append(_foot(judged))
    lines.append("</details>\n")
    return "\n".join(lines)


def _finding(item: Item) -> Iterator[str]:
    finding = item.finding
    yield shortened(finding.message, LINE)
    for label, line in facts(finding, FRAMES):
        yield f"{label:9} {shortened(line, LINE)}"
    again = f"; {finding.occurrences} times" if finding.occurrences > 1 else ""
    yield f"{'':9} {standing(finding)}; case {finding.case}{again}"


def _foot(judged: Judged) -> str:
    parts = [link("Specification", judged.url), code(f"mcp-conform explain {judged.requirement.id}")]
    again = f"\n\n{fenced([judged.reproduce], 'sh')}" if judged.reproduce else ""
    return " · ".join(part for part in parts if part) + again + "\n"


def _short(report: Report) -> Iterator[tuple[str, str]]:
    """Advice, what flickers, what is inconclusive, blocked or broken, and the tools left out: a line each."""
    advice = [
        f"- {code(block.judged.requirement.id)}: {code(shortened(item.finding.message, MESSAGE))}"
        for block in blocks(report, Severity.ADVICE)
        for item in block.items[:FINDINGS]
    ]
    flaky = [
        f"- {code(finding.requirement)}: {code(shortened(finding.message, MESSAGE))} ({standing(finding)})"
        for run in report.runs
        for judged in run.verdicts
        for finding in judged.flaky
    ]
    yield from _listed("Advice", advice)
    yield from _listed("Flaky", flaky)
    yield from _listed("Known", _reasons(known(report)))
    for title, verdict in (("Broken", Verdict.BROKEN), ("Inconclusive", Verdict.INCONCLUSIVE)):
        yield from _listed(title, _reasons(by_reason(report, verdict)))
    yield from _listed("Blocked", _reasons(blocked_by_others(report)))
    yield from _listed("Tools left out", _reasons(left_out(report)))


def _reasons(reasons: Mapping[str, list[str]]) -> list[str]:
    lines = []
    for why, names in reasons.items():
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        lines.append(f"- {code(shortened(why, MESSAGE))}: {', '.join(map(code, names[:LISTED]))}{more}")
    return lines


def _listed(title: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    if lines:
        more = [f"- and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
        summary = f"<details>\n<summary>{title} ({len(lines)})</summary>\n"
        yield f"{title.lower()}", "\n".join([summary, *lines[:LISTED], *more, "", "</details>\n"])


def _left_out(cut: list[str]) -> str:
    names = ", ".join(map(code, cut[:LISTED])) + (f" and {len(cut) - LISTED} more" if len(cut) > LISTED else "")
    return (
        f"**{len(cut)} parts were left out, since the report would be too long:** {names}. All of it stands in the"
        " JSON report (`--json FILE`) and in the output of the run.\n"
    )
