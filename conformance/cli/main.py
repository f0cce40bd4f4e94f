"""The command line. What is only needed for a run is imported when a run begins."""

from __future__ import annotations

import contextlib
import errno
import gc
import traceback
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from conformance.budget import give_back_early
from conformance.cli import catalogue
from conformance.cli.cases import cases
from conformance.cli.diff import diff
from conformance.cli.export import export
from conformance.cli.init import init
from conformance.cli.wrong_use import wrong
from conformance.system import interrupts
from conformance.system.standard_streams import FAILED, flush, say, silence, why

if TYPE_CHECKING:
    from conformance.engine.options import Invocation
    from conformance.settings.settings import Words

F = TypeVar("F", bound=Callable[..., Any])

TARGET, CHOICE, CARE, REPORTS = "The server", "What is tested", "Tools and timeouts", "Reports and exit status"
FUZZING, OTHER = "Generated frames", "Options"


class _Option(click.Option):
    """An option in a section of the help."""

    def __init__(self, *args: Any, section: str, **how: Any) -> None:
        super().__init__(*args, **how)
        self.section = section


class _Sections(click.Group):
    """Help with a section for each group of options, and the commands in our order."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", OTHER), []).append(record)
        for title, rows in sorted(sections.items(), key=lambda section: section[0] == OTHER):
            with formatter.section(title):
                formatter.write_dl(rows)
        self.format_commands(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _option(section: str, *names: str, **how: Any) -> Callable[[F], F]:
    return click.option(*names, cls=_Option, section=section, **how)


def _file(section: str, name: str, text: str, metavar: str = "FILE") -> Callable[[F], F]:
    return _option(section, name, type=click.Path(path_type=Path), metavar=metavar, help=text)


def _seconds(section: str, name: str, text: str) -> Callable[[F], F]:
    return _option(section, name, type=click.FloatRange(min=0.1), metavar="SECONDS", help=text)


TRANSPORT = _option(
    TARGET,
    "--transport",
    type=click.Choice(["stdio", "http", "sse", "websocket"]),
    help="How the server is spoken to; sse is HTTP+SSE, as of 2024-11-05. Default: stdio without a --url, websocket at "
    "a ws:// URL, else http and, if messages are refused there, sse.",
)
REVISION = _option(
    CHOICE,
    "--revision",
    multiple=True,
    metavar="DATE",
    help="Test this revision of the specification, and fail if the server does not speak it. Repeatable. all: every "
    "one that it speaks; newest: only the newest. Default: the newest with a handshake, and the newest without one.",
)
ONLY = _option(
    CHOICE,
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Test only what matches: an area, a requirement or a case; * and ? are wildcards. Repeatable.",
)
QUICK = _option(
    CHOICE,
    "--quick",
    is_flag=True,
    help="Test only what can be found out in one session, while you work on the server. The whole run finds more.",
)
HARMFUL = _option(
    CARE,
    "--harmful",
    is_flag=True,
    help="Send also what may hurt the server, such as generated frames, to one that was not started by mcp-conform. "
    "One that it starts itself (--server) always gets them.",
)
PROFILE = _option(
    CHOICE,
    "--profile",
    multiple=True,
    metavar="NAME",
    help="Give advice on what these clients need: claude, vscode, openai, gemini, cursor; registry: what "
    "directories of servers need. Repeatable.",
)
FUZZ = _option(
    FUZZING,
    "--fuzz",
    type=click.IntRange(0, 1_000_000),
    metavar="N",
    help="How many frames each campaign generates; 0: none.  [default: 300]",
)
VERBOSE = _option(REPORTS, "--verbose", "-v", is_flag=True, help="Show each case as it ends, and each finding in full.")


COLLECT = 100_000
"""Objects made since the last garbage collection that lead to the next: our catalogue is no garbage."""


OUTPUT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""What is wrong when stdout takes nothing more."""


def run() -> int:
    """Do what the command line says; the exit status. All that was printed has been written, or its loss was told.

    Raises KeyboardInterrupt if it was interrupted before anything was tested.
    """
    warnings.simplefilter("ignore", FutureWarning)  # of regular expressions in a server's schemas
    gc.set_threshold(COLLECT)
    give_back_early()
    status: object = 0
    try:
        status = app.main(prog_name="mcp-conform", standalone_mode=False)
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
        status = error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:  # click's way when nobody reads stdout any more
        return FAILED
    except Exception as error:  # 1 would say that the server breaks the specification
        if interrupts.caused(error):
            raise KeyboardInterrupt from None
        status = FAILED
        if isinstance(error, OSError) and error.errno in OUTPUT and error.filename is None:
            say(f"stdout could not be written: {why(error)}")
            silence()
        else:
            from conformance.reporters.words import lines  # what went wrong may quote a server

            with contextlib.suppress(OSError):
                click.echo(lines(traceback.format_exc()), err=True)
            say("this is a bug of mcp-conform, not of the server: please report it")
    if lost := flush():
        say(f"stdout could not be written: {lost}")
        status = FAILED
    return status if isinstance(status, int) else 0


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from conformance import __version__

        click.echo(f"mcp-conform {__version__}")
        context.exit()


