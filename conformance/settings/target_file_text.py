"""The text of a target file for a server that was surveyed: settings as YAML, and comments.

What a server says is in it as data of the tools and prompts that it lists and in comments, and cannot become anything
else: the text is read again and compared before anybody gets it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from conformance.files.yaml_files import FileError, parse
from conformance.files.yaml_text import Unwritable, comment, key, one_line
from conformance.model import Json
from conformance.settings.target_file import SCHEMA
from conformance.survey.survey import Survey, Unavailable

MOST = 500
"""Tools, prompts or templates that are written down; more is not for people to read."""


class Misread(Exception):
    """The text would not be read as what it was meant to say; one line."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the user said of the server: how it is reached, and the names of its variables and headers."""

    server: str = ""
    url: str = ""
    env: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    transport: str = ""


def text_for(given: Given, survey: Survey, mask: Callable[[str], str] = str) -> str:
    """The text. `mask` takes secrets out of what the server said; what holds one is left out. Raises Misread."""
    draft = _Draft(mask)
    draft.lines += [
        "# What mcp-conform needs to know about this server. Command-line options override this file.",
        "# All keys: mcp-conform explain target-file",
    ]
    for name, value in (("server", given.server), ("url", given.url), ("transport", given.transport)):
        if value:
            draft.setting(name, value)
    draft.variables("env", {name: _variable(name) for name in given.env})
    draft.variables("headers", {name: _variable(name).upper() for name in given.headers})
    draft.lines += [
        "# revisions: [all]    # default: the newest that the server speaks of each era",
        "",
    ]
    draft.tools(survey)
    draft.prompts(survey)
    draft.templates(survey)
    draft.lines += [
        "# What the client answers when the server asks. Default: plausible answers.",
        "# answers:",
        "#   sampling: The text that the model says.",
        "#   elicitation: {name: Ada}",
        "#   roots: [file:///tmp/project]",
        "",
        "# Cases of your own: a folder, in the format of the suite's cases.",
        "# cases: conformance",
        *([] if draft.settings else ["{}"]),
    ]
    text = "\n".join(draft.lines) + "\n"
    _compare(text, draft.settings)
    return text


class _Draft:
    """Lines, and the settings that they are meant to say."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self.lines: list[str] = []
        self.settings: dict[str, Json] = {}
        self._mask = mask

    def setting(self, name: str, value: str) -> None:
        """A setting of the user's; without it if no file can hold it."""
        try:
            self.lines.append(f"{name}: {one_line(value, 100_000)}")
            self.settings[name] = value
        except Unwritable as why:
            self.lines.append(comment(f"{name} is left out, since {why}; say it with --{name}."))

    def variables(self, name: str, values: Mapping[str, str]) -> None:
        """Names of the user's, each with the variable that its value is taken from."""
        lines, kept = [], {}
        for word, variable in values.items():
            try:
                lines.append(f"  {key(word)}: ${variable}")
                kept[word] = f"${variable}"
            except Unwritable as why:
                lines.append(f"  {comment(f'{word!r} is left out, since {why}.')}")
        if kept:
            self.lines += ["# $NAME is taken from the environment, and masked in every report.", f"{name}:"]
            self.settings[name] = kept
        self.lines += lines

    def tools(self, survey: Survey) -> None:
        """Samples of tools: those that may be called as settings, the others as comments."""
        if not survey.tools:
            return
        self.lines += [
            "# Tools that may be called, with sample arguments. Those annotated readOnlyHint: true are called anyway;",
            "# remove the # only where a call does no harm. `outcome: result` (or error) makes it a rule of your own.",
        ]
        lines: list[str] = []
        kept: dict[str, Json] = {}
        for name, tool in _named(survey.tools, lines):
            arguments, remark = _sample(survey, tool)
            try:
                entry = [f"  {self._key(name)}:", f"    - arguments: {self._line(arguments)}"]
            except Unwritable as why:
                lines.append(self._left_out(name, why))
                continue
            if remark:
                entry[1] += f"    {comment(self._mask(remark))}"
            if survey.policy.allows(tool) and not remark:
                kept[name] = [{"arguments": arguments}]
                lines += entry
            else:
                lines += [f"# {line}" for line in entry]
        self._section("tools", lines, kept)

    def prompts(self, survey: Survey) -> None:
        """Sample arguments of the prompts that have some."""
        listed = [prompt for prompt in survey.prompts if prompt.get("arguments")]
        if not listed:
            return
        self.lines.append("# Sample arguments of prompts.")
        lines: list[str] = []
        kept: dict[str, Json] = {}
        for name, prompt in _named(listed, lines):
            arguments = survey.prompt_arguments(prompt)
            try:
                lines.append(f"  {self._key(name)}: {self._line(arguments)}")
                kept[name] = arguments
            except Unwritable as why:
                lines.append(self._left_out(name, why))
        self._section("prompts", lines, kept)

    def templates(self, survey: Survey) -> None:
        """The templates of URIs, as comments."""
        found = [t["uriTemplate"] for t in survey.templates if isinstance(t.get("uriTemplate"), str)]
        if found:
            self.lines.append(
                "# URIs that may be read besides the listed ones, such as URIs that match these templates:"
            )
            self.lines += [comment(f"  {self._mask(template)}") for template in found[:MOST]]
            self.lines += ["# resources: []", ""]

    def _section(self, name: str, lines: Sequence[str], kept: dict[str, Json]) -> None:
        self.lines += [f"{name}:" if kept else f"# {name}:", *lines, ""]
        if kept:
            self.settings[name] = kept

    def _key(self, name: str) -> str:
        return self._public(key(name))

    def _line(self, value: Json) -> str:
        return self._public(one_line(value))

    def _public(self, text: str) -> str:
        if self._mask(text) != text:
            raise Unwritable("it has a value that is secret")
        return text

    def _left_out(self, name: str, why: Unwritable) -> str:
        return comment(f"Left out, since {why}: {self._mask(name[:200])!r}")


def _named(items: Iterable[Json], lines: list[str]) -> Iterator[tuple[str, Json]]:
    """The first item of each name, at most MOST; what is left out is said in `lines`."""
    seen: set[str] = set()
    left = 0
    for item in items:
        name = item.get("name")
        if not isinstance(name, str) or name in seen or len(seen) == MOST:
            left += 1
            continue
        seen.add(name)
        yield name, item
    if left:
        lines.append(
            f"# Left out: {left} without a name, of a name that stands here already, or beyond the first {MOST}."
        )


def _sample(survey: Survey, tool: Json) -> tuple[dict[str, Json], str]:
    """Arguments for a tool, and a remark if there are none."""
    try:
        return survey.arguments_for(tool), ""
    except Unavailable as reason:
        return {}, str(reason)


def _variable(name: str) -> str:
    """The name of an environment variable for a value called `name`: itself if it may be one."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


def _compare(text: str, meant: Mapping[str, Json]) -> None:
    """Raises Misread unless each reader finds in `text` what was meant, and no more."""
    try:
        found = [parse(text, Path("the file"), SCHEMA)[0], yaml.safe_load(text)]
    except (FileError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise Misread(f"what the server says cannot be written as a target file: {str(error)[:300]}") from None
    # As text: 1, 1.0 and true are the same to Python.
    if any(json.dumps(data) != json.dumps(meant) for data in found):
        raise Misread("what the server says cannot be written as a target file: it would read as something else")
