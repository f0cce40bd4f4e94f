"""The inputs of a server.json, and what they come to: arguments, variables of the environment, headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.model import Json, elements, members

HERE = "."
"""What is given for a path that is needed and that nobody gave: the folder in which the server is started."""
PORT = "{port}"
"""A free port, in a target file."""

_PLACE = re.compile(r"\{([A-Za-z_][\w.-]*)\}")
_SAYS_VALUE = ("format", "choices", "placeholder", "isRequired", "variables", "valueHint")


class Impossible(Exception):
    """It cannot be started or reached; the text says why."""


@dataclass(slots=True)
class Values:
    """What the user gives for the inputs of one server, by name: a string, or a list for what can be repeated.

    `secrets` collects those that are secret: value → name. Nothing else is given to a server, above all nothing of the
    environment: a server.json could ask for any variable by its name. `ports` are the inputs that say at which port to
    listen, and get a free one.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    ports: frozenset[str] = frozenset()
    secrets: dict[str, str] = field(default_factory=dict)

    def of(self, item: Mapping[str, Json], name: str) -> str | None:
        """The value of an input; None if it has none and needs none. Raises Impossible."""
        found = self.all_of(item, name)
        return found[0] if found else None

    def all_of(self, item: Mapping[str, Json], name: str) -> Sequence[str]:
        """The values of an input that may be repeated. Raises Impossible."""
        if isinstance(item.get("value"), str):
            return [self.filled(item["value"], members(item.get("variables")))]
        if name in self.given:
            given = self.given[name]
            texts = [_text(each) for each in (given if isinstance(given, list) else [given])]
            choices = elements(item.get("choices"))
            for text in texts:
                if choices and text not in choices:
                    raise Impossible(f"the value of {name} must be one of {', '.join(map(str, choices))}")
                if item.get("isSecret") is True:
                    self.secrets[text] = name
            return texts
        if name in self.ports:
            return [PORT]
        if item.get("default") not in (None, ""):
            return [self.filled(_text(item["default"]), members(item.get("variables")))]
        if item.get("isRequired") is not True:
            return []
        if item.get("format") == "filepath":
            return [HERE]
        what = "secret " if item.get("isSecret") is True else ""
        raise Impossible(f"the {what}variable {name} is missing, which --values can give")

    def filled(self, text: str, variables: Mapping[str, Json]) -> str:
        """`text` with the values of `{variables}`; what is none of them stays as it is. Raises Impossible."""

        def one(found: re.Match[str]) -> str:
            if found[1] not in variables:
                return found[0]
            value = self.of(members(variables[found[1]]), found[1])
            if value is None:
                raise Impossible(f"the variable {found[1]} is missing, which --values can give")
            return value

        return _PLACE.sub(one, text)


def words_of(arguments: Iterable[Json], values: Values) -> list[str]:
    """Arguments as words of a command. Raises Impossible."""
    words: list[str] = []
    for argument in map(members, arguments):
        name = str(argument.get("name") or "")
        if argument.get("type") == "named" or (name and argument.get("type") != "positional"):
            words += _named(argument, name, values)
        else:
            hint = str(argument.get("valueHint") or name or "argument")
            words += values.all_of(argument, hint)
    return words


def _named(argument: Mapping[str, Json], name: str, values: Values) -> list[str]:
    key = name if name in values.given else name.lstrip("-")
    if argument.get("format") == "boolean":
        value = values.of(argument, key)
        return [name] if value == "true" else []
    bare = (
        argument.get("value") is None and argument.get("default") is None and key not in {*values.given, *values.ports}
    )
    if bare and not any(argument.get(member) for member in _SAYS_VALUE):
        return [name]  # nothing about it speaks of a value: a flag
    words: list[str] = []
    for value in values.all_of(argument, key):
        words += [f"{name}{value}"] if name.endswith("=") else [name, value] if value else [name]
    return words


def pairs_of(items: Iterable[Json], values: Values) -> dict[str, str]:
    """Variables of the environment, or headers, with their values. Raises Impossible."""
    found: dict[str, str] = {}
    for item in map(members, items):
        name = item.get("name")
        if not isinstance(name, str) or not name:
            continue
        value = values.of(item, name)
        if value is not None:
            found[name] = value
            if item.get("isSecret") is True and value:
                values.secrets[value] = name
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_port(name: str) -> bool:
    """Whether an input is called like one that says at which port to listen."""
    return name.lower().endswith("port")


def named_in(text: str) -> list[str]:
    """The names of the `{variables}` in a text."""
    return _PLACE.findall(text)
