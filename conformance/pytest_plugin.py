"""A second front: `pytest --mcp-server "python my_server.py"` gives one test for each requirement put to the test.

Public hooks only. The engine runs once, when the tests are collected, and each item reports the verdict on one
requirement in one run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conformance.model import Judged, Report, Run


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line that a test run needs."""
    group = parser.getgroup("mcp-conform", "conformance of an MCP server")
    group.addoption("--mcp-server", metavar="COMMAND", help="command that starts the MCP server to test")
    group.addoption("--mcp-url", metavar="URL", help="URL of the MCP server to test; {port} with --mcp-server")
    group.addoption("--mcp-target", metavar="FILE", help="target file, as mcp-conform --target")
    group.addoption(
        "--mcp-revision",
        metavar="DATE",
        action="append",
        default=[],
        help="revision of the specification to test (repeatable)",
    )
    group.addoption("--mcp-only", metavar="PATTERN", action="append", default=[], help="as mcp-conform --only")
    group.addoption("--mcp-skip", metavar="PATTERN", action="append", default=[], help="as mcp-conform --skip")
    group.addoption("--mcp-quick", action="store_true", help="only what can be found out in one session")
    group.addoption(
        "--mcp-profile", metavar="NAME", action="append", default=[], help="as mcp-conform --profile (repeatable)"
    )
    group.addoption("--mcp-call-tools", choices=("none", "safe", "all"), help="tools that may be called (safe)")
    group.addoption("--mcp-harmful", action="store_true", help="as mcp-conform --harmful")
    group.addoption("--mcp-timeout", metavar="SECONDS", type=float, help="how long an answer may take (10)")
    group.addoption("--mcp-fuzz", metavar="N", type=int, help="frames of each fuzz campaign (300); 0: none")
    group.addoption("--mcp-seed", metavar="NUMBER", type=int, help="which frames are generated (0)")
    group.addoption("--mcp-strict", action="store_true", help="warnings fail too")


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Test the server and add the items."""
    if any(config.getoption(option) for option in ("--mcp-server", "--mcp-url", "--mcp-target")):
        items.extend(Conformance.from_parent(session, name="mcp-conform").collect())


class NonConforming(Exception):
    """The requirement is broken; the text is the finding."""


class Conformance(pytest.Collector):
    """Collects the verdicts of one run of the engine."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each requirement put to the test, in each revision."""
        report = self._test()
        if report.problem and not report.runs:
            told = ". ".join(part for part in (report.problem, report.diagnosis, report.hint) if part)
            raise pytest.UsageError(f"mcp-conform: {_shown(told)}")
        for run in report.runs:
            for judged in run.verdicts:
                name = f"{run.revision}::{run.transport}::{judged.requirement.id}"
                yield RequirementItem.from_parent(self, name=name, run_=run, judged=judged)

    def _test(self) -> Report:
        from conformance.engine.runner import Runner
        from conformance.model import UsageError
        from conformance.reporters.masking import masked
        from conformance.settings.settings import Words, settle, target_file
        from conformance.target.mask import Mask

        option = self.config.getoption
        words = Words(
            server=option("--mcp-server"),
            url=option("--mcp-url"),
            revisions=option("--mcp-revision"),
            only=option("--mcp-only"),
            skip=option("--mcp-skip"),
            call_tools=option("--mcp-call-tools"),
            timeout=option("--mcp-timeout"),
            fuzz=option("--mcp-fuzz"),
            seed=option("--mcp-seed"),
            quick=option("--mcp-quick"),
            harmful=option("--mcp-harmful"),
            profiles=option("--mcp-profile"),
        )
        named = option("--mcp-target")
        mask = Mask({})
        try:
            target, options = settle(words, target_file(Path(named)) if named else None)
            mask = Mask(target.secrets)
            runner = Runner(target, options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of regular expressions in the server's schemas
                for _event in runner.run():
                    pass
        except UsageError as error:
            raise pytest.UsageError(f"mcp-conform: {_shown(mask.text(str(error)))}") from None
        return masked(mask, runner.report())


class RequirementItem(pytest.Item):
    """The verdict on one requirement in one run."""

    def __init__(self, *, run_: Run, judged: Judged, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self.run_ = run_
        self.judged = judged

    def runtest(self) -> None:
        """Report the verdict in pytest's terms: a violation fails, a neutral verdict skips."""
        from conformance.engine.verdicts import outcome
        from conformance.model import Verdict
        from conformance.reporters.words import finding_text

        judged = self.judged
        result = outcome(judged, "warning" if self.config.getoption("--mcp-strict") else "violation")
        if result == "skipped":
            pytest.skip(f"{judged.verdict}: {_shown(judged.reason)}")
        if result == "error":
            raise RuntimeError(f"mcp-conform itself failed: {_shown(judged.reason)}")
        if judged.verdict is Verdict.FAILED:
            if result == "failed":
                raise NonConforming(finding_text(judged))
            self.add_report_section("call", "finding", finding_text(judged))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """The finding without a traceback: ours would say nothing about the server."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[str, None, str]:
        """How pytest names the item."""
        return "mcp-conform", None, self.name


def _shown(text: str) -> str:
    """`text`, in which a server may have its say, on one line."""
    from conformance.reporters.words import shortened, visible

    return visible(shortened(text, 1600))