@click.group(
    "mcp-conform",
    cls=_Sections,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@_option(TARGET, "--server", default="", metavar="COMMAND", help="Command that starts the server.")
@_option(
    TARGET,
    "--url",
    default="",
    metavar="URL",
    help="URL of a server that is running or, with --server, is started; {port} in both is a free port.",
)
@TRANSPORT
@_option(TARGET, "--env", multiple=True, metavar="NAME=VALUE", help="Add to the server's environment. Repeatable.")
@_file(TARGET, "--cwd", "The folder in which the server is started.", "DIR")
@_option(TARGET, "--header", multiple=True, metavar="'NAME: VALUE'", help="Send with every HTTP request. Repeatable.")
@_option(
    TARGET,
    "--token-env",
    metavar="NAME",
    help="Send the access token in this environment variable with every HTTP request. It is never shown.",
)
@_option(
    TARGET,
    "--other-token",
    multiple=True,
    metavar="KIND=NAME",
    help="Another access token, in this environment variable, which must be refused somewhere; its kind is "
    "fewer-scopes, other-user, other-audience or expired. Repeatable.",
)
@_option(
    TARGET,
    "--oauth",
    type=click.Choice(["client-credentials"]),
    help="Get the access token from the authorization server that the server names, which is contacted for that, with "
    "the client in MCP_CONFORM_CLIENT_ID and MCP_CONFORM_CLIENT_SECRET.",
)
@_option(
    TARGET,
    "--register-client",
    is_flag=True,
    help="Clients may be registered with the server, if it is its own authorization server (2025-03-26).",
)
@_option(TARGET, "--scope", metavar="SCOPE", help="What --oauth asks for.  [default: what the server names]")
@_file(
    TARGET,
    "--target",
    "Target file, which describes the server. Default: mcp-conform.yaml, or [tool.mcp-conform] in "
    "pyproject.toml, in this folder. Command-line options override it.",
)
@_option(
    TARGET,
    "--config",
    default="",
    metavar="FILE",
    help="Test the servers of an MCP client's configuration, such as .mcp.json, .vscode/mcp.json or "
    "claude_desktop_config.json.",
)
@_option(TARGET, "--name", multiple=True, metavar="NAME", help="Test only this server of --config. Repeatable.")
@REVISION
@ONLY
@_option(CHOICE, "--skip", multiple=True, metavar="PATTERN", help="Leave out what matches. Repeatable.")
@_file(CHOICE, "--cases", "Also run your own cases, in this folder.", "DIR")
@QUICK
@PROFILE
@FUZZ
@_seconds(FUZZING, "--fuzz-time", "How long a campaign may last.  [default: 10]")
@_option(FUZZING, "--seed", type=int, metavar="NUMBER", help="Which frames are generated.  [default: 0]")
@_file(FUZZING, "--save-cases", "Write what the campaigns found to DIR/found.yaml, as cases that reproduce it.", "DIR")
@_option(
    CARE,
    "--call-tools",
    type=click.Choice(["none", "safe", "all"]),
    help="Which tools may be called: none, safe (those annotated readOnlyHint: true) or all.  [default: safe]",
)
@_option(CARE, "--call-tool", multiple=True, metavar="NAME", help="This tool may be called. Repeatable.")
@_option(CARE, "--jobs", type=click.IntRange(1, 64), metavar="N", help="How many servers run at once.  [default: 6]")
@HARMFUL
@_seconds(CARE, "--start-timeout", "How long the first answer may take.  [default: 30]")
@_seconds(CARE, "--timeout", "How long any other answer may take.  [default: 10]")
@_seconds(CARE, "--time-limit", "How long the run may take: then it stops and reports.  [default: no limit]")
@_option(REPORTS, "--strict", is_flag=True, help="Warnings fail too, like --fail-on warning.")
@_option(
    REPORTS,
    "--fail-on",
    type=click.Choice(["violation", "warning", "advice"]),
    help="The lowest severity that fails, with exit status 1.  [default: violation]",
)
@_file(REPORTS, "--json", "Write the report as JSON.")
@_file(REPORTS, "--junit", "Write the report as JUnit XML.")
@_file(REPORTS, "--trace", "Write every frame as it is sent or received, as JSON lines.")
@_file(REPORTS, "--snapshot", "Write what the server offers, for mcp-conform diff.")
@VERBOSE
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit."
)
@click.pass_context
def app(context: click.Context, /, **given: Any) -> None:
    """Test whether an MCP server follows the Model Context Protocol.

    mcp-conform --server "python my_server.py"

    Exit status: 0 no violation; 1 violations; 2 wrong use; 3 nothing, or not everything, could be tested, a report
    could not be written, or mcp-conform itself failed.
    """
    server, url, config = given["server"], given["url"], given["config"]
    if context.invoked_subcommand is not None:
        if server or url or config:
            wrong(f"--server, --url and --config cannot be used with {context.invoked_subcommand}")
        return
    if given["name"] and not config:
        wrong("--name: only the servers of a --config have names")
    if given["scope"] and not given["oauth"]:
        wrong("--scope: it is for --oauth")
    if config and given["snapshot"]:
        wrong("--snapshot is of one server: it cannot be used with --config")
    ours = ("server", "url", "transport", "env", "cwd", "header", "token_env", "other_token", "oauth", "target")
    if config and any(given[name] for name in ours):
        wrong(
            "--config says how its servers are started: --server, --url, --transport, --env, --cwd, --header, "
            "--token-env, --other-token, --oauth and --target cannot be used with it"
        )
    from conformance.engine.options import Invocation
    from conformance.model import UsageError
    from conformance.settings.settings import configured, settle, target_file

    try:
        file = None if config else target_file(given["target"])
        if not (server or url or config or (file and {"server", "url"} & set(file.settings))):
            with contextlib.suppress(OSError):
                click.echo(context.get_help(), err=True)
            wrong(
                "say what to test: --server COMMAND, --url URL or --config FILE; mcp-conform init writes a target file"
            )
        tested, options = settle(_words(given), file)
        files = {kind: given[kind] for kind in ("json", "junit", "trace", "snapshot") if given[kind]}
        servers = configured(config, given["name"]) if config else tested
        options = replace(options, trace="trace" in files)
        plan = Invocation(servers, options, files, given["verbose"], given["save_cases"])
    except UsageError as error:
        wrong(str(error))
    _run(plan)


