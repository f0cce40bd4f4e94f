"""The report for people: with colours and progress on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from conformance.engine.events import (
    CaseEnded,
    Event,
    Finished,
    Noted,
    NotTested,
    Planned,
    RevisionAbsent,
    RevisionFound,
    Started,
)
from conformance.model import Basis, Report, Run, Severity, Verdict
from conformance.reporters.grouping import Block, Item, areas, blocks, by_reason, by_server, left_out, named
from conformance.reporters.progress import ProgressLine
from conformance.reporters.words import counted, covered, diagnosis_of, facts, frame_line, shortened, standing, visible

STYLES = {Severity.VIOLATION: "bold red", Severity.WARNING: "yellow", Severity.ADVICE: "bright_black"}
WIDTH = 110
"""Columns of prose, also on wide terminals."""
FINDINGS = 3
"""Findings of one requirement that are shown in full."""
FRAMES = 8
"""Frames of one finding that are shown."""
NAME, PROBLEM = 100, 1600
"""Characters of what a server calls itself, and of what kept it from being tested."""
LISTED = 8
"""Requirements named in one line."""


class _Out(Console):
    """A console that lets a reader who went away be noticed."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class TerminalReporter:
    """Prints to stdout. A progress line is shown on stdout or stderr, whichever is a terminal."""

    def __init__(self, verbose: bool = False) -> None:
        self._terminal = sys.stdout.isatty()
        self._out = _Out(markup=False, highlight=False, emoji=False, soft_wrap=True)
        self._verbose = verbose
        self._absent: list[RevisionAbsent] = []
        self._progress: ProgressLine | None = None
        if self._terminal:
            self._progress = ProgressLine(self._out)
        elif sys.stderr.isatty():
            self._progress = ProgressLine(Console(stderr=True))

    def consume(self, event: Event) -> None:
        """Show one event."""
        if self._progress is not None:
            self._progress.consume(event)
        if isinstance(event, Started):
            self._absent.clear()
            self._line(f"mcp-conform tests {_target(event)}", "bold")
        elif isinstance(event, Noted):
            self._line(visible(event.text), "bright_black")
        elif isinstance(event, NotTested):
            self._line(f"mcp-conform cannot test {visible(event.name)}", "bold")
            self._line(f"  {visible(shortened(event.why, PROBLEM))}", "red")
        elif isinstance(event, RevisionFound):
            parts = (shortened(str(event.server.get(name, "")), NAME) for name in ("name", "version"))
            who = visible(" ".join(parts).strip())
            self._line(f"  speaks {event.revision} over {event.transport}{f' as {who}' if who else ''}", "green")
        elif isinstance(event, RevisionAbsent):
            self._absent.append(event)
        elif isinstance(event, Planned) and event.total:
            for absent in self._absent:
                why = visible(shortened(absent.why, 300))
                self._line(f"  does not speak {absent.revision}: {why}", "bright_black")
        elif isinstance(event, CaseEnded) and self._verbose:
            where = f"{event.revision} {event.transport}"
            self._line(f"  {where} {event.case}: {visible(event.outcome)} ({event.seconds:.3f} s)", "bright_black")
        elif isinstance(event, Finished):
            self._report(event.report, event.unwritten)

    def close(self) -> None:
        """Give the terminal back as it was. Idempotent."""
        if self._progress is not None:
            self._progress.close()

    # -- the report

    def _report(self, report: Report, unwritten: bool) -> None:
        if report.runs:
            self._problem(report)  # the cause comes before what follows from it
        for part in by_server(report):
            if part.target.config:
                self._line(f"\n{visible(part.runs[0].name)}", "bold underline")
            self._server(part)
        self._end(report, unwritten)

    def _server(self, report: Report) -> None:
        """What is to be said of one server."""
        if report.runs:
            self._areas(report)
        alone = len(report.runs) == 1 and not report.target.config
        broken = {judged.requirement.id for run in report.runs for judged in run.verdicts if judged.severity}
        blocked = by_reason(report, Verdict.BLOCKED)
        for severity in (Severity.VIOLATION, Severity.WARNING):
            for block in blocks(report, severity):
                self._block(block, not alone, blocked.get(block.judged.requirement.id, []))
        self._advice(blocks(report, Severity.ADVICE))
        self._reasons("Blocked", {why: ids for why, ids in blocked.items() if why not in broken})
        self._flaky(report)
        self._reasons("Inconclusive", by_reason(report, Verdict.INCONCLUSIVE))
        for why, tools in left_out(report).items():
            self._line(f"\nTools left out: {visible(_listed(tools))}: {visible(shortened(why, 300))}", "bright_black")
        self._tallies(report)
        self._reasons("Broken: mcp-conform itself failed; please report it", by_reason(report, Verdict.BROKEN))

    def _areas(self, report: Report) -> None:
        if not areas(report):
            return
        self._line("")
        if not self._terminal:
            for run in report.runs:
                for area in areas(report):
                    if words := ", ".join(word for word, _style in _counts([run], area)):
                        self._line(f"{named(run)} {area}: {words}")
            return
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("area")
        for run in report.runs:
            table.add_column(f"{run.revision} {run.transport}")
        for area in areas(report):
            cells = [_told(_counts([run], area)) for run in report.runs]
            table.add_row(Text(area), *cells)
        self._out.print(table, soft_wrap=False)

    def _block(self, block: Block, say_where: bool, blocks_others: list[str]) -> None:
        judged, severity = block.judged, block.judged.severity
        assert severity is not None
        self._line("")
        self._out.print(
            Text.assemble(
                (severity.value, STYLES[severity]),
                "  ",
                (judged.requirement.id, "bold"),
                (f"  {judged.level}, {judged.basis}", "bright_black"),
                (f"  in {', '.join(block.runs)}" if say_where else "", "bright_black"),
            )
        )
        self._prose(" ".join(judged.requirement.text.split()), "italic")
        shown = block.items if self._verbose else block.items[:FINDINGS]
        for item in shown:
            self._finding(item, block)
        if len(shown) < len(block.items):
            self._line(f"  … and {len(block.items) - len(shown)} more; --verbose shows all", "bright_black")
        if blocks_others:
            self._prose(f"This blocks {_listed(blocks_others)}.", "bright_black")
        self._line(f"  {'see':9} {judged.url}", "bright_black")
        if judged.reproduce:
            self._line(f"  {'again':9} {visible(judged.reproduce)}", "cyan")

    def _finding(self, item: Item, block: Block) -> None:
        finding = item.finding
        self._prose(visible(shortened(finding.message, 1200)), "")
        for label, line in facts(finding, None if self._verbose else FRAMES):
            style = {"expected": "green", "actual": "red"}.get(label, "")
            self._out.print(Text.assemble("  ", (f"{label:9} ", "bright_black"), (line, style)))
        remarks = [standing(finding), f"case {finding.case}"]
        if item.runs != block.runs:
            remarks.append(f"in {', '.join(item.runs)}")
        if item.others:
            remarks.append(f"also in {_listed(item.others)}")
        if finding.occurrences > 1:
            remarks.append(f"{finding.occurrences} times")
        self._line(f"  {'':9} {'; '.join(remarks)}", "bright_black")

    def _advice(self, found: list[Block]) -> None:
        if not found:
            return
        self._line("\nAdvice", "bold")
        for block in found:
            shown = block.items if self._verbose else block.items[:FINDINGS]
            for item in shown:
                self._out.print(
                    Text.assemble(
                        (f"  {block.judged.requirement.id}", STYLES[Severity.ADVICE]),
                        f": {visible(shortened(item.finding.message, 300))}",
                        (f" (in {', '.join(item.runs)})", STYLES[Severity.ADVICE]),
                    )
                )
                for label, line in diagnosis_of(item.finding):
                    self._line(f"    {label:9} {line}")
                if self._verbose:
                    for frame in item.finding.frames[-FRAMES:]:
                        self._line(f"    {frame_line(frame)}")
            if len(shown) < len(block.items):
                self._line(f"    … and {len(block.items) - len(shown)} more; --verbose shows all", "bright_black")

    def _flaky(self, report: Report) -> None:
        """What did not show itself twice, with its trace."""
        found = [(run, finding) for run in report.runs for judged in run.verdicts for finding in judged.flaky]
        if not found:
            return
        self._line("\nFlaky: it happened, but could not be reproduced reliably; it does not fail the server", "bold")
        for run, finding in found:
            self._line(f"  {finding.requirement}: {visible(shortened(finding.message, 300))} (in {named(run)})")
            for label, line in facts(finding, None if self._verbose else FRAMES):
                self._line(f"    {label:9} {line}", "bright_black")
            self._line(f"    {'':9} {standing(finding)}; case {finding.case}", "bright_black")

    def _tallies(self, report: Report) -> None:
        """Frames by campaign and answer."""
        told = [(run, tally) for run in report.runs for tally in run.tallies]
        if not told:
            return
        again = f" --seed {told[0][1].seed} generates the same frames again."
        self._line(f"\nGenerated frames by campaign and answer.{again}", "bold")
        for run, tally in told:
            answers = ", ".join(f"{number} {answer}" for answer, number in tally.answers.items()) or "none sent"
            restarts = f"; {tally.restarts} servers started anew" if tally.restarts else ""
            self._line(
                f"  {named(run)} {tally.campaign:15} {tally.frames:5}: {visible(answers)}{restarts}", "bright_black"
            )
            if tally.note:
                self._prose(f"  {tally.campaign}: {visible(shortened(tally.note, 300))}", "yellow")

    def _reasons(self, title: str, reasons: Mapping[str, list[str]]) -> None:
        if not reasons:
            return
        self._line(f"\n{title}", "bold")
        for reason, identifiers in reasons.items():
            names = ", ".join(identifiers) if self._verbose else _listed(identifiers)
            self._prose(f"{visible(shortened(reason, 300))}: {names}", "bright_black")

    def _problem(self, report: Report) -> None:
        if report.problem:
            self._line("")
            self._line(f"Not tested: {visible(shortened(report.problem, PROBLEM))}", "bold red")
            for label, told in diagnosis_of(report):
                self._line(f"  {label:9} {told}")

    def _end(self, report: Report, unwritten: bool) -> None:
        if not report.runs:
            self._problem(report)
        self._line("")
        for name, why in report.problems.items():
            self._line(f"Not tested: {visible(name)}: {visible(shortened(why, PROBLEM))}", "bold red")
        if not report.complete and not report.problem:
            self._line("Interrupted: this is what was learned until then.", "bold yellow")
        if report.untried:
            left = ", ".join(report.untried)
            self._line(f"Not tested in {left}: --revision all does, as far as the server speaks them.", "bright_black")
        for run in {(run.revision, run.transport): run for run in report.runs}.values():
            self._line(f"{run.revision} over {run.transport}: {covered(run.extent)}", "bright_black")
        for part in by_server(report) if report.target.config else ():
            self._out.print(Text(f"{visible(part.runs[0].name)}: ") + _told(_counts(part.runs)))
        counts = report.counts
        words = [(_of_requirements(report, s), STYLES[s]) for s in Severity if counts.get(s)]
        words += [
            (f"{counts[v]} {v}", "green" if v is Verdict.PASSED else "bright_black")
            for v in Verdict
            if v is not Verdict.FAILED and counts.get(v)
        ]
        line = Text(", ").join(Text(*word) for word in words or [("nothing was tested", "")])
        line.append(f" in {report.seconds:.1f} s", "bright_black")
        self._out.print(line)
        meaning = "not every report could be written" if unwritten else _meaning(report)
        self._line(f"Exit status {report.exit}: {meaning}.", "bold red" if report.exit else "green")

    # -- printing

    def _line(self, text: str, style: str = "") -> None:
        self._out.print(Text(text, style))

    def _prose(self, text: str, style: str) -> None:
        """Wrapped and indented on a terminal, one line in a pipe."""
        if self._terminal:
            width = min(self._out.width, WIDTH)
            self._out.print(Padding(Text(text, style), (0, 0, 0, 2)), width=width, soft_wrap=False)
        else:
            self._line(f"  {text}", style)


