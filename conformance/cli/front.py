"""From a plan to a run, its reports and an exit status."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from conformance.cli import pipeline
from conformance.engine.options import ClientConfig, Invocation, Options
from conformance.engine.runner import Runner
from conformance.engine.several import Several
from conformance.engine.supervision import Engine, Supervisor
from conformance.engine.verdicts import EXIT_UNTESTED
from conformance.model import UsageError
from conformance.reporters import Reporter, to_file
from conformance.reporters.delivery import TERMINAL, Delivery
from conformance.reporters.report_file import STDOUT
from conformance.reporters.words import lines, visible
from conformance.system import interrupts
from conformance.system.github_actions import Output
from conformance.system.standard_streams import say
from conformance.target.mask import Mask
from conformance.transports.stdio import StdioTransport


def carry_out(plan: Invocation, ahead: StdioTransport | None = None) -> int:
    """Run, and report to everybody who is to know; the exit status. `ahead` is the target, if it was started already.

    Interrupted, it ends the servers and reports what was learned. Raises UsageError.
    """
    from conformance.reporters.terminal import TerminalReporter

    paths = [path.resolve() for path in plan.files.values()]
    if len(set(paths)) < len(paths):
        raise UsageError("two reports cannot go to the same file")
    output: Output = "stderr" if STDOUT in plan.files.values() else "stdout"
    interrupts.settle(False)
    engine = _engine(plan, ahead)
    mask = Mask(plan.target.secrets)
    if isinstance(engine, Runner):
        engine.teach(mask.learn)
    with contextlib.closing(Delivery(mask)) as delivery:
        for kind, path in plan.files.items():
            if pipeline.is_summary(path):
                continue
            try:
                delivery.add(f"--{kind}: {path}", to_file(kind, path, plan.options.fail_on))
            except OSError as error:
                raise UsageError(f"--{kind}: {path} cannot be written: {error.strerror}") from None
        if plan.save_cases is not None:
            delivery.add(f"--save-cases: {plan.save_cases}", _found_cases(plan.save_cases))
        for name, reporter in pipeline.reporters(plan, output):
            delivery.add(name, reporter)
        delivery.add(TERMINAL, TerminalReporter(plan.detail, getattr(sys, output)))
        try:
            return _report(engine, delivery, mask, plan.options)
        except UsageError as error:
            raise UsageError(mask.text(visible(str(error)))) from None


def _engine(plan: Invocation, ahead: StdioTransport | None) -> Engine:
    target = plan.target
    try:
        return (
            Several(target, plan.options) if isinstance(target, ClientConfig) else Runner(target, plan.options, ahead)
        )
    except UsageError as error:
        raise UsageError(str(error)) from None


def _found_cases(folder: Path) -> Reporter:
    from conformance.reporters.found_cases import FoundCases, Occupied

    try:
        return FoundCases(folder)
    except Occupied as error:
        raise UsageError(f"--save-cases: {error}") from None
    except OSError as error:
        raise UsageError(f"--save-cases: {folder} cannot be written: {error.strerror}") from None


def _report(engine: Engine, delivery: Delivery, mask: Mask, options: Options) -> int:
    """Run the engine and have all reports written; the exit status. Raises UsageError."""
    with Supervisor(engine, options.time_limit) as supervisor:
        report = supervisor.run(delivery.tell)
        if options.baseline is not None:
            report = options.baseline.applied(report, options.fail_on)
        with supervisor.last_words():
            report = delivery.finish(report)
        for sentence in delivery.lost:
            say(sentence)
        bugs = [*supervisor.bugs, *delivery.bugs]
        for bug in bugs:
            say(f"this is a bug of mcp-conform, not of the server: please report it\n{lines(mask.text(bug))}")
        interrupts.settle()
    return EXIT_UNTESTED if bugs else report.exit
