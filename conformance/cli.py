"""The command line. What is only needed for a run is imported when a run begins."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

from conformance.commands import catalogue
from conformance.commands.diff import diff
from conformance.commands.init import init
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
Profiles = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Advise on what these clients need: claude, vscode, openai, gemini, cursor; registry: on what "
        "directories of servers do. Repeatable.",
        rich_help_panel=CHOICE,
    ),
]
Fuzz = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1_000_000,
        metavar="N",
        help="How many frames each campaign generates; 0: none.  [default: 300]",
        rich_help_panel=FUZZING,
    ),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Only what one session tells at once: for while you work on the server. The whole run finds more.",
        rich_help_panel=CHOICE,
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
    target: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Target file: what there is to know about the server. Default: mcp-conform.yaml here, or "
            "[tool.mcp-conform] in pyproject.toml here. Options come before what it says.",
            rich_help_panel=TARGET,
        ),
    ] = None,
    config: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Test the servers of an MCP client's configuration, such as .mcp.json, .vscode/mcp.json or "
            "claude_desktop_config.json.",
            rich_help_panel=TARGET,
        ),
    ] = "",
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of --config, test only this server. Repeatable.", rich_help_panel=TARGET),
    ] = None,
    revision: Revisions = None,
    only: Only = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Leave out what matches. Repeatable.", rich_help_panel=CHOICE),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Test the cases of your own in this folder too.", rich_help_panel=CHOICE),
    ] = None,
    quick: Quick = False,
    profile: Profiles = None,
    fuzz: Fuzz = None,
    fuzz_time: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="How long a campaign may last.  [default: 10]",
            rich_help_panel=FUZZING,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Other seeds, other frames.  [default: 0]", rich_help_panel=FUZZING),
    ] = None,
    save_cases: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write what the campaigns found to DIR/found.yaml, as cases that show it again.",
            rich_help_panel=FUZZING,
        ),
    ] = None,
    call_tools: Annotated[
        CallTools | None,
        typer.Option(
            help="Which tools may be called: none, safe (those annotated readOnlyHint: true) or all.  [default: safe]",
            rich_help_panel=CARE,
        ),
    ] = None,
    call_tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="This tool may be called. Repeatable.", rich_help_panel=CARE),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="How many servers run at once.  [default: 6]", rich_help_panel=CARE),
    ] = None,
    start_timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1, metavar="SECONDS", help="How long the start may take.  [default: 30]", rich_help_panel=CARE
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1, metavar="SECONDS", help="How long an answer may take.  [default: 10]", rich_help_panel=CARE
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings fail too: --fail-on warning.", rich_help_panel=REPORTS)
    ] = False,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            help="The least severity that gives exit status 1.  [default: violation]", rich_help_panel=REPORTS
        ),
    ] = None,
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
    snapshot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write what the server offers, for mcp-conform diff.", rich_help_panel=REPORTS
        ),
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
        if server or url or config:
            wrong(f"--server, --url and --config do not go with {context.invoked_subcommand}")
        return
    if name and not config:
        wrong("--name: only the servers of a --config have names")
    if config and snapshot:
        wrong("--snapshot is of one server: it does not go with --config")
    if config and (server or url or env or cwd or header or target):
        wrong(
            "--config says how its servers are started: --server, --url, --env, --cwd, --header and --target do not "
            "go with it"
        )
    from conformance.front import Plan, configured
    from conformance.settings import WrongUse, settle, target_file

    try:
        file = None if config else target_file(target)
        if not (server or url or config or (file and {"server", "url"} & set(file.settings))):
            typer.echo(context.get_help(), err=True)
            wrong(
                "say what to test: --server COMMAND, --url URL or --config FILE; mcp-conform init writes a target file"
            )
        said = {
            "server": server,
            "url": url,
            "env": env,
            "cwd": cwd,
            "headers": header,
            "revisions": revision,
            "only": only,
            "skip": skip,
            "cases": cases,
            "quick": quick,
            "profiles": profile,
            "call-tools": call_tools,
            "tools": call_tool,
            "jobs": jobs,
            "start-timeout": start_timeout,
            "timeout": timeout,
            "fuzz": fuzz,
            "fuzz-time": fuzz_time,
            "seed": seed,
            "fail-on": "warning" if strict and fail_on in (None, "violation") else fail_on,
        }
        tested, options = settle(said, file)
        asked = {"json": json, "junit": junit, "trace": trace, "snapshot": snapshot}
        files = {kind: path for kind, path in asked.items() if path}
        servers = configured(config, name or ()) if config else tested
        plan = Plan(servers, replace(options, trace=trace is not None), files, verbose, save_cases)
    except WrongUse as error:
        wrong(str(error))
    _run(plan)


@app.command()
def demo(  # noqa: PLR0913 - one parameter for each option
    fault: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Give the server this fault. Repeatable.")
    ] = None,
    list_faults: Annotated[bool, typer.Option("--list-faults", help="List the faults and exit.")] = False,
    revision: Revisions = None,
    only: Only = None,
    quick: Quick = False,
    profile: Profiles = None,
    fuzz: Fuzz = None,
    verbose: Verbose = False,
) -> None:
    """Test the bundled reference server; --fault shows what a failure looks like."""
    from conformance.front import Plan, faults, reference
    from conformance.settings import WrongUse, settle

    if list_faults:
        for row in faults():
            typer.echo(f"{row['name']:42} {row['text']}")
        return
    try:
        said: dict[str, object] = {
            "revisions": revision,
            "only": only,
            "quick": quick,
            "profiles": profile,
            "call-tools": "all",
            "fuzz": fuzz,
        }
        _, options = settle(said, None)
        plan = Plan(reference(fault or ()), options, {}, verbose)
    except WrongUse as error:
        wrong(str(error))
    _run(plan)


def _run(plan: Plan) -> NoReturn:
    from conformance.front import carry_out
    from conformance.settings import WrongUse

    try:
        status = carry_out(plan)
    except WrongUse as error:
        wrong(str(error))
    except KeyboardInterrupt:
        typer.echo("mcp-conform: interrupted before anything was tested", err=True)
        raise typer.Exit(3) from None
    raise typer.Exit(status)


app.command("list")(catalogue.list_requirements)
app.command()(catalogue.explain)
app.command()(init)
app.command()(diff)
