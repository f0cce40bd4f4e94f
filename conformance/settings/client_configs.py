"""The configurations of MCP clients as targets: `mcpServers` (Cursor, Claude, Windsurf) and `servers` (VS Code)."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from conformance.engine.options import ClientConfig, ConfiguredServer
from conformance.files.json_files import load
from conformance.files.variables import Unfilled, Variables
from conformance.files.yaml_files import FileError, Lines, Place, line_of
from conformance.model import Json, Target
from conformance.revisions import HTTP, HTTP_SSE, SCHEMES, STDIO, WEBSOCKET
from conformance.target.process import why_not_runnable
from conformance.target.secrets import confidential, taken_openly
from conformance.target.urls import flaw

SECTIONS = ("mcpServers", "servers")
"""Where the clients keep their servers."""

TYPES = {
    "stdio": STDIO,
    "http": HTTP,
    "streamablehttp": HTTP,
    "sse": HTTP_SSE,
    "websocket": WEBSOCKET,
    "ws": WEBSOCKET,
}
WANTED = {HTTP: "an http or https", HTTP_SSE: "an http or https", WEBSOCKET: "a ws or wss"}
ALLOWED_TYPES = "stdio, http, streamable-http, sse, websocket"

TRANSPORT_KEYS = ("type", "transport", "transportType")
URL_KEYS = ("url", "serverUrl")
KEYS = {*TRANSPORT_KEYS, *URL_KEYS, "command", "args", "env", "cwd", "headers"}
HARMLESS = re.compile(
    r"(disabled|alwaysAllow|autoApprove|disabledTools|enabledTools|includeTools|excludeTools|trust|tools"
    r"|timeout|initTimeout|startupTimeout|toolTimeout|retries|name|description|icon|gallery|version|dev|note|notes)\Z"
    r"|_|//|\$"
)
"""Keys that say how the client is to treat a server, and nothing of the server itself."""


def read(path: str, names: Iterable[str] = ()) -> ClientConfig:
    """The servers called `names`, or all but the disabled ones, of the configuration in the file `path`.

    Nothing is started; whether a command can be run is looked up. Raises FileError.
    """
    file = Path(path)
    data, lines = load(file)
    reading = _Reading(path, lines)
    found = reading.listed(data)
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in found:
            near = difflib.get_close_matches(name, found, n=len(found), cutoff=0.5)
            there = ", ".join([*near, *(other for other in found if other not in near)])
            raise FileError(file, line_of(lines, (reading.section,)), f"there is no server {name!r}; there are {there}")
    servers = []
    for name, (section, entry) in found.items():
        if wanted and name not in wanted:
            continue
        if not wanted and isinstance(entry, dict) and entry.get("disabled") is True:
            reading.notes.append(f"{name} is disabled and was not tested; --name {name} tests it")
            continue
        servers.append(reading.server(name, section, entry))
    return ClientConfig(path, tuple(servers), tuple(reading.notes))


@dataclass(slots=True)
class _Reading:
    """What is known while a configuration is read."""

    path: str
    lines: Lines
    section: str = ""
    notes: list[str] = field(default_factory=list)

    def wrong(self, place: Place, what: str) -> NoReturn:
        raise FileError(Path(self.path), line_of(self.lines, place), what)

    def listed(self, data: Json) -> dict[str, tuple[str, Json]]:
        """Name → section and entry."""
        if not isinstance(data, dict):
            self.wrong((), f"is not a client configuration: an object with {' or '.join(SECTIONS)} is needed")
        sections = [key for key in SECTIONS if key in data]
        if not sections:
            keys = f"its keys are {', '.join(data)}" if data else "it is empty"
            self.wrong((), f"is not a client configuration: it has neither {' nor '.join(SECTIONS)}; {keys}")
        found: dict[str, tuple[str, Json]] = {}
        for section in sections:
            self.section = section
            if not isinstance(data[section], dict):
                self.wrong((section,), f"{section} must be an object: name of a server → its settings")
            for name, entry in data[section].items():
                if not name.strip():
                    self.wrong((section, name), "a server needs a name")
                if name in found:
                    self.wrong((section, name), f"the server {name!r} stands in both {' and '.join(SECTIONS)}")
                found[name] = (section, entry)
        if not found:
            self.wrong((self.section,), f"{self.section} is empty: there is no server to test")
        return found

    def server(self, name: str, section: str, entry: Json) -> ConfiguredServer:
        """The server of one entry."""
        place = (section, name)
        if not isinstance(entry, dict):
            self.wrong(place, f"{name}: the settings of a server must be an object with command or url")
        unknown = [key for key in entry if key not in KEYS and not HARMLESS.match(key)]
        if unknown:
            self.notes.append(f"{name}: ignored what is not known here: {', '.join(unknown)}")
        kind = self._kind(place, entry)
        shape = self._stdio(place, entry) if kind == STDIO else self._remote(place, entry)
        variables = Variables(_workspace(Path(self.path)))
        try:
            target = _filled(shape, variables)
        except Unfilled as reason:
            return ConfiguredServer(name, Target(name=name, config=self.path), str(reason))
        cwd = _started_in(Path(self.path), target.cwd) if target.command else None
        taken = {value: name for value, name in variables.secrets.items() if not taken_openly(name, value)}
        secrets = {**confidential(target, os.environ), **taken}
        via = HTTP_SSE if kind == HTTP_SSE else ""
        target = replace(target, name=name, config=self.path, cwd=cwd, secrets=secrets, via=via)
        if target.command:
            return ConfiguredServer(name, target, why_not_runnable(target))
        if target.url.partition("://")[0] not in SCHEMES[kind]:
            return ConfiguredServer(name, target, f"{target.url!r} is not {WANTED[kind]} URL")
        wrong = flaw(target.url)
        return ConfiguredServer(name, target, f"{target.url!r} {wrong}" if wrong else "")

    # -- inside

    def _kind(self, place: tuple[str, ...], entry: Mapping[str, Json]) -> str:
        """The transport, or what an entry without a type means."""
        name = place[-1]
        given = next((key for key in TRANSPORT_KEYS if key in entry), "")
        has_url = any(key in entry for key in URL_KEYS)
        if given:
            said = entry[given]
            word = said.lower().replace("-", "").replace("_", "") if isinstance(said, str) else ""
            if word not in TYPES:
                self.wrong(
                    (*place, given),
                    f"{name}: {given} {json.dumps(said)[:60]} is not known; allowed are {ALLOWED_TYPES}",
                )
            kind = TYPES[word]
            if kind == STDIO and "command" not in entry:
                self.wrong((*place, given), f"{name}: a server of type stdio needs command")
            if kind != STDIO and not has_url:
                self.wrong((*place, given), f"{name}: a server of type {said} needs url")
            return kind
        if "command" in entry and has_url:
            self.wrong(place, f"{name}: has both command and url; keep one of them, or say which by type")
        if not has_url and "command" not in entry:
            keys = f"; its keys are {', '.join(entry)}" if entry else ""
            self.wrong(place, f"{name}: has neither command nor url{keys}")
        url = next((entry[key] for key in URL_KEYS if key in entry), "")
        at_websocket = isinstance(url, str) and url.partition("://")[0] in SCHEMES[WEBSOCKET]
        return WEBSOCKET if at_websocket else HTTP if has_url else STDIO

    def _stdio(self, place: tuple[str, ...], entry: Mapping[str, Json]) -> Target:
        command = self._text(place, entry, "command")
        args = entry.get("args")
        if args is None:
            args = []
        if not isinstance(args, list):
            self.wrong((*place, "args"), f"{place[-1]}: args must be a list of strings, not {_shown(args)}")
        for number, word in enumerate(args):
            if not isinstance(word, str):
                where: Place = (*place, "args", number)
                self.wrong(
                    where, f"{place[-1]}: args must be a list of strings; element {number + 1} is {_shown(word)}"
                )
        cwd = self._text(place, entry, "cwd") if entry.get("cwd") is not None else None
        return Target((command, *args), env=self._texts(place, entry, "env"), cwd=cwd)

    def _remote(self, place: tuple[str, ...], entry: Mapping[str, Json]) -> Target:
        key = next(key for key in URL_KEYS if key in entry)
        return Target(url=self._text(place, entry, key), headers=self._texts(place, entry, "headers"))

    def _text(self, place: tuple[str, ...], entry: Mapping[str, Json], key: str) -> str:
        value = entry[key]
        if not isinstance(value, str) or not value.strip():
            self.wrong((*place, key), f"{place[-1]}: {key} must be a string that is not empty, not {_shown(value)}")
        return value

    def _texts(self, place: tuple[str, ...], entry: Mapping[str, Json], key: str) -> dict[str, str]:
        values = entry.get(key)
        if values is None:
            return {}
        if not isinstance(values, dict):
            self.wrong((*place, key), f"{place[-1]}: {key} must be an object of strings, not {_shown(values)}")
        for name, value in values.items():
            if not isinstance(value, str):
                what = f"{place[-1]}: {key}: the value of {name} must be a string (in quotes), not {_shown(value)}"
                self.wrong((*place, key, name), what)
        return values


def _filled(target: Target, variables: Variables) -> Target:
    """The target with its variables filled in. Raises Unfilled."""
    fill = variables.fill
    return Target(
        tuple(fill(word) for word in target.command),
        fill(target.url),
        {name: fill(value) for name, value in target.env.items()},
        fill(target.cwd) if target.cwd is not None else None,
        {name: fill(value) for name, value in target.headers.items()},
    )


def _workspace(path: Path) -> Path:
    """The project that a configuration belongs to: .vscode/mcp.json, .cursor/mcp.json and .mcp.json lie in one."""
    folder = path.resolve().parent
    return folder.parent if folder.name.startswith(".") else folder


def _started_in(path: Path, cwd: str | None) -> str | None:
    """Where a server is started: `cwd` as seen from the project, else the project; None if there is no project."""
    workspace = _workspace(path)
    if cwd is not None:
        return str(workspace / cwd)
    in_project = path.name == ".mcp.json" or path.resolve().parent.name.startswith(".")
    return str(workspace) if in_project else None


def _shown(value: Json) -> str:
    """What stands there instead; of a string, which may be secret, only that it is one."""
    if value == "":
        return "an empty one"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return json.dumps(value)
