"""One server under load: `bench`."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.options import (
    CARE,
    CWD,
    ENVIRONMENT,
    HEADER,
    QUIET,
    REPORTS,
    SERVER,
    TARGET,
    TOKEN_ENV,
    TRANSPORT,
    VERBOSE,
    Number,
    Sectioned,
    call_tools,
    file_option,
    option,
    seconds,
)
from conformance.cli.wrong_use import wrong

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.bench.plan import Plan
    from conformance.bench.run import Measurement
    from conformance.engine.options import Detail, Options
    from conformance.model import Json, Target

MEASURED = "What is measured"


@click.command(cls=Sectioned)
@SERVER
@option(
    TARGET,
    "--url",
    default="",
    metavar="URL",
    help="URL of a server that is running, which needs --yes, or that --server starts; {port} in both is a free port.",
)
@TRANSPORT
@ENVIRONMENT
@CWD
@HEADER
@TOKEN_ENV
@file_option(TARGET, "--target", "Target file, which describes the server. Default: the one in this folder.")
@option(
    TARGET,
    "--against",
    default="",
    metavar="COMMAND",
    help="Another server, which is measured in turns with the first and compared with it; with a --url, too, it is "
    "served there.",
)
@option(
    MEASURED,
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Only operations that match: a method, or tools/call:NAME; * and ? are wildcards. Repeatable.",
)
@option(MEASURED, "--revision", metavar="DATE", help="In this revision.  [default: the newest that the server speaks]")
@option(
    MEASURED,
    "--in-flight",
    metavar="N,…",
    help="How many requests are in flight at once.  [default: 1,2,4,8,16,32,64]",
)
@seconds(MEASURED, "--duration", "How long all takes at most, once the server has started.  [default: 30]")
@option(
    MEASURED,
    "--rate",
    type=Number(0.1),
    metavar="NUMBER",
    help="At most so many requests a second.  [default: 20 at a --url that is not started here, else no limit]",
)
@call_tools(CARE)
@option(CARE, "--call-tool", multiple=True, metavar="NAME", help="This tool may be called. Repeatable.")
@option(CARE, "--yes", is_flag=True, help="The server at the --url, which is not started here, may be put under load.")
@seconds(CARE, "--start-timeout", "How long the first answer may take.  [default: 30]")
@seconds(CARE, "--timeout", "How long any other answer may take.  [default: 10]")
@option(
    REPORTS,
    "--bound",
    multiple=True,
    metavar="BOUND",
    help="Fail if this is exceeded: [OPERATION:]METRIC[@IN_FLIGHT]=VALUE, such as p95=50ms, "
    "tools/call:echo:p99@16=0.2s, rate@64=500, rss=200MB, errors=0, leak=1MB/1000. Repeatable.",
)
@file_option(REPORTS, "--compare", "Compare with what --json wrote before.")
@file_option(REPORTS, "--json", "Write the report as JSON.")
@file_option(REPORTS, "--html", "Write the report as one HTML page.")
@VERBOSE
@QUIET
def bench(**given: Any) -> None:
    """Measure one server under load: latency, throughput, memory, what goes wrong.

    mcp-conform bench --server "python my_server.py" --bound p95=50ms

    No tool is called that may do harm. It is no verdict unless you set a --bound.

    Exit status: 0 no bound is broken; 1 one is; 2 wrong use; 3 nothing, or not everything, could be measured.
    """
    from conformance.model import UsageError

    if given["verbose"] and given["quiet"]:
        wrong("--verbose and --quiet contradict each other")
    try:
        targets, options = _targets(given)
        status = _carry_out(targets, _plan(given, options, targets[0]), given)
    except UsageError as error:
        wrong(str(error))
    click.get_current_context().exit(status)


def _targets(given: dict[str, Any]) -> tuple[list[Target], Options]:
    """The server, and the other one if there is one; the options of the suite. Raises UsageError."""
    from conformance.model import UsageError
    from conformance.settings.settings import Words, settle, target_file

    said = Words(
        server=given["server"],
        url=given["url"],
        transport=given["transport"],
        env=given["env"],
        cwd=given["cwd"],
        headers=given["header"],
        token_env=given["token_env"],
        tools=given["call_tool"],
        call_tools=given["call_tools"],
        revisions=[given["revision"]] if given["revision"] else [],
        start_timeout=given["start_timeout"],
        timeout=given["timeout"],
    )
    file = target_file(given["target"])
    if not (said.server or said.url or (file and {"server", "url"} & set(file.settings))):
        raise UsageError("say what to measure: --server COMMAND, or --url URL")
    target, options = settle(said, file)
    if not given["revision"]:
        options = replace(options, revisions=())
    if not given["against"]:
        return [target], options
    if not target.command:
        raise UsageError("--against is a command: the server that it is compared with must be started by --server")
    other, _ = settle(replace(said, server=given["against"], url=target.url), file)
    return [target, other], options


def _plan(given: dict[str, Any], options: Options, target: Target) -> Plan:
    """Raises UsageError."""
    from conformance.bench.plan import CAUTIOUS_RATE, DURATION, Plan
    from conformance.model import UsageError
    from conformance.revisions import BY_DATE

    if given["revision"] and given["revision"] not in BY_DATE:
        raise UsageError(f"--revision: there is no revision {given['revision']!r}; there are {', '.join(BY_DATE)}")
    foreign = not target.command
    if foreign and not given["yes"]:
        raise UsageError(
            "--url: load may hurt a server that others use; if this one may be put under load, say so with --yes "
            f"(at most {CAUTIOUS_RATE:g} requests a second unless --rate says otherwise)"
        )
    plan = Plan(
        options,
        duration=given["duration"] or DURATION,
        rate=given["rate"] or (CAUTIOUS_RATE if foreign else 0.0),
        only=given["only"],
    )
    if not given["in_flight"]:
        return plan
    words = given["in_flight"].split(",")
    if not all(word.strip().isdecimal() and 1 <= int(word) <= 1000 for word in words):
        raise UsageError(f"--in-flight: {given['in_flight']!r} is not a list of numbers from 1 to 1000, like 1,8,64")
    return replace(plan, loads=tuple(sorted({1, *map(int, words)})), chosen_loads=True)


def _carry_out(targets: list[Target], plan: Plan, given: dict[str, Any]) -> int:
    """Measure, and report; the exit status. Raises UsageError."""
    from conformance.bench.bounds import parsed
    from conformance.bench.clock import GRACE
    from conformance.bench.run import INTERRUPTED, Measurement
    from conformance.engine.supervision import Supervision
    from conformance.model import UsageError
    from conformance.reporters.bench.masking import masked
    from conformance.reporters.report_file import STDOUT, ReportFile
    from conformance.system import interrupts
    from conformance.system.processes import adopting
    from conformance.target.mask import Mask

    bounds = [parsed(text) for text in given["bound"]]
    old = _old(given["compare"]) if given["compare"] is not None else None
    if old is not None and len(targets) > 1:
        raise UsageError("--compare and --against cannot be used together: each says what to compare with")
    files: dict[str, ReportFile] = {}
    for kind in ("json", "html"):
        if given[kind] is not None:
            try:
                files[kind] = ReportFile(given[kind])
            except OSError as error:
                raise UsageError(f"--{kind}: {given[kind]} cannot be written: {error.strerror}") from None
    mask = Mask({value: name for target in targets for value, name in target.secrets.items()})
    measuring = Measurement(targets, plan, bounds, _progress())
    measuring.teach(mask.learn)
    interrupts.settle(False)
    failed: list[Exception] = []

    def work() -> None:
        try:
            measuring.run()
        except Exception as error:
            failed.append(error)

    with Supervision() as supervision, adopting():
        ended = supervision.carry_out(work, measuring.stop, measuring.left)
        _progress()("")
        if ended and failed:
            raise failed[0]
        report = masked(mask, _learned(measuring, old, INTERRUPTED if supervision.interrupted else measuring.overdue))
        with supervision.last_words(GRACE):
            status = _written(report, files, _detail(given), STDOUT in (given["json"], given["html"]))
        interrupts.settle()
    return status


def _learned(measuring: Measurement, old: Json, why: str) -> Json:
    """The report. What was told to stop may still be at work, and change what it is made of meanwhile."""
    for _ in range(3):
        with contextlib.suppress(RuntimeError):
            return measuring.report(old, why)
    return measuring.report(old, why)


def _old(path: Path) -> Json:
    """The report that --json wrote before. Raises UsageError."""
    import json

    from jsonschema_rs import Draft202012Validator

    from conformance.files.places import SCHEMAS
    from conformance.model import UsageError

    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise UsageError(f"--compare: {path} cannot be read: {why}") from None
    schema = json.loads((SCHEMAS / "bench.json").read_text(encoding="utf-8"))
    problem = next(iter(Draft202012Validator(schema).iter_errors(report)), None)
    if problem is not None:
        place = "".join(f"/{step}" for step in problem.instance_path) or "its top"
        told = problem.message[:200]
        raise UsageError(f"--compare: {path} is no report of mcp-conform bench (--json): at {place}: {told}")
    if not report["servers"]:
        raise UsageError(f"--compare: {path} has no figures: {report['problem']}")
    return report


def _written(report: Json, files: dict[str, Any], detail: Detail, aside: bool) -> int:
    """Write the reports, the one for people on stderr if another one goes to stdout (`aside`); the exit status."""
    import json

    from conformance.bench.run import UNTESTED
    from conformance.reporters.bench.page import as_html
    from conformance.reporters.bench.table import print_report
    from conformance.system.standard_streams import say, why

    status: int = report["exit"]
    for kind, file in files.items():
        try:
            file.write(as_html(report) if kind == "html" else json.dumps(report, indent=1) + "\n")
        except OSError as error:
            say(f"--{kind} could not be written: {why(error)}")
            status = UNTESTED
        finally:
            file.close()
    with contextlib.suppress(BrokenPipeError):
        print_report({**report, "exit": status}, detail, sys.stderr if aside else sys.stdout)
    return status


def _detail(given: dict[str, Any]) -> Detail:
    return "full" if given["verbose"] else "quiet" if given["quiet"] else "usual"


def _progress() -> Any:
    """Shows on a terminal what is measured now, on one line of stderr that the next one replaces."""

    def tell(words: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{f'mcp-conform: {words} …' if words else ''}")
            sys.stderr.flush()

    return tell
