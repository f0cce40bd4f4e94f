"""The rules of `conformance/profiles.yaml`, as requirements of the area `client`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from conformance.checks.profiles.checks import CHECKS
from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import FileError, line_of
from conformance.files.yaml_files import load as load_yaml
from conformance.model import Basis, Json, Level, Requirement, UsageError
from conformance.revisions import REVISIONS

FILE = Path(__file__).resolve().parent / "profiles.yaml"
AREA = "client"

CAPABILITIES = {"tools": ("tools",), "resources": ("resources",)}
"""What a rule is about → the capabilities of which a server needs one."""


@dataclass(frozen=True, slots=True)
class Source:
    """What the clients of one profile do with a server that breaks the rule; `limit` is where they begin to."""

    profile: str
    does: str
    date: str
    source: str
    limit: float = 0.0


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule and the clients for which it is asked."""

    id: str
    text: str
    about: str
    check: str
    clients: tuple[Source, ...]

    @property
    def requirement(self) -> Requirement:
        """The rule as a requirement that weighs no more than advice."""
        dates = [revision.date for revision in REVISIONS]
        return Requirement(
            id=self.id,
            text=self.text,
            levels=dict.fromkeys(dates, Level.SHOULD),
            bases=dict.fromkeys(dates, Basis.CLIENT),
            urls=dict.fromkeys(dates, tuple(client.source for client in self.clients)),
            observable="yes",
            capabilities=CAPABILITIES.get(self.about, ()),
            caution="; ".join(f"{each.profile}, as of {each.date}: {each.does}" for each in self.clients),
        )


@cache
def load(file: Path = FILE) -> tuple[Mapping[str, str], tuple[Rule, ...]]:
    """Profiles and whose clients they mean, and all rules. Raises FileError."""
    data, lines = load_yaml(file, SCHEMAS / "profiles.json")
    rules = []
    for name, entry in data["rules"].items():
        for place, given, known in (
            (("clients",), set(entry["clients"]), set(data["profiles"])),
            (("check",), {entry["check"]}, set(CHECKS)),
        ):
            if unknown := sorted(given - known):
                line = line_of(lines, ("rules", name, *place))
                raise FileError(file, line, f"{unknown[0]!r} is not known; there are {', '.join(sorted(known))}")
        rules.append(_rule(name, entry))
    return data["profiles"], tuple(rules)


def chosen(profiles: Iterable[str]) -> tuple[Rule, ...]:
    """The rules that clients of one of `profiles` ask for, with those clients only. Raises UsageError."""
    wanted = set(profiles)
    if not wanted:
        return ()
    known, rules = load()
    for name in sorted(wanted - set(known)):
        raise UsageError(f"--profile: there is no profile {name!r}; there are {', '.join(known)}")
    narrowed = (
        Rule(rule.id, rule.text, rule.about, rule.check, tuple(c for c in rule.clients if c.profile in wanted))
        for rule in rules
    )
    return tuple(rule for rule in narrowed if rule.clients)


def requirements(rules: Iterable[Rule]) -> dict[str, Requirement]:
    """The rules as requirements by id."""
    return {rule.id: rule.requirement for rule in rules}


def checked_by(rules: Iterable[Rule]) -> dict[str, tuple[str, ...]]:
    """Id → the profiles with which the rule is checked: "profile claude"."""
    return {rule.id: tuple(f"profile {client.profile}" for client in rule.clients) for rule in rules}


def _rule(name: str, entry: Json) -> Rule:
    clients = tuple(
        Source(profile, each["does"], each["date"], each["source"], float(each.get("limit", 0)))
        for profile, each in entry["clients"].items()
    )
    return Rule(f"{AREA}/{name}", entry["text"], entry["about"], entry["check"], clients)
