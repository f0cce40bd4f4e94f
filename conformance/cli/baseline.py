"""Known failures: `baseline write` makes a baseline of a report."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.wrong_use import wrong

if TYPE_CHECKING:
    from conformance.engine.baseline import Known
    from conformance.model import Json

NAME = Path("mcp-conform-baseline.yaml")


@click.group()
def baseline() -> None:
    """Accept the failures that are known, for --baseline."""


@baseline.command()
@click.argument("report", type=click.Path(path_type=Path), metavar="REPORT")
@click.option("--out", type=click.Path(path_type=Path), default=NAME, show_default=True, metavar="FILE", help="Where.")
@click.option(
    "--fail-on",
    type=click.Choice(["violation", "warning", "advice"]),
    default="violation",
    show_default=True,
    help="The lowest severity that is accepted.",
)
@click.option("--reason", metavar="TEXT", help="Why what is new in the baseline is accepted.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="The last day, for what is new in it.")
def write(report: Path, out: Path, **given: Any) -> None:
    """Write a baseline of what failed in REPORT, which --json FILE wrote; - is stdin.

    What FILE already says about a failure that is still there stays. Edit the reasons.

    mcp-conform --server "python my_server.py" --json - | mcp-conform baseline write -
    """
    from conformance.catalogue.requirements import load
    from conformance.cli.written import read as read_report
    from conformance.files.yaml_files import FileError
    from conformance.reporters.report_file import ReportFile
    from conformance.settings.baseline_file import read, written

    kind, data = read_report(report)
    if kind != "report":
        wrong(f"{report} is a {kind}; a baseline is written of a report (--json FILE)")
    if not data.get("complete", True) or data.get("problem") or data.get("problems") or not data["runs"]:
        why = data.get("problem") or next(iter(data.get("problems", {}).values()), "the run was interrupted")
        wrong(f"{report} is about a run that could not test everything: {why}")
    try:
        old = read(out, {*load(), *_rules(data)}).entries if out.exists() else ()
        until = given["until"].date() if given["until"] else None
        reason = given["reason"] or f"known on {date.today()}; say why it is accepted"
        entries = _entries(data, old, reason, until, given["fail_on"])
        file = ReportFile(out)
        file.write(written(entries, out.name))
        file.close()
    except FileError as error:
        wrong(str(error))
    except OSError as error:
        wrong(f"--out: {out} cannot be written: {error.strerror}")
    kept = sum(entry in old for entry in entries)
    failures = f"{len(entries)} known failure{'s' * (len(entries) != 1)}"
    click.echo(f"{out}: {failures}, {len(entries) - kept} new, {len(old) - kept} removed")


def _rules(data: Json) -> set[str]:
    return {verdict["requirement"] for run in data["runs"] for verdict in run["verdicts"]}


def _entries(data: Json, old: tuple[Known, ...], reason: str, until: date | None, fail_on: str) -> list[Known]:
    """One for each rule, revision and server; an old one that covers several of them stays as it is."""
    from conformance.engine.baseline import Known
    from conformance.model import Severity

    found: dict[Known, None] = {}
    for run in data["runs"]:
        for verdict in run["verdicts"]:
            if not verdict["findings"] or Severity(verdict["severity"]).rank < Severity(fail_on).rank:
                continue
            rule, revision, target = verdict["requirement"], run["revision"], run.get("name", "")
            covering = [e for e in old if e.rule == rule and e.revision in ("", revision) and e.target in ("", target)]
            found.setdefault(covering[0] if covering else Known(rule, reason, revision, target, until))
    return list(found)
