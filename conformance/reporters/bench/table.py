"""The report of a bench on a terminal or in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from conformance.engine.options import Detail
from conformance.model import Json
from conformance.reporters.bench.figures import NOTHING, interval, number, of_metric, rate, seconds, size, spark
from conformance.reporters.printing import Paper
from conformance.reporters.words import shortened, visible

NAME = 34
"""Columns of the name of an operation."""
OURS = 0.5
"""Where at least this part of a latency is our own cost, the figure is marked."""
MARK = "~"
REASONS = 6
"""Reasons why something was not measured that are shown unless everything is."""


def print_report(report: Json, detail: Detail = "usual", stream: TextIO | None = None) -> None:
    """Print all of it; with `quiet` only symptoms, bounds and what kept something from being measured."""
    stream = stream or sys.stdout
    _Table(Paper(detail, stream), report, plain=not _takes(stream, "▁–µ")).print()


def _medians(starts: int) -> str:
    return "one start" if starts == 1 else f"medians of {starts} starts"


def _takes(stream: TextIO, signs: str) -> bool:
    try:
        signs.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class _Table:
    def __init__(self, paper: Paper, report: Json, plain: bool) -> None:
        self._paper = paper
        self._report = report
        self._plain = plain

    def print(self) -> None:
        report, paper = self._report, self._paper
        for server in report["servers"]:
            self._server(server)
        if report["servers"] and not paper.quiet:
            self._own(report["bare"])
        self._comparison(report["comparison"])
        for row in report["bounds"]:
            self._bound(row)
        if report["problem"]:
            self._line(f"not everything was measured: {report['problem']}", "bold red")
        done = "" if report["complete"] else " (interrupted)" if report["servers"] else ""
        self._line(f"{report['seconds']:.1f} s{done}. Exit status {report['exit']}.", "bold")

    # -- inside

    def _line(self, text: str, style: str = "") -> None:
        text = visible(text)
        if self._plain:
            text = text.replace(NOTHING, "-").replace("µ", "u").replace("×", "x")
        self._paper.line(text, style)

    def _server(self, server: Json) -> None:
        who = " ".join(each for each in (server["server"].get("name"), server["server"].get("version")) if each)
        label = f"{server['label']}: " if len(self._report["servers"]) > 1 else ""
        target = " at ".join(part for part in server["target"].values() if part)
        self._line(f"{label}{shortened(target, 200)}", "bold")
        self._line(f"  {shortened(who, 100)} speaks {server['revision']} over {server['transport']}", "green")
        if not self._paper.quiet:
            self._times(server)
            self._latencies(server)
            self._open_loop(server["open_loop"])
            self._costs(server)
            self._left_out(server)
        for rule in server["rules"]:
            self._line(f"  rule broken under load: {rule['requirement']}: {shortened(rule['what'], 300)}", "yellow")
        for symptom in server["symptoms"]:
            self._line(f"  {symptom['kind']}: {symptom['text']}", "yellow")
        for note in server["notes"] if not self._paper.quiet else ():
            self._line(f"  note: {shortened(note, 400)}", "bright_black")
        self._paper.line("")

    def _times(self, server: Json) -> None:
        times = server["times"]
        told = [("start", "from start to session"), ("first", "first request"), ("end", "end")]
        parts = [f"{words} {seconds(times[name])}" for name, words in told if times[name] is not None]
        if parts:
            self._line(f"  {', '.join(parts)} ({_medians(len(times['each']))})")

    def _latencies(self, server: Json) -> None:
        loads = sorted({cell["in_flight"] for each in server["operations"] for cell in each["loads"]} - {1})
        self._paper.line("")
        titles = ["p50", "p95", "p99", "max"]
        head = f"  {'Latency':<{NAME}} {'alone:':>9} {'':>9} {'':>9} {'':>9} {'':<12}"
        if loads:
            head += "  p50 with … in flight:"
        self._line(head.replace("…", "N") if self._plain else head, "bold")
        more = "".join(f"{load:>9}" for load in loads)
        self._line(
            f"  {'':<{NAME}} "
            + " ".join(f"{title:>9}" for title in titles)
            + f" {'10 µs–10 s':<12}{more} {'one more':>9} {'errors':>7}"
        )
        for operation in server["operations"]:
            self._operation(operation, loads)
        missing = sum(len(operation["left_out"]) for operation in server["operations"])
        if missing and not self._paper.full:
            figures = f"{missing} figure{'s were' if missing != 1 else ' was'}"
            self._line(f"  {figures} not measured; --verbose says why, a longer --duration allows more", "bright_black")

    def _operation(self, operation: Json, loads: Sequence[int]) -> None:
        cells = {cell["in_flight"]: cell for cell in operation["loads"] if cell["sessions"] == 1}
        alone = cells.get(1)
        name = _clipped(operation["name"])
        if alone is None:
            figures, bars = " ".join([f"{NOTHING:>9}"] * 4), ""
        else:
            figures = " ".join(f"{_marked(alone, each):>9}" for each in ("p50", "p95", "p99", "max"))
            bars = spark(alone["bars"], self._plain)
        more = "".join(f"{_marked(cells[load], 'p50') if load in cells else NOTHING:>9}" for load in loads)
        slope = operation["slope"]
        more += f" {seconds(slope['value']) if slope and loads else NOTHING:>9}"
        errors = sum(cell["errors"] for cell in operation["loads"])
        style = "red" if errors else ""
        self._line(f"  {name:<{NAME}} {figures} {bars:<12}{more} {errors:>7}", style)
        for cell in operation["loads"]:
            if cell["wrong"] and self._paper.full:
                kinds = ", ".join(f"{count} × {kind}" for kind, count in cell["wrong"].items())
                self._line(f"  {'':<{NAME}} {cell['in_flight']} in flight: {kinds}", "red")
            if cell["changed"] and self._paper.full:
                what = f"{cell['changed']} × other than alone, and valid"
                self._line(f"  {'':<{NAME}} {cell['in_flight']} in flight: {what}", "bright_black")
            if cell["sessions"] > 1:
                what = f"{cell['sessions']} sessions: p50 {seconds(cell['p50'])}, {rate(cell['rate'])}"
                self._line(f"  {'':<{NAME}} in {what}", "bright_black")
        if self._paper.full:
            for load, why in operation["left_out"].items():
                self._line(f"  {'':<{NAME}} {load} in flight were not measured: {why}", "bright_black")

    def _open_loop(self, loop: Json) -> None:
        if not loop["steps"]:
            return
        self._paper.line("")
        self._line("  Requests at fixed times (open loop); the latency counts from when each was due", "bold")
        self._line(f"  {'due':>10} {'answered':>10} {'p50':>9} {'p95':>9} {'p99':>9} {'max':>9} {'errors':>7}")
        for step in loop["steps"]:
            figures = " ".join(f"{seconds(step[each]):>9}" for each in ("p50", "p95", "p99", "max"))
            kept = "" if step["kept_up"] else "  did not keep up"
            self._line(
                f"  {rate(step['offered']):>10} {rate(step['answered']):>10} {figures} {step['errors']:>7}{kept}",
                "" if step["kept_up"] else "yellow",
            )
        if not loop["saturated"]:
            self._line(f"  kept up with all that was tried, {rate(loop['highest_kept_up'])}", "bright_black")

    def _costs(self, server: Json) -> None:
        cost, growth = server["cost"], server["growth"]
        if cost is None:
            return
        self._paper.line("")
        self._line("  Cost of all its processes", "bold")
        after = cost["after"] or cost["before"]
        words = [("memory", "rss", size), ("threads", "threads", number), ("open files", "files", number)]
        most = {"rss": cost["peak_rss"], "threads": cost["most_threads"], "files": cost["most_files"]}
        for title, name, write in words:
            figures = f"before {write(cost['before'][name])}, most {write(most[name])}, after {write(after[name])}"
            grown = growth[name]
            more = f"; each request adds {interval(grown, write)}" if grown and name == "rss" else ""
            self._line(f"  {title:<11} {figures}{more}")
        self._line(f"  {'CPU':<11} {seconds(cost['cpu_per_request'])} a request, in {growth['requests']} requests")
        sessions = server["sessions"]
        if sessions["count"]:
            known = [(title, sessions[name], write) for title, name, write in words if sessions[name]]
            left = [f"{interval(each, write)} {title}" for title, each, write in known if each["low"] > 0]
            own = server["transport"] == "stdio"
            told = (
                f"each takes {', '.join(left)} more than the one before"
                if left and own
                else f"each leaves {', '.join(left)} behind"
                if left
                else "nothing that is left behind can be told from noise"
            )
            self._line(f"  {'sessions':<11} {sessions['count']} were opened and closed: {told}")

    def _own(self, bare: Json) -> None:
        cells = bare["loads"]
        if not cells:
            return
        told = ", ".join(f"{cell['in_flight']}: {seconds(cell['p50'])}" for cell in cells)
        self._line(
            "Our own cost: p50 of the same client with a server that does nothing, by requests in flight", "bold"
        )
        self._line(f"  {told}; at most {rate(max(cell['rate'] for cell in cells))}")
        if any(each for server in self._report["servers"] for each in _dominated(server)):
            self._line(f"  {MARK} marks figures that say more about this cost than about the server")
        self._paper.line("")

    def _left_out(self, server: Json) -> None:
        rows = list(server["left_out"].items())
        if not rows:
            return
        self._paper.line("")
        shown = rows if self._paper.full else rows[:REASONS]
        self._line("  Not measured", "bold")
        for name, why in shown:
            self._line(f"  {_clipped(name):<{NAME}} {shortened(why, 200)}", "bright_black")
        if len(rows) > len(shown):
            self._line(f"  and {len(rows) - len(shown)} more: --verbose shows them", "bright_black")

    def _comparison(self, comparison: Json) -> None:
        if comparison is None:
            return
        self._line(f"Compared with {comparison['with']}", "bold")
        for row in comparison["rows"]:
            told = f"{row['ratio']:.2f} times (95 %: {row['low']:.2f} to {row['high']:.2f})"
            style = {"slower": "red", "faster": "green"}.get(row["state"], "bright_black")
            if row["state"] != "same" or self._paper.full:
                where = f"{_clipped(row['operation']):<{NAME}} {row['in_flight']:>3} in flight"
                self._line(f"  {row['state']:<7} {where}: {told}", style)
        counts = {
            state: sum(row["state"] == state for row in comparison["rows"]) for state in ("slower", "faster", "same")
        }
        self._line(f"  {counts['slower']} slower, {counts['faster']} faster, {counts['same']} not told from noise")
        for note in comparison["notes"]:
            self._line(f"  note: {note}", "bright_black")
        self._paper.line("")

    def _bound(self, row: Json) -> None:
        server = f"{row['server']}: " if len(self._report["servers"]) > 1 else ""
        value = of_metric(row["metric"], row["value"])
        where = f", {row['where']}" if row["where"] else ""
        told = {"kept": f"is {value}", "broken": f"is {value}", "not measured": "was not measured"}[row["state"]]
        style = {"kept": "green", "broken": "bold red"}.get(row["state"], "red")
        self._line(f"{server}bound {row['state']}: {row['bound']}: {row['metric']} {told}{where}", style)


def _clipped(name: str) -> str:
    name = visible(name)
    return name if len(name) <= NAME else f"{name[: NAME - 3]}..."


def _marked(cell: Json, name: str) -> str:
    value = seconds(cell[name])
    return f"{MARK}{value}" if name == "p50" and (cell["ours"] or 0) >= OURS else value


def _dominated(server: Json) -> Iterator[Json]:
    for operation in server["operations"]:
        yield from (cell for cell in operation["loads"] if (cell["ours"] or 0) >= OURS)
