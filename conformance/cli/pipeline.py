"""What a run writes by itself where a pipeline runs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conformance.engine.options import Invocation
from conformance.reporters import Reporter
from conformance.system.github_actions import SUMMARY, Output, guard, on_github, summary_file

GITHUB = "github"
"""What --format says; without it that is so in a step of GitHub Actions."""


def reporters(plan: Invocation, output: Output) -> Iterator[tuple[str, Reporter]]:
    """Annotations, which go to `output`, and the summary of the step, each with the name of what it writes."""
    if plan.format == GITHUB or (not plan.format and on_github()):
        from conformance.reporters.github import GithubReporter

        guard()
        yield "the annotations", GithubReporter(output)
    if path := summary_file():
        from conformance.reporters.step_summary import StepSummary

        yield SUMMARY, StepSummary(path)


def is_summary(path: Path) -> bool:
    """Whether that is the summary of the step: it is appended to, and not written anew."""
    summary = summary_file()
    return summary is not None and path.resolve() == summary.resolve()
