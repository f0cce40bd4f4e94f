"""What the user says to pytest: options of the command line, each also a key of the configuration file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from conformance.engine.options import Options
    from conformance.model import Target
    from conformance.settings.settings import Words

Kind = Literal["text", "words", "lines", "flag", "float", "int"]


@dataclass(frozen=True, slots=True)
class Option:
    """`--mcp-NAME`, and `mcp_NAME` in the configuration file of pytest.

    What is of kind `words` or `lines` may be given several times; in the file it is a list, or text with words or
    lines.
    """

    name: str
    kind: Kind
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    key: str = ""
    """The field of `Words` that takes it, if it is not of the same name."""

    @property
    def field(self) -> str:
        return self.key or self.attribute

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")

    @property
    def dest(self) -> str:
        return f"mcp_{self.attribute}"

    @property
    def several(self) -> bool:
        return self.kind in ("words", "lines")


SEVERITIES = ("violation", "warning", "advice")
TRANSPORTS = ("stdio", "http", "sse", "websocket")

OPTIONS = (
    Option("server", "lines", "command that starts the MCP server to test; NAME=COMMAND if several", "COMMAND"),
    Option("url", "text", "URL of the MCP server to test; {port} with --mcp-server", "URL"),
    Option("target", "text", "target file, which describes the server, as mcp-conform --target", "FILE"),
    Option("config", "text", "configuration of an MCP client, whose servers are tested", "FILE"),
    Option("name", "lines", "test only this server of --mcp-config", "NAME"),
    Option("transport", "text", "how the server is spoken to", choices=TRANSPORTS),
    Option("env", "lines", "add to the server's environment", "NAME=VALUE"),
    Option("cwd", "text", "the folder in which the server is started", "DIR"),
    Option("header", "lines", "send with every HTTP request", "'NAME: VALUE'", key="headers"),
    Option("token-env", "text", "send the access token in this environment variable", "NAME"),
    Option("revision", "words", "revision of the specification to test", "DATE", key="revisions"),
    Option("only", "words", "as mcp-conform --only", "PATTERN"),
    Option("skip", "words", "as mcp-conform --skip", "PATTERN"),
    Option("cases", "text", "also run your own cases, in this folder", "DIR"),
    Option("baseline", "text", "failures that are known, as mcp-conform --baseline", "FILE"),
    Option("quick", "flag", "only what can be found out in one session"),
    Option("profile", "words", "give advice on what these clients need", "NAME", key="profiles"),
    Option("call-tools", "text", "tools that may be called (safe)", choices=("none", "safe", "all")),
    Option("call-tool", "lines", "this tool may be called", "NAME", key="tools"),
    Option("harmful", "flag", "as mcp-conform --harmful"),
    Option("start-timeout", "float", "how long the first answer may take (30)", "SECONDS"),
    Option("timeout", "float", "how long any other answer may take (10)", "SECONDS"),
    Option("jobs", "int", "how many servers run at once (6)", "N"),
    Option("fuzz", "int", "frames of each fuzz campaign (300); 0: none", "N"),
    Option("seed", "int", "which frames are generated (0)", "NUMBER"),
    Option("strict", "flag", "warnings fail too"),
    Option("fail-on", "text", "the lowest severity that fails (violation)", choices=SEVERITIES),
)
DESCRIBING = ("server", "url", "target", "config")
"""What says which servers are tested. Given on the command line, the file has no say in that."""
WITH_CONFIG = ("server", "url", "target", "transport", "env", "cwd", "header", "token-env")
"""What a client configuration says itself."""

INI: dict[str, Literal["string", "args", "linelist", "bool"]] = {
    "words": "args",
    "lines": "linelist",
    "flag": "bool",
}
NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.+)", re.DOTALL)


def add(parser: pytest.Parser) -> None:
    """Make them known to pytest."""
    group = parser.getgroup("mcp-conform", "conformance of MCP servers")
    for option in OPTIONS:
        again = " (repeatable)" if option.several else ""
        how: dict[str, Any] = {"help": option.help + again, "dest": option.dest}
        if option.kind == "flag":
            how |= {"action": "store_true"}
        else:
            how |= {"metavar": option.metavar} if option.metavar else {"choices": option.choices}
            how |= {"action": "append", "default": []} if option.several else {}
            how |= {"type": {"float": float, "int": int}[option.kind]} if option.kind in ("float", "int") else {}
        group.addoption(f"--mcp-{option.name}", **how)
        parser.addini(option.dest, f"as --mcp-{option.name}", type=INI.get(option.kind, "string"))


@dataclass(frozen=True, slots=True)
class Server:
    """A server to test, and how. `name` is "" if it is the only one; `problem` says why it cannot be tested, if so."""

    name: str
    target: Target
    options: Options
    problem: str = ""


def on_command_line(config: pytest.Config) -> bool:
    """Whether the command line names a server."""
    return any(config.getoption(f"mcp_{name}") for name in DESCRIBING)


def active(config: pytest.Config) -> bool:
    """Whether there is anything to test."""
    return on_command_line(config) or any(config.getini(f"mcp_{name}") for name in DESCRIBING)


def servers(config: pytest.Config) -> tuple[list[Server], list[str]]:
    """The servers that command line and configuration file describe, and what there is to note.

    Raises pytest.UsageError.
    """
    from conformance.model import UsageError
    from conformance.reporters.words import shortened, visible

    notes: list[str] = []
    try:
        return list(_servers(config, notes)), notes
    except UsageError as error:
        raise pytest.UsageError(f"mcp-conform: {visible(shortened(str(error), 1600))}") from None


def _servers(config: pytest.Config, notes: list[str]) -> Iterator[Server]:
    """Raises UsageError."""
    from conformance.model import UsageError
    from conformance.settings.settings import NOTHING, configured, settle, target_file

    said = {option.name: _said(config, option) for option in OPTIONS}
    if said["name"] and not said["config"]:
        raise UsageError("--mcp-name: only the servers of a --mcp-config have names")
    if said["config"]:
        given = [name for name in WITH_CONFIG if said[name]]
        if given:
            raise UsageError(f"--mcp-{given[0]} cannot be used with --mcp-config, which says how servers are started")
        path = str(_path(config, said["config"]))
        settings = configured(path, said["name"])
        _, options = settle(_words(config, said, None), NOTHING)
        notes += settings.notes
        several = len(settings.servers) > 1
        for each in settings.servers:
            named_by = ("--config", path, "--name", each.name)
            yield Server(each.name, each.target, replace(options, named_by=named_by, shared=several), each.problem)
        return
    file = target_file(_path(config, said["target"])) if said["target"] else None
    commands = _named(said["server"])
    if len(commands) > 1 and (said["url"] or said["target"]):
        raise UsageError("--mcp-url and --mcp-target are for one server: several are given by --mcp-server alone")
    for name, command in commands or [("", "")]:
        target, options = settle(_words(config, said, said["url"], command), file)
        if not (target.command or target.url):
            raise UsageError(f"--mcp-target: {said['target']} names neither a server nor a url")
        yield Server(name, target, replace(options, shared=len(commands) > 1))


def _words(config: pytest.Config, said: dict[str, Any], url: str | None, server: str = "") -> Words:
    from conformance.settings.settings import Words

    taken = {field for field in Words.__dataclass_fields__ if field not in DESCRIBING}
    words = {option.field: said[option.name] for option in OPTIONS if option.field in taken}
    words |= {name: _path(config, words[name]) for name in ("cwd", "cases", "baseline")}
    if words["cwd"] is None and server and not on_command_line(config) and config.rootpath != Path.cwd():
        words["cwd"] = config.rootpath  # a command in the file is as seen from there
    if said["strict"] and said["fail-on"] in (None, "violation"):
        words["fail_on"] = "warning"
    return Words(server=server or None, url=url or None, **words)


def _said(config: pytest.Config, option: Option) -> Any:
    """What the user says, as `Words` takes it; None, empty or False if that is nothing. Raises UsageError."""
    from conformance.model import UsageError

    value = config.getoption(option.dest)
    if value not in (None, [], False) or (option.name in DESCRIBING and on_command_line(config)):
        return value
    try:
        text = config.getini(option.dest)
    except TypeError as error:
        raise UsageError(str(error)) from None
    if option.kind == "flag" or option.several or text == "":
        return text if text != "" else None
    if option.choices and text not in option.choices:
        raise UsageError(f"{option.dest}: {text!r} is none of {', '.join(option.choices)}")
    try:
        return {"float": float, "int": int}.get(option.kind, str)(text)
    except ValueError:
        raise UsageError(f"{option.dest}: {text!r} is not a number") from None


def _path(config: pytest.Config, text: str | None) -> Path | None:
    """A path of the command line is relative to the working directory, as is one of the file if that is not beside it.

    None for none.
    """
    if not text:
        return None
    path, beside = Path(text), config.rootpath / text
    return beside if not path.exists() and beside.exists() else path


def _named(given: Sequence[str]) -> list[tuple[str, str]]:
    """Name and command of each server. One alone needs no name; others are numbered. Raises UsageError."""
    from conformance.model import UsageError

    found: list[tuple[str, str]] = []
    for number, text in enumerate(given, 1):
        match = NAMED.fullmatch(text.strip())
        name, command = (match[1], match[2]) if match else ("" if len(given) == 1 else f"server-{number}", text)
        if name in dict(found):
            raise UsageError(f"--mcp-server: there are two servers {name!r}")
        found.append((name, command))
    return found
