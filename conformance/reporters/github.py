"""Findings as annotations of GitHub Actions: workflow commands on stdout, which the runner reads line by line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from conformance.engine.events import Event, Finished
from conformance.model import Report, Severity, Verdict
from conformance.reporters.grouping import Block, by_reason, by_server
from conformance.reporters.grouping import blocks as broken
from conformance.reporters.source import exists, source
from conformance.reporters.summary import unfinished
from conformance.reporters.words import facts, shortened, standing, visible
from conformance.system.github_actions import Output, command_runner

COMMANDS = {Severity.VIOLATION: "error", Severity.WARNING: "warning", Severity.ADVICE: "notice"}
SHOWN = 10
"""Annotations of each kind that GitHub shows of one step."""
TITLE, MESSAGE = 200, 1500
"""Characters of a title, and of each line of a message."""


class GithubReporter:
    """Prints annotations when the run is finished, the most important first, at most SHOWN of each kind."""

    def __init__(self, output: Output = "stdout") -> None:
        self._output = output

    def consume(self, event: Event) -> None:
        """Print them."""
        if isinstance(event, Finished):
            with contextlib.suppress(BrokenPipeError):  # as with `| head`
                command_runner(annotated(event.report), self._output)

    def close(self) -> None:
        """Nothing is held."""


def annotated(report: Report) -> Iterator[str]:
    """A workflow command for each thing to say, each on one line."""
    place = source(report.target)
    where = {"file": place, "line": "1"} if exists(place) else {}
    found: dict[str, list[tuple[str, str]]] = {"error": list(_untested(report)), "warning": [], "notice": []}
    for part in by_server(report):
        for severity, command in COMMANDS.items():
            found[command] += [_finding(block, part) for block in broken(part, severity)]
    for command, told in found.items():
        shown = told if len(told) <= SHOWN else told[: SHOWN - 1]
        for title, message in shown:
            yield workflow_command(command, message, {**where, "title": title})
        if len(shown) < len(told):
            more = f"and {len(told) - len(shown)} more, which the output of the run and the other reports have"
            yield workflow_command(command, more, {**where, "title": "mcp-conform"})


def workflow_command(name: str, message: str, properties: dict[str, str]) -> str:
    """`::name key=value,…::message`, with what separates its parts escaped as the runner undoes it."""
    told = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{name} {told}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _untested(report: Report) -> Iterator[tuple[str, str]]:
    """Title and message of what keeps the run from being a success beside findings."""
    if why := unfinished(report):
        more = [line for line in (report.diagnosis, report.hint) if line]
        yield "mcp-conform: not all was tested", "\n".join([_said(why), *more])
    for sentence in report.known.stale if report.known else ():
        yield "mcp-conform: the baseline is out of date", _said(sentence)
    for name, why in report.problems.items():
        yield f"mcp-conform: {_said(name, TITLE)} was not tested", _said(why)
    for why, names in by_reason(report, Verdict.BROKEN).items():
        yield "mcp-conform itself failed", f"{_said(why)}\n{', '.join(names[:SHOWN])}"


def _finding(block: Block, report: Report) -> tuple[str, str]:
    """Title and message of a broken requirement: its first finding, and how many there are."""
    judged = block.judged
    name = f"{_said(report.runs[0].name, 100)}: " if report.target.config else ""
    title = f"{name}{judged.requirement.id} ({judged.level}, {judged.basis})"
    lines: list[str] = []
    for item in block.items[:1]:
        lines.append(_said(item.finding.message))
        lines += [f"{label}: {_said(line)}" for label, line in facts(item.finding, 0) if label != "frame"]
        lines.append(f"{standing(item.finding)}; case {item.finding.case}; in {', '.join(block.runs)}")
    if len(block.items) > 1:
        lines.append(f"and {len(block.items) - 1} more of this rule")
    lines.append(f"see {judged.url}")
    return title, "\n".join(lines)


def _said(text: str, limit: int = MESSAGE) -> str:
    return visible(shortened(text, limit))
