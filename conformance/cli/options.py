"""The options of the command line, in the sections of its help."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from conformance.cli.wrong_use import wrong

MOST = 1_000_000
"""The largest number that an option takes, in seconds eleven days."""

F = TypeVar("F", bound=Callable[..., Any])

TARGET, CHOICE, CARE, REPORTS = "The server", "What is tested", "Tools and timeouts", "Reports and exit status"
FUZZING, OTHER = "Generated frames", "Options"


class Option(click.Option):
    """An option in a section of the help."""

    def __init__(self, *args: Any, section: str, **how: Any) -> None:
        super().__init__(*args, **how)
        self.section = section


def _write_sections(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            sections.setdefault(getattr(parameter, "section", OTHER), []).append(record)
    for title, rows in sorted(sections.items(), key=lambda section: section[0] == OTHER):
        with formatter.section(title):
            formatter.write_dl(rows)


class Sectioned(click.Command):
    """Help with a section for each group of options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_sections(self, ctx, formatter)


class Sections(click.Group):
    """Help with a section for each group of options, and the commands in our order."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_sections(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from conformance.cli.first_try import meant

            if line := meant(args):
                wrong(f"{args[0]!r} is not a command of mcp-conform; did you mean: {line}")
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class Number(click.FloatRange):
    """A number from `least` up to what clocks and counters can take."""

    def __init__(self, least: float) -> None:
        super().__init__(min=least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What is given, unless it is too large, or nan, which passes for being in every range."""
        number = super().convert(value, param, ctx)
        if not number <= MOST:
            self.fail(f"{value} is not a number up to {MOST}.", param, ctx)
        return number


def option(section: str, *names: str, **how: Any) -> Callable[[F], F]:
    """An option in a section of the help; the rest is click's."""
    return click.option(*names, cls=Option, section=section, **how)


def file_option(section: str, name: str, text: str, metavar: str = "FILE") -> Callable[[F], F]:
    """One that takes a path."""
    return option(section, name, type=click.Path(path_type=Path), metavar=metavar, help=text)


def seconds(section: str, name: str, text: str) -> Callable[[F], F]:
    """One that takes a time."""
    return option(section, name, type=Number(0.1), metavar="SECONDS", help=text)


def call_tools(section: str) -> Callable[[F], F]:
    """Which tools may be called."""
    return option(
        section,
        "--call-tools",
        type=click.Choice(["none", "safe", "all"]),
        help="Which tools may be called: none, safe (those annotated readOnlyHint: true) or all.  [default: safe]",
    )


FILES = {
    "json": "Write the report as JSON.",
    "junit": "Write the report as JUnit XML.",
    "html": "Write the report as one HTML page, for people.",
    "markdown": "Write the report as Markdown, for GitHub and GitLab.",
    "sarif": "Write the findings as SARIF, for code scanning.",
    "badge": "Write a badge: .json is an endpoint for shields.io, .svg a picture.",
    "trace": "Write every frame as it is sent or received, as JSON lines.",
    "snapshot": "Write what the server offers, for mcp-conform diff.",
}
"""The reporters that write a file, as the table in `conformance/reporters` has them, and the help of each option."""


def report_files(command: F) -> F:
    """An option for each of FILES."""
    for name, text in reversed(FILES.items()):
        command = file_option(REPORTS, f"--{name}", text)(command)
    return command


SERVER = option(TARGET, "--server", default="", metavar="COMMAND", help="Command that starts the server.")
ENVIRONMENT = option(
    TARGET, "--env", multiple=True, metavar="NAME=VALUE", help="Add to the server's environment. Repeatable."
)
CWD = file_option(TARGET, "--cwd", "The folder in which the server is started.", "DIR")
HEADER = option(
    TARGET, "--header", multiple=True, metavar="'NAME: VALUE'", help="Send with every HTTP request. Repeatable."
)
TOKEN_ENV = option(
    TARGET,
    "--token-env",
    metavar="NAME",
    help="Send the access token in this environment variable with every HTTP request. It is never shown.",
)
TRANSPORT = option(
    TARGET,
    "--transport",
    type=click.Choice(["stdio", "http", "sse", "websocket"]),
    help="How the server is spoken to; sse is HTTP+SSE, as of 2024-11-05. Default: stdio without a --url, websocket at "
    "a ws:// URL, else http and, if messages are refused there, sse.",
)
REVISION = option(
    CHOICE,
    "--revision",
    multiple=True,
    metavar="DATE",
    help="Test this revision of the specification, and fail if the server does not speak it. Repeatable. all: every "
    "one that it speaks; newest: only the newest. Default: the newest with a handshake, and the newest without one.",
)
ONLY = option(
    CHOICE,
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Test only what matches: an area, a requirement or a case; * and ? are wildcards. CASE:REQUIREMENT "
    "reports of a case only what is about the requirement. Repeatable.",
)
QUICK = option(
    CHOICE,
    "--quick",
    is_flag=True,
    help="Test only what can be found out in one session, while you work on the server. The whole run finds more.",
)
HARMFUL = option(
    CARE,
    "--harmful",
    is_flag=True,
    help="Send also what may hurt the server, such as generated frames, to one that was not started by mcp-conform. "
    "One that it starts itself (--server) always gets them.",
)
PROFILE = option(
    CHOICE,
    "--profile",
    multiple=True,
    metavar="NAME",
    help="Give advice on what these clients need: claude, vscode, openai, gemini, cursor; registry: what "
    "directories of servers need. Repeatable.",
)
FUZZ = option(
    FUZZING,
    "--fuzz",
    type=click.IntRange(0, 1_000_000),
    metavar="N",
    help="How many frames each campaign generates; 0: none.  [default: 300]",
)
VERBOSE = option(REPORTS, "--verbose", "-v", is_flag=True, help="Show everything, and each case as it ends.")
QUIET = option(REPORTS, "--quiet", "-q", is_flag=True, help="Show only the violations and the verdict.")