def _words(given: dict[str, Any]) -> Words:
    """What the options say; those that no target file has are left out."""
    from conformance.settings.settings import Words

    other = {"header": "headers", "revision": "revisions", "profile": "profiles", "call_tool": "tools"}
    known = {field.name for field in fields(Words)}
    said = {other.get(name, name): value for name, value in given.items() if other.get(name, name) in known}
    if given.get("strict") and given["fail_on"] in (None, "violation"):
        said["fail_on"] = "warning"
    return Words(**said)


@app.command()
@click.option("--fault", multiple=True, metavar="NAME", help="Give the server this fault. Repeatable.")
@click.option("--list-faults", is_flag=True, help="List the faults and exit.")
@click.option("--transport", type=click.Choice(["stdio", "http", "sse"]), help="How the server is spoken to.")
@click.option("--authorization", is_flag=True, help="Let the server ask for a token, over HTTP.")
@REVISION
@ONLY
@QUICK
@PROFILE
@FUZZ
@VERBOSE
def demo(
    fault: tuple[str, ...],
    list_faults: bool,
    transport: str | None,
    authorization: bool,
    verbose: bool,
    **given: Any,
) -> None:
    """Test the bundled reference server; --fault shows what a failure looks like."""
    from conformance.engine.options import Invocation
    from conformance.model import UsageError
    from conformance.settings.settings import faults, reference, settle

    if list_faults:
        for row in faults():
            click.echo(f"{row['name']:42} {row['text']}")
        return
    try:
        _, options = settle(replace(_words(given), call_tools="all"), None)
        plan = Invocation(reference(fault, transport or "", authorization), options, {}, verbose)
    except UsageError as error:
        wrong(str(error))
    _run(plan)


def _run(plan: Invocation) -> NoReturn:
    from conformance.cli.head_start import head_start
    from conformance.model import UsageError
    from conformance.system.processes import adopting

    try:
        with adopting(), head_start(plan) as ahead:
            from conformance.cli.front import carry_out  # takes a while: the target starts meanwhile

            status = carry_out(plan, ahead)
    except UsageError as error:
        wrong(str(error))
    click.get_current_context().exit(status)


for _command in (catalogue.list_requirements, catalogue.explain, init, diff, cases, export):
    app.add_command(_command)
