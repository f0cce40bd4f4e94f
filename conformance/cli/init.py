"""`init`: survey a server and write the target file for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import click

from conformance.cli.wrong_use import wrong


@click.command()
@click.option("--server", default="", metavar="COMMAND", help="Command that starts the server.")
@click.option("--url", default="", metavar="URL", help="URL of the server, as for mcp-conform itself.")
@click.option(
    "--transport", type=click.Choice(["stdio", "http", "sse", "websocket"]), help="How the server is spoken to."
)
@click.option(
    "--env",
    multiple=True,
    metavar="NAME=VALUE",
    help="Environment of the server; only the name goes into the file. Repeatable.",
)
@click.option(
    "--header",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="HTTP header; only the name goes into the file. Repeatable.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default="mcp-conform.yaml",
    show_default=True,
    metavar="FILE",
    help="The file to write.",
)
def init(
    server: str, url: str, transport: str | None, env: tuple[str, ...], header: tuple[str, ...], output: Path
) -> None:
    """Ask a server what it offers and write a target file for it, with comments. An existing file is not changed."""
    from conformance.engine.runner import Runner
    from conformance.engine.supervision import Supervisor
    from conformance.model import UsageError
    from conformance.settings.settings import Words, settle
    from conformance.settings.target_file_text import Given, Misread, text_for
    from conformance.system.processes import adopting
    from conformance.target.mask import Mask

    if not (server or url):
        wrong("say which server: --server COMMAND or --url URL")
    _check(output)
    words = Words(server, url, transport, env, header, only=["session/survey"], revisions=["newest"])
    mask = Mask({})
    try:
        target, options = settle(words, None)
        mask, runner = Mask(target.secrets), Runner(target, options)
        with adopting(), Supervisor(runner) as supervisor:
            report = supervisor.run(lambda event: None)
    except UsageError as error:
        wrong(mask.text(str(error)))
    survey = runner.survey
    if survey is None or not report.complete:
        _nothing(mask.text(report.problem) if report.complete else "interrupted")
    names = (
        tuple(text.partition("=")[0].strip() for text in env),
        tuple(text.partition(":")[0].strip() for text in header),
    )
    try:
        _put(output, text_for(Given(server, url, *names, transport or ""), survey, mask.text))
    except Misread as why:
        _nothing(mask.text(str(why)))
    lists = (("tools", survey.tools), ("resources", survey.resources), ("prompts", survey.prompts))
    found = ", ".join(f"{len(items)} {name}" for name, items in lists)
    where = "" if output == Path("mcp-conform.yaml") else f" --target {output}"
    click.echo(f"{output} is written: {found}. `mcp-conform{where}` tests the server.")


def _check(output: Path) -> None:
    """Whether the file can be written, before a server is started for it."""
    if os.path.lexists(output):
        wrong(f"{output} exists; nothing was written")
    if output.suffix == ".toml":
        wrong(f"{output} would be read as TOML; the file is YAML")
    if not output.parent.is_dir():
        wrong(f"{output} cannot be written: there is no folder {output.parent}")


def _put(output: Path, text: str) -> None:
    """The file as a whole or not at all; what came to be there meanwhile is left alone."""
    part = output.with_name(f".mcp-conform.{os.getpid()}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        try:
            os.link(part, output)
        except FileExistsError:
            wrong(f"{output} exists; nothing was written")
        except OSError:  # a file system without links
            with output.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except FileExistsError:
        wrong(f"{output} exists; nothing was written")
    except OSError as error:
        _nothing(f"{output}: {error.strerror}")
    finally:
        part.unlink(missing_ok=True)


def _nothing(why: str) -> NoReturn:
    from conformance.reporters.words import shortened, visible

    click.echo(f"mcp-conform: nothing was written: {visible(shortened(why, 2000))}", err=True)
    click.get_current_context().exit(3)
