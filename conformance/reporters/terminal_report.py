"""The report at the end of a run, for people: what failed first, the verdict last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from rich.table import Table
from rich.text import Text

from conformance.engine.verdicts import KNOWN, NOT_ALL, softened
from conformance.model import Report, Run, Severity, Verdict
from conformance.reporters import matrix
from conformance.reporters.addresses import page
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
    named,
)
from conformance.reporters.meaning import meaning
from conformance.reporters.printing import PROBLEM, STYLES, Paper, Word
from conformance.reporters.unlocking import unlocking
from conformance.reporters.words import (
    counted,
    diagnosis_of,
    facts,
    frame_line,
    sayings,
    shortened,
    standing,
    visible,
)

FINDINGS = 3
"""Findings of one requirement that are shown in full."""
BLOCKS = 12
"""Requirements that are shown in full; of the others there is a line each."""
LINES = 40
"""Of those lines, too, there is an end."""
ADVICE = 5
"""Pieces of advice that are shown."""
FRAMES = 8
"""Frames of one finding that are shown."""
LACKS = (
    "not tested: ",
    "no ",
    "the server lists ",
    "the server does not ask",
    "the server asks the client for nothing",
    "the server answered no frame",
    "the tools that were called",
    "accepted, which harms nobody",
)
"""How reasons begin by which nothing is wrong: the server has not what a rule is about. Others are always told."""
REASONS = 5
"""Of those that are."""
GREY = "bright_black"
MORE = "--verbose shows all"


class TerminalReport:
    """One report, on paper."""

    def __init__(self, paper: Paper, report: Report) -> None:
        self._paper = paper
        self._report = report

    def print(self, unwritten: bool) -> None:
        """All of it. `unwritten` means that another report could not be written."""
        report, paper = self._report, self._paper
        self._problem()  # the cause comes before what follows from it
        for part in by_server(report):
            if part.target.config and not paper.quiet:
                paper.line(f"\n{visible(part.runs[0].name)}", "bold underline")
            self._server(part)
        self._end()
        if not paper.quiet:
            self._extent()
        self._verdict(unwritten)

    def _server(self, report: Report) -> None:
        """What is to be said of one server."""
        if self._paper.quiet:
            for block in blocks(report, Severity.VIOLATION):
                self._short(block)
            return
        self._findings(report)
        self._matrix(report)
        self._advice(blocks(report, Severity.ADVICE))
        if report.known is not None:
            self._reasons(f"Known, in {visible(report.known.path)}", known(report))
        self._reasons("Blocked", blocked_by_others(report))
        self._flaky(report)
        self._inconclusive(report)
        tools_left = left_out(report)
        if tools_left and not by_reason(report, Verdict.INCONCLUSIVE):
            self._paper.line("")
        for why, tools in tools_left.items():
            names = visible(self._paper.listed(tools))
            self._paper.line(f"Tools left out: {names}: {visible(shortened(why, 300))}", GREY)
        self._tallies(report)
        self._reasons("Broken: mcp-conform itself failed; please report it", by_reason(report, Verdict.BROKEN))

    # -- what failed

    def _findings(self, report: Report) -> None:
        found = [block for severity in (Severity.VIOLATION, Severity.WARNING) for block in blocks(report, severity)]
        blocked = by_reason(report, Verdict.BLOCKED)
        shown = len(found) if self._paper.full else BLOCKS
        say_where = len(report.runs) > 1 or bool(report.target.config)
        for block in found[:shown]:
            self._block(block, say_where, blocked.get(block.judged.requirement.id, []))
        rest = found[shown:]
        if rest:
            number = sum(block.judged.severity is Severity.VIOLATION for block in rest)
            more = [counted(number, Severity.VIOLATION)] if number else []
            more += [counted(len(rest) - number, Severity.WARNING)] if len(rest) > number else []
            self._paper.line(f"\nIn short: {' and '.join(more)} more; --verbose shows all in full", "bold")
        for block in rest[:LINES]:
            self._short(block)
        if len(rest) > LINES:
            self._paper.line(f"  … and {len(rest) - LINES} more; {MORE}", GREY)

    def _block(self, block: Block, say_where: bool, blocks_others: list[str]) -> None:
        judged, severity, paper = block.judged, block.judged.severity, self._paper
        assert severity is not None
        paper.line("")
        paper.words(
            (severity.value, STYLES[severity]),
            "  ",
            (judged.requirement.id, "bold"),
            (f"  {judged.level}, {judged.basis}{', weighs less here' if softened(judged) else ''}", GREY),
            (f"  in {', '.join(block.runs)}" if say_where else "", GREY),
        )
        paper.prose(" ".join(judged.requirement.text.split()), "italic")
        shown = block.items if paper.full else block.items[:FINDINGS]
        for item in shown:
            self._finding(item, block)
        if len(shown) < len(block.items):
            paper.line(f"  … and {len(block.items) - len(shown)} more; {MORE}", GREY)
        if blocks_others:
            paper.prose(f"This blocks {paper.listed(blocks_others)}.", GREY)
        paper.line(f"  {'see':9} {judged.url}", GREY)
        if address := page(judged.requirement.id):
            paper.line(f"  {'page':9} {visible(address)}", GREY)
        if judged.reproduce:
            paper.line(f"  {'again':9} {visible(judged.reproduce)}", "cyan")

    def _short(self, block: Block) -> None:
        severity = block.judged.severity
        assert severity is not None
        message = block.items[0].finding.message if block.items else block.judged.requirement.text
        self._paper.words(
            (f"{severity.value:9} ", STYLES[severity]),
            (block.judged.requirement.id, "bold"),
            f": {visible(shortened(message, 300))}",
        )

    def _finding(self, item: Item, block: Block) -> None:
        finding, paper = item.finding, self._paper
        message, *quotes = sayings(finding.message, 1200)
        paper.prose(message)
        for line in quotes:
            paper.line(f"  {line}")
        style = ""
        for label, line in facts(finding, None if paper.full else FRAMES):
            style = {"expected": "green", "actual": "red", "": style}.get(label, "")
            paper.words("  ", (f"{label:9} ", GREY), (line, style))
        remarks = [standing(finding), f"case {finding.case}"]
        if item.runs != block.runs:
            remarks.append(f"in {', '.join(item.runs)}")
        if item.others:
            remarks.append(f"also in {paper.listed(item.others)}")
        if finding.occurrences > 1:
            remarks.append(f"{finding.occurrences} times")
        paper.line(f"  {'':9} {'; '.join(remarks)}", GREY)

    def _matrix(self, report: Report) -> None:
        """Areas × runs, where something is not as it should be; all areas, with all counts, if everything is shown."""
        paper = self._paper
        rows = matrix.rows(report)
        if paper.full:
            self._areas(report)
        elif len(rows) > 1 or (rows and len(report.runs) > 1):
            heads = ["area", *matrix.columns(report.runs)]
            body = [[row.area, *map(matrix.cell, row.cells)] for row in rows]
            widths = [max(map(len, column)) for column in zip(heads, *body, strict=True)]
            paper.line("\n" + "  ".join(map(str.ljust, heads, widths)).rstrip(), "bold")
            for row, cells in zip(rows, body, strict=True):
                styles = ["", *map(_style, row.cells)]
                padded = [*map(str.ljust, cells[:-1], widths), cells[-1]]
                paper.words(*((f"{'  ' if n else ''}{cell}", styles[n]) for n, cell in enumerate(padded)))
            paper.line(matrix.legend(rows), GREY)

    def _areas(self, report: Report) -> None:
        paper = self._paper
        if not areas(report):
            return
        paper.line("")
        if not paper.terminal:
            for run in report.runs:
                for area in areas(report):
                    if words := ", ".join(word for word, _style in _counts([run], area)):
                        paper.line(f"{named(run)} {area}: {words}")
            return
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for head in ("area", *matrix.columns(report.runs)):
            table.add_column(head)
        for area in areas(report):
            table.add_row(Text(area), *(_told(_counts([run], area)) for run in report.runs))
        paper.out.print(table, soft_wrap=False)

    # -- the rest

    def _advice(self, found: list[Block]) -> None:
        paper = self._paper
        if not found:
            return
        paper.line("\nAdvice", "bold")
        shown = found if paper.full else found[:ADVICE]
        for block in shown:
            for item in block.items if paper.full else block.items[:1]:
                self._piece(block, item)
        if len(shown) < len(found):
            rest = [block.judged.requirement.id for block in found[len(shown) :]]
            paper.prose(f"… and {len(rest)} more ({MORE}): {paper.listed(rest)}", GREY)

    def _piece(self, block: Block, item: Item) -> None:
        """One piece of advice: a line, and what stands behind it if everything is shown."""
        paper, finding = self._paper, item.finding
        more = len(block.items) - 1
        runs = item.runs if paper.full else block.runs
        came = f" ({visible(shortened(finding.actual, 160))})" if finding.actual else ""
        paper.words(
            (f"  {block.judged.requirement.id}", "bold"),
            f": {visible(shortened(finding.message, 300))}",
            came,
            (f" and {more} more" if more and not paper.full else "", GREY),
            (f" in {', '.join(runs)}", GREY) if len(self._report.runs) > 1 else "",
        )
        for label, line in diagnosis_of(finding):
            paper.line(f"    {label:9} {line}")
        for frame in finding.frames[-FRAMES:] if paper.full else ():
            paper.line(f"    {frame_line(frame)}")

    def _flaky(self, report: Report) -> None:
        """What did not show itself twice, with its trace."""
        paper = self._paper
        found = [(run, finding) for run in report.runs for judged in run.verdicts for finding in judged.flaky]
        if not found:
            return
        paper.line("\nFlaky: it happened, but could not be reproduced reliably; it does not fail the server", "bold")
        shown = found if paper.full else found[:FINDINGS]
        for run, finding in shown:
            paper.line(f"  {finding.requirement}: {visible(shortened(finding.message, 300))} (in {named(run)})")
            for label, line in facts(finding, None if paper.full else FRAMES):
                paper.line(f"    {label:9} {line}", GREY)
            paper.line(f"    {'':9} {standing(finding)}; case {finding.case}", GREY)
        if len(shown) < len(found):
            paper.line(f"  … and {len(found) - len(shown)} more; {MORE}", GREY)

    def _inconclusive(self, report: Report) -> None:
        reasons = by_reason(report, Verdict.INCONCLUSIVE)
        if self._paper.full:
            self._reasons("Inconclusive", reasons)
        elif number := len({each for ids in reasons.values() for each in ids}):
            rules = f"{number} rule{'s' * (number != 1)}"
            if len(reasons) == 1:
                ((why, ids),) = reasons.items()
                what = f"{self._paper.listed(ids)}: {visible(shortened(why, 300))}"
            else:
                unlock = unlocking(report)
                what = f"--verbose tells why{f'; {unlock}' if unlock else ''}"
            self._paper.line(f"\nInconclusive: {rules}: {what}", GREY)
            others = {why: ids for why, ids in reasons.items() if len(reasons) > 1 and not why.startswith(LACKS)}
            for why, ids in list(others.items())[:REASONS]:
                self._paper.prose(f"{visible(shortened(why, 300))}: {self._paper.listed(ids)}", GREY)
            if len(others) > REASONS:
                self._paper.line(f"  … and {len(others) - REASONS} more reasons; {MORE}", GREY)

    def _tallies(self, report: Report) -> None:
        """Frames by campaign and answer; what kept a campaign from sending its frames is always told."""
        paper = self._paper
        told = [(run, tally) for run in report.runs for tally in run.tallies if paper.full or tally.note]
        if not told:
            return
        again = f" --seed {told[0][1].seed} generates the same frames again."
        paper.line(f"\nGenerated frames by campaign and answer.{again}" if paper.full else "\nGenerated frames", "bold")
        for run, tally in told:
            answers = ", ".join(f"{number} {answer}" for answer, number in tally.answers.items()) or "none sent"
            restarts = f"; {tally.restarts} servers started anew" if tally.restarts else ""
            if paper.full:
                told_of = f"{tally.frames:5}: {visible(answers)}{restarts}"
                paper.line(f"  {named(run)} {tally.campaign:15} {told_of}", GREY)
            if tally.note:
                paper.prose(f"{named(run)} {tally.campaign}: {visible(shortened(tally.note, 300))}", "yellow")

    def _reasons(self, title: str, reasons: Mapping[str, list[str]]) -> None:
        if not reasons:
            return
        self._paper.line(f"\n{title}", "bold")
        for reason, identifiers in reasons.items():
            self._paper.prose(f"{visible(shortened(reason, 300))}: {self._paper.listed(identifiers)}", GREY)

    # -- the end

    def _problem(self) -> None:
        report = self._report
        if report.problem:
            self._paper.line("")
            self._not_tested("", report.problem)
            for label, told in diagnosis_of(report):
                self._paper.line(f"  {label:9} {told}")

    def _not_tested(self, who: str, why: str) -> None:
        first, *quotes = sayings(why, PROBLEM)
        said = first if first.startswith(NOT_ALL) and not who else f"not tested: {who}{first}"
        self._paper.line(f"{said[0].upper()}{said[1:]}", "bold red")
        for line in quotes:
            self._paper.line(f"  {line}")

    def _end(self) -> None:
        report, paper = self._report, self._paper
        if not paper.quiet:
            paper.line("")
        for name, why in report.problems.items():
            self._not_tested(f"{visible(name)}: ", why)
        for sentence in report.known.stale if report.known else ():
            paper.line(f"Baseline: {visible(shortened(sentence, PROBLEM))}", "bold red")
        if not report.complete and not report.problem:
            paper.line("Interrupted: this is what was learned until then.", "bold yellow")

    def _extent(self) -> None:
        report, paper = self._report, self._paper
        if report.known is not None and report.known.untested:
            number = len(report.known.untested)
            were = "was" if number == 1 else "were"
            paper.line(f"{visible(report.known.path)}: {number} of its known failures {were} not tested.", GREY)
            for sentence in report.known.untested if paper.full else ():
                paper.line(f"  {visible(sentence)}", GREY)
        if report.untried:
            left = ", ".join(report.untried)
            paper.line(f"Not tested in {left}: --revision all does, as far as the server speaks them.", GREY)
        told = {(run.revision, run.transport): run for run in report.runs}
        if told:
            paper.line(f"Rules checked: {', '.join(map(_checked, told.values()))}.", GREY)
        for part in by_server(report) if report.target.config else ():
            paper.out.print(Text(f"{visible(part.runs[0].name)}: ") + _told(_counts(part.runs)))

    def _verdict(self, unwritten: bool) -> None:
        report, counts = self._report, self._report.counts
        words = [(_of_requirements(report, s), STYLES[s]) for s in Severity if counts.get(s)]
        words += [
            (f"{counts[v]} {v}", "green" if v is Verdict.PASSED else GREY)
            for v in (KNOWN, *Verdict)
            if v is not Verdict.FAILED and counts.get(v)
        ]
        line = Text(", ").join(Text(*word) for word in words or [("nothing was tested", "")])
        line.append(f" in {report.seconds:.1f} s", GREY)
        if not self._paper.quiet:
            self._paper.out.print(line)
        what = "not every report could be written" if unwritten else meaning(report)
        self._paper.line(f"Exit status {report.exit}: {what}.", "bold red" if report.exit else "green")


def _style(counts: Counter[str] | None) -> str:
    worst = next((kind for kind, letter in matrix.LETTERS.items() if counts and counts[letter]), None)
    return STYLES.get(worst, GREY) if isinstance(worst, Severity) else GREY


def _checked(run: Run) -> str:
    extent = run.extent
    left = f", {extent.unchecked} not yet" if extent.unchecked else ""
    of = extent.checked + extent.unobservable + extent.unchecked
    return f"{extent.checked} of {of} in {run.revision} over {run.transport}{left}"


def _counts(runs: Iterable[Run], area: str = "") -> list[Word]:
    """What came out, in an area or in all, worst first, with the style of each."""
    verdicts = [judged for run in runs for judged in run.verdicts if area in ("", judged.requirement.area)]
    severities = Counter(judged.severity for judged in verdicts if judged.severity and not judged.known)
    others = Counter(judged.verdict for judged in verdicts)
    told = [(counted(severities[s], s), STYLES[s]) for s in Severity if severities[s]]
    told += [(f"{others[v]} broken", "bold magenta") for v in (Verdict.BROKEN,) if others[v]]
    told += [(f"{others[v]} passed", "green") for v in (Verdict.PASSED,) if others[v]]
    accepted = sum(bool(judged.known) for judged in verdicts)
    told += [(f"{accepted} {KNOWN}", GREY)] if accepted else []
    neutral = (Verdict.BLOCKED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
    return told + [(f"{others[v]} {v}", GREY) for v in neutral if others[v]]


def _told(words: Iterable[Word]) -> Text:
    return Text(", ").join(Text(*each) for each in words)


def _of_requirements(report: Report, severity: Severity) -> str:
    """How many, and of how many requirements if some are broken in several runs."""
    number, distinct = report.counts[severity], sum(len(blocks(part, severity)) for part in by_server(report))
    words = counted(number, severity)
    return words if number == distinct else f"{words} of {distinct} requirement{'s' * (distinct != 1)}"
