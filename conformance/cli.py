"""The command line. What is only needed for a run is imported when a run begins."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

from conformance.commands import catalogue
from conformance.commands.wrong_use import wrong

if TYPE_CHECKING:
    from conformance.front import Plan

CallTools = Literal["none", "safe", "all"]
FailOn = Literal["violation", "warning", "advice"]

TARGET, CHOICE, CARE, REPORTS = "The server", "What is tested", "Care and patience", "Reports and exit status"
FUZZING = "Generated frames"

Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Test only what matches: an area, a requirement or a case; * and ? are wildcards. Repeatable.",
        rich_help_panel=CHOICE,
    ),
]
Revisions = Annotated[
    list[str] | None,
    typer.Option(
        "--revision",
        metavar="DATE",
        help="Test this revision of the specification, and fail if the server does not speak it; newest: only the "
        "newest that it speaks. Repeatable. Default: every revision that the server speaks.",
        rich_help_panel=CHOICE,
    ),
]
Fuzz = Annotated[
    int,
    typer.Option(
        min=0,
        max=1_000_000,
        metavar="N",
        help="How many frames each campaign generates; 0: none.",
        rich_help_panel=FUZZING,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Show each case as it ends, and all of every finding.", rich_help_panel=REPORTS
    ),
]


class _Sections(TyperGroup):
    """Help with a section for each group of options. Typer's own, by rich, takes 0.1 s to import."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                title = getattr(parameter, "rich_help_panel", None) or "Options"
                sections.setdefault(title, []).append(record)
        for title, rows in sorted(sections.items(), key=lambda section: section[0] == "Options"):
            with formatter.section(title):
                formatter.write_dl(rows)
        self.format_commands(ctx, formatter)


app = typer.Typer(
    name="mcp-conform",
    cls=_Sections,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """The entry point `mcp-conform`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="mcp-conform")


def _version(wanted: bool) -> None:
    if wanted:
        from conformance import __version__

        typer.echo(f"mcp-conform {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def run(  # noqa: PLR0913 - one parameter for each option
    context: typer.Context,
    server: Annotated[
        str, typer.Option(metavar="COMMAND", help="Command that starts the server.", rich_help_panel=TARGET)
    ] = "",
    url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="URL of a server that runs or, with --server, will run; {port} in both stands for a free port.",
            rich_help_panel=TARGET,
        ),
    ] = "",
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Add to the server's environment. Repeatable.", rich_help_panel=TARGET),
    ] = None,
    cwd: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the server is started.", rich_help_panel=TARGET)
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="Send with every HTTP request. Repeatable.", rich_help_panel=TARGET),
    ] = None,
    revision: Revisions = None,
    only: Only = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Leave out what matches. Repeatable.", rich_help_panel=CHOICE),
    ] = None,
    fuzz: Fuzz = 300,
    fuzz_time: Annotated[
        float,
        typer.Option(
            min=0.1, metavar="SECONDS", help="How long a campaign may generate frames.", rich_help_panel=FUZZING
        ),
    ] = 10.0,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="Another seed gives other frames.", rich_help_panel=FUZZING)
    ] = 0,
    save_cases: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write what the campaigns found to DIR/found.yaml, as cases that show it again.",
            rich_help_panel=FUZZING,
        ),
    ] = None,
    call_tools: Annotated[
        CallTools,
        typer.Option(
            help="Which tools may be called: none, safe (those annotated readOnlyHint: true) or all.",
            rich_help_panel=CARE,
        ),
    ] = "safe",
    call_tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="This tool may be called. Repeatable.", rich_help_panel=CARE),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="How many servers run at once.", rich_help_panel=CARE)] = 6,
    start_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long the start may take.", rich_help_panel=CARE)
    ] = 30.0,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long an answer may take.", rich_help_panel=CARE)
    ] = 10.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings fail too: --fail-on warning.", rich_help_panel=REPORTS)
    ] = False,
    fail_on: Annotated[
        FailOn, typer.Option(help="The least severity that gives exit status 1.", rich_help_panel=REPORTS)
    ] = "violation",
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON.", rich_help_panel=REPORTS)
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as JUnit XML.", rich_help_panel=REPORTS)
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every frame as it goes, as JSON lines.", rich_help_panel=REPORTS),
    ] = None,
    verbose: Verbose = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Test whether an MCP server keeps to the Model Context Protocol.

    mcp-conform --server "python my_server.py"

    Exit status: 0 no violation; 1 violations; 2 wrong use; 3 nothing could be tested, not all of it, or mcp-conform
    itself failed.
    """
    if context.invoked_subcommand is not None:
        if server or url:
            wrong(f"--server and --url do not go with {context.invoked_subcommand}")
        return
    if not (server or url):
        typer.echo(context.get_help(), err=True)
        wrong("say what to test: --server COMMAND or --url URL")
    from conformance.front import Plan, WrongUse, options, target

    try:
        plan = Plan(
            target(server, url, env or (), str(cwd) if cwd else None, header or ()),
            options(
                {"revisions": revision, "only": only, "skip": skip, "named_tools": call_tool},
                call_tools=call_tools,
                jobs=jobs,
                fail_on="warning" if strict and fail_on == "violation" else fail_on,
                trace=trace is not None,
                limits=(start_timeout, timeout),
                fuzz=(fuzz, fuzz_time, seed),
            ),
            {kind: path for kind, path in (("json", json), ("junit", junit), ("trace", trace)) if path},
            verbose,
            save_cases,
        )
    except WrongUse as error:
        wrong(str(error))
    _run(plan)


@app.command()
def demo(
    fault: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Give the server this fault. Repeatable.")
    ] = None,
    list_faults: Annotated[bool, typer.Option("--list-faults", help="List the faults and exit.")] = False,
    revision: Revisions = None,
    only: Only = None,
    fuzz: Fuzz = 300,
    verbose: Verbose = False,
) -> None:
    """Test the bundled reference server; --fault shows what a failure looks like."""
    from conformance.front import Plan, WrongUse, faults, options, reference

    if list_faults:
        for row in faults():
            typer.echo(f"{row['name']:42} {row['text']}")
        return
    try:
        plan = Plan(
            reference(fault or ()),
            options({"revisions": revision, "only": only}, call_tools="all", fuzz=(fuzz, 10.0, 0)),
            {},
            verbose,
        )
    except WrongUse as error:
        wrong(str(error))
    _run(plan)


def _run(plan: Plan) -> NoReturn:
    from conformance.front import WrongUse, carry_out

    try:
        status = carry_out(plan)
    except WrongUse as error:
        wrong(str(error))
    except KeyboardInterrupt:
        typer.echo("mcp-conform: interrupted before anything was tested", err=True)
        raise typer.Exit(3) from None
    raise typer.Exit(status)


for _command in (catalogue.list_requirements, catalogue.explain):
    app.command(_command.__name__.removesuffix("_requirements"))(_command)