def _target(event: Started) -> str:
    target = event.target
    what = " at ".join(part for part in (" ".join(target.command), target.url) if part)
    return visible(f"{target.name}: {what}" if target.name else what)


def _counts(runs: Iterable[Run], area: str = "") -> list[tuple[str, str]]:
    """What came out, in an area or in all, worst first, with the style of each."""
    verdicts = [judged for run in runs for judged in run.verdicts if area in ("", judged.requirement.area)]
    severities = Counter(judged.severity for judged in verdicts if judged.severity is not None)
    others = Counter(judged.verdict for judged in verdicts)
    told = [(counted(severities[s], s), STYLES[s]) for s in Severity if severities[s]]
    told += [(f"{others[v]} broken", "bold magenta") for v in (Verdict.BROKEN,) if others[v]]
    told += [(f"{others[v]} passed", "green") for v in (Verdict.PASSED,) if others[v]]
    neutral = (Verdict.BLOCKED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
    return told + [(f"{others[v]} {v}", "bright_black") for v in neutral if others[v]]


def _told(words: Iterable[tuple[str, str]]) -> Text:
    return Text(", ").join(Text(*each) for each in words)


def _meaning(report: Report) -> str:
    if report.exit == 0:
        return "no requirement that fails a server is broken"
    if report.exit == 1:
        who = "a" if report.target.config else "the"
        failed = [judged for run in report.runs for judged in run.verdicts if judged.verdict is Verdict.FAILED]
        worst = max((judged.severity for judged in failed if judged.severity), key=lambda s: s.rank, default=None)
        if worst is Severity.WARNING:
            return "there is no violation, but warnings fail"
        if worst is Severity.ADVICE:
            return "there is neither violation nor warning, but advice fails"
        own = bool(failed) and all(judged.basis is Basis.OWN for judged in failed)
        return f"{who} server breaks {'a rule of its own' if own else 'the specification'}"
    if report.problem:
        return "nothing could be tested, or not what was asked for"
    if not report.complete:
        return "the run was interrupted, so nothing is proven"
    if report.problems:
        return "not every server could be tested"
    return "mcp-conform itself failed, or nothing was tested"


def _of_requirements(report: Report, severity: Severity) -> str:
    """How many, and of how many requirements if some are broken in several runs."""
    number, distinct = report.counts[severity], sum(len(blocks(part, severity)) for part in by_server(report))
    words = counted(number, severity)
    return words if number == distinct else f"{words} of {distinct} requirement{'s' * (distinct != 1)}"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
