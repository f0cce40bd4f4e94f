"""The command line. What is only needed for a run is imported when a run begins."""

from __future__ import annotations

import contextlib
import errno
import gc
import traceback
import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from conformance.budget import give_back_early
from conformance.cli import catalogue
from conformance.cli.baseline import baseline
from conformance.cli.bench import bench
from conformance.cli.cases import cases
from conformance.cli.diff import diff
from conformance.cli.export import export
from conformance.cli.fleet import fleet
from conformance.cli.init import init
from conformance.cli.options import (
    CARE,
    CHOICE,
    CWD,
    ENVIRONMENT,
    FILES,
    FUZZ,
    FUZZING,
    HARMFUL,
    HEADER,
    ONLY,
    PROFILE,
    QUICK,
    QUIET,
    REPORTS,
    REVISION,
    SERVER,
    TARGET,
    TOKEN_ENV,
    TRANSPORT,
    VERBOSE,
    Sections,
    call_tools,
    file_option,
    option,
    report_files,
    seconds,
)
from conformance.cli.wrong_use import wrong
from conformance.system import interrupts
from conformance.system.standard_streams import FAILED, flush, say, silence, why

if TYPE_CHECKING:
    from conformance.engine.options import Detail, Invocation
    from conformance.settings.settings import Words


def _written(given: dict[str, Any]) -> dict[str, Path]:
    return {kind: given[kind] for kind in FILES if given[kind]}


def _detail(given: dict[str, Any]) -> Detail:
    if given["verbose"] and given["quiet"]:
        wrong("--verbose and --quiet contradict each other")
    return "full" if given["verbose"] else "quiet" if given["quiet"] else "usual"


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
    cls=Sections,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@SERVER
@option(
    TARGET,
    "--url",
    default="",
    metavar="URL",
    help="URL of a server that is running or, with --server, is started; {port} in both is a free port.",
)
@TRANSPORT
@ENVIRONMENT
@CWD
@HEADER
@TOKEN_ENV
@option(
    TARGET,
    "--other-token",
    multiple=True,
    metavar="KIND=NAME",
    help="Another access token, in this environment variable, which must be refused somewhere; its kind is "
    "fewer-scopes, other-user, other-audience or expired. Repeatable.",
)
@option(
    TARGET,
    "--oauth",
    type=click.Choice(["client-credentials"]),
    help="Get the access token from the authorization server that the server names, which is contacted for that, with "
    "the client in MCP_CONFORM_CLIENT_ID and MCP_CONFORM_CLIENT_SECRET.",
)
@option(
    TARGET,
    "--register-client",
    is_flag=True,
    help="Clients may be registered with the server, if it is its own authorization server (2025-03-26).",
)
@option(TARGET, "--scope", metavar="SCOPE", help="What --oauth asks for.  [default: what the server names]")
@file_option(
    TARGET,
    "--target",
    "Target file, which describes the server. Default: mcp-conform.yaml, or [tool.mcp-conform] in "
    "pyproject.toml, in this folder. Command-line options override it.",
)
@option(
    TARGET,
    "--config",
    default="",
    metavar="FILE",
    help="Test the servers of an MCP client's configuration, such as .mcp.json, .vscode/mcp.json or "
    "claude_desktop_config.json.",
)
@option(TARGET, "--name", multiple=True, metavar="NAME", help="Test only this server of --config. Repeatable.")
@REVISION
@ONLY
@option(CHOICE, "--skip", multiple=True, metavar="PATTERN", help="Leave out what matches. Repeatable.")
@file_option(CHOICE, "--cases", "Also run your own cases, in this folder.", "DIR")
@QUICK
@option(
    CHOICE, "--watch", is_flag=True, help="Test as with --quick, again whenever a file in the server's folder changes."
)
@PROFILE
@FUZZ
@seconds(FUZZING, "--fuzz-time", "How long a campaign may last.  [default: 10]")
@option(FUZZING, "--seed", type=int, metavar="NUMBER", help="Which frames are generated.  [default: 0]")
@file_option(
    FUZZING, "--save-cases", "Write what the campaigns found to DIR/found.yaml, as cases that reproduce it.", "DIR"
)
@call_tools(CARE)
@option(CARE, "--call-tool", multiple=True, metavar="NAME", help="This tool may be called. Repeatable.")
@option(
    CARE,
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="How many servers run at once.  [default: 6; up to 24 that only wait while they start]",
)
@HARMFUL
@seconds(CARE, "--start-timeout", "How long the first answer may take.  [default: 30]")
@seconds(CARE, "--timeout", "How long any other answer may take.  [default: 10]")
@seconds(CARE, "--time-limit", "How long the run may take: then it stops and reports.  [default: no limit]")
@seconds(CARE, "--server-time-limit", "How long each server of a --config may take.  [default: no limit]")
@option(REPORTS, "--strict", is_flag=True, help="Warnings fail too, like --fail-on warning.")
@option(
    REPORTS,
    "--fail-on",
    type=click.Choice(["violation", "warning", "advice"]),
    help="The lowest severity that fails, with exit status 1.  [default: violation]",
)
@file_option(
    REPORTS,
    "--baseline",
    "Failures that are known do not fail; those in the file that are gone do. mcp-conform baseline writes one.",
)
@report_files
@option(
    REPORTS,
    "--format",
    type=click.Choice(["text", "github"]),
    help="How stdout is written: text, or github for text with annotations.  [default: github in GitHub Actions]",
)
@VERBOSE
@QUIET
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
        files = _written(given)
        servers = configured(config, given["name"]) if config else tested
        options = replace(options, trace="trace" in files)
        form = given["format"] or ""
        plan = Invocation(servers, options, files, _detail(given), given["save_cases"], form)
    except UsageError as error:
        wrong(str(error))
    if given["watch"]:
        _watch(given, config)
    _run(plan)


def _watch(given: dict[str, Any], config: str) -> NoReturn:
    """Start runs of the same command line. What is wrong with it has been told already."""
    import sys

    from conformance.cli.watch import keep_watching

    if given["json"]:
        wrong("--json cannot be used with --watch, which keeps reports of its own")
    words = [word for word in sys.argv[1:] if word != "--watch"]
    quick = [] if given["quick"] else ["--quick"]
    folder = given["cwd"] or (given["target"] or Path(config or ".")).parent
    click.get_current_context().exit(keep_watching([*words, *quick], folder))


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
@report_files
@VERBOSE
@QUIET
def demo(
    fault: tuple[str, ...],
    list_faults: bool,
    transport: str | None,
    authorization: bool,
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
        options = replace(options, trace=bool(given["trace"]))
        plan = Invocation(reference(fault, transport or "", authorization), options, _written(given), _detail(given))
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


for _command in (catalogue.list_requirements, catalogue.explain, init, baseline, diff, bench, fleet, cases, export):
    app.add_command(_command)
