"""`init`: survey a server and write the target file for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conformance.commands.wrong_use import wrong

if TYPE_CHECKING:
    from conformance.model import Json
    from conformance.survey import Survey


@click.command()
@click.option("--server", default="", metavar="COMMAND", help="Command that starts the server.")
@click.option("--url", default="", metavar="URL", help="URL of the server, as for mcp-conform itself.")
@click.option(
    "--env",
    multiple=True,
    metavar="NAME=VALUE",
    help="Environment of the server; the file gets the name only. Repeatable.",
)
@click.option(
    "--header", multiple=True, metavar="'NAME: VALUE'", help="HTTP header; the file gets the name only. Repeatable."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default="mcp-conform.yaml",
    show_default=True,
    metavar="FILE",
    help="The file to write.",
)
def init(server: str, url: str, env: tuple[str, ...], header: tuple[str, ...], output: Path) -> None:
    """Survey a server and write a target file for it, with comments; an existing file is left alone."""
    from conformance.masking import Mask
    from conformance.options import UsageError
    from conformance.runner import Runner
    from conformance.settings import WrongUse, settle

    if not (server or url):
        wrong("say which server: --server COMMAND or --url URL")
    if output.exists():
        wrong(f"{output} exists; nothing was written")
    if not output.parent.is_dir():
        wrong(f"{output} cannot be written: there is no folder {output.parent}")
    said = {"server": server, "url": url, "env": env, "headers": header, "only": ["session/survey"]}
    mask = Mask({})
    try:
        target, options = settle({**said, "revisions": ["newest"]}, None)
        mask, runner = Mask(target.secrets), Runner(target, options)
        for _event in runner.run():
            pass
    except (WrongUse, UsageError) as error:
        wrong(mask.text(str(error)))
    survey = mask.event(runner.survey)
    if survey is None:
        click.echo(f"mcp-conform: nothing was written: {mask.text(runner.report().problem)}", err=True)
        click.get_current_context().exit(3)
    text = _text(server, url, {"env": env, "headers": header}, survey)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        wrong(f"{output} cannot be written: {error.strerror}")
    lists = (("tools", survey.tools), ("resources", survey.resources), ("prompts", survey.prompts))
    found = ", ".join(f"{len(items)} {name}" for name, items in lists)
    where = "" if output == Path("mcp-conform.yaml") else f" --target {output}"
    click.echo(f"{output} is written: {found}. `mcp-conform{where}` tests the server.")


def _text(server: str, url: str, given: dict[str, tuple[str, ...]], survey: Survey) -> str:
    lines = [
        "# What mcp-conform is to know about this server. Options of the command line come before what stands here.",
        "# All keys: mcp-conform explain target-file",
    ]
    lines += [f"server: {_scalar(server)}"] if server else []
    lines += [f"url: {_scalar(url)}"] if url else []
    for key, separator in (("env", "="), ("headers", ":")):
        names = [text.partition(separator)[0].strip() for text in given[key]]
        if names:
            lines += ["# $NAME is taken from the environment, and masked in every report.", f"{key}:"]
            lines += [f"  {_scalar(name)}: ${_variable(name)}" for name in names]
    lines += ["# revisions: [newest]    # default: every revision that the server speaks", ""]
    lines += _tools(survey) + _prompts(survey) + _resources(survey)
    lines += [
        "# What the client answers when the server asks; without it something plausible.",
        "# answers:",
        "#   sampling: The text that the model says.",
        "#   elicitation: {name: Ada}",
        "#   roots: [file:///tmp/project]",
        "",
        "# Cases of your own: a folder, in the format of the suite's cases.",
        "# cases: conformance",
    ]
    return "\n".join(lines) + "\n"


def _tools(survey: Survey) -> list[str]:
    if not survey.tools:
        return []
    lines = [
        "# Tools that may be called, with sample arguments. Those annotated readOnlyHint: true are called anyway;",
        "# take out the # only where a call does no harm. `outcome: result` (or error) makes that a rule of yours.",
    ]
    mine = [_tool(survey, tool) for tool in survey.tools if isinstance(tool.get("name"), str)]
    some = any(not line.startswith("#") for part in mine for line in part)
    return [*lines, "tools:" if some else "# tools:", *(line for part in mine for line in part), ""]


def _tool(survey: Survey, tool: Json) -> list[str]:
    from conformance.survey import Unavailable

    try:
        arguments = _scalar(survey.arguments_for(tool))
        remark = ""
    except Unavailable as reason:
        arguments, remark = "{}", f"    # {reason}"
    mark = "" if survey.policy.allows(tool) and not remark else "# "
    return [f"{mark}  {_scalar(tool['name'])}:", f"{mark}    - arguments: {arguments}{remark}"]


def _prompts(survey: Survey) -> list[str]:
    prompts = [prompt for prompt in survey.prompts if isinstance(prompt.get("name"), str) and prompt.get("arguments")]
    if not prompts:
        return []
    lines = ["# Sample arguments of prompts.", "prompts:"]
    return [*lines, *(f"  {_scalar(p['name'])}: {_scalar(survey.prompt_arguments(p))}" for p in prompts), ""]


def _resources(survey: Survey) -> list[str]:
    templates = [t["uriTemplate"] for t in survey.templates if isinstance(t.get("uriTemplate"), str)]
    if not templates:
        return []
    lines = ["# URIs that may be read beside the listed ones, such as some that these templates stand for:"]
    return [*lines, *(f"#   {_scalar(template)}" for template in templates), "# resources: []", ""]


def _scalar(value: Json) -> str:
    """A value on one line, in the JSON that YAML also reads."""
    return json.dumps(value, ensure_ascii=False)


def _variable(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper()
