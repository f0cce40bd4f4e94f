"""From a package or a remote of a server.json to the settings of a target file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from conformance.fleet.bundles import Bundle, why_not_fetched
from conformance.fleet.entries import hidden, literal
from conformance.fleet.inputs import PORT, Impossible, Values, is_port, named_in, pairs_of, words_of
from conformance.model import Json, elements, members
from conformance.target.urls import flaw

RUNTIMES: Mapping[str, tuple[str, ...]] = {
    "npm": ("npx", "bunx"),
    "pypi": ("uvx", "pipx"),
    "oci": ("docker", "podman"),
    "nuget": ("dnx",),
}
"""Kind of package → the programs that run it, the usual one first. What else `runtimeHint` names is not run."""

KINDS = {"docker": "oci", "oci": "oci", "npm": "npm", "pypi": "pypi", "nuget": "nuget"}
TRANSPORTS = {"streamable-http": "", "streamable": "", "http": "", "sse": "sse"}
"""The word of a server.json → that of a target file for what is served at a URL."""

SHORTEST = 6
"""Characters of what may be a secret."""
SHARING = re.compile(
    r"--(privileged|pid|ipc|uts|userns|cgroupns|cgroup-parent|cap-add|device[a-z-]*|gpus|security-opt|group-add|runtime"
    r"|volumes-from|env-file|label-file|cidfile|use-api-socket|rootfs|pod)(=|\Z)"
)
"""Options of a container that undo what keeps it apart from this machine, or read or write files of it."""
SHORT = re.compile(r"-[A-Za-z]*?v")
"""`-v` with its value in the same word, or together with options that have none."""


@dataclass(frozen=True, slots=True)
class Made:
    """Settings of a target file, and what goes with them as in an Entry."""

    settings: dict[str, Json]
    environment: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    bundle: Bundle | None = None


def of_package(package: Mapping[str, Json], values: Values, programs: frozenset[str]) -> Made:
    """How a package is started, with one of these `programs`. Raises Impossible."""
    said = str(package.get("registryType") or package.get("registryName") or "")
    if said == "mcpb":
        return _of_bundle(package, values)
    kind = KINDS.get(said, "")
    if not kind:
        raise Impossible(f"packages of {said or 'no registryType'} are not known; known are {', '.join(RUNTIMES)}")
    identifier = package.get("identifier") or package.get("name")
    if not isinstance(identifier, str) or not identifier or identifier.startswith("-"):
        raise Impossible("the package has no identifier")
    runtime = _runtime(kind, str(package.get("runtimeHint") or ""), programs)
    transport = members(package.get("transport"))
    at_url = transport.get("type") in TRANSPORTS
    if at_url:
        values = replace(values, ports=_ports(str(transport.get("url") or "")))
    before = words_of(elements(package.get("runtimeArguments")), values)
    after = words_of(elements(package.get("packageArguments")), values)
    environment = pairs_of(elements(package.get("environmentVariables")), values)
    ports = {name: value for name, value in environment.items() if PORT in value}
    environment = {name: value for name, value in environment.items() if name not in ports}
    command = COMMANDS[kind](_Parts(runtime, identifier, str(package.get("version") or ""), before, after, environment))
    if ports:  # {port} stands in commands only
        command = ["env", *(f"{name}={value}" for name, value in ports.items()), *command]
    settings: dict[str, Json] = {"server": command}
    if at_url:
        if kind == "oci":
            raise Impossible("a container that is reached at a URL is not started: list it with its command and url")
        settings["url"] = _url(package, transport, values)
        settings |= {"transport": word} if (word := TRANSPORTS[transport["type"]]) else {}
        headers = pairs_of(elements(transport.get("headers")), values)
        return _made(settings, {"env": environment, "headers": headers}, values)
    if transport.get("type", "stdio") != "stdio":
        raise Impossible(f"the transport {transport['type']!r} is not known")
    return _made(settings, {"env": environment}, values)


def _of_bundle(package: Mapping[str, Json], values: Values) -> Made:
    """What is known of a bundle before it is fetched. Raises Impossible."""
    url, digest = str(package.get("identifier") or ""), str(package.get("fileSha256") or "").lower()
    if problem := why_not_fetched(url, digest):
        raise Impossible(problem)
    settings: dict[str, Json] = {}
    made = _made(settings, {"env": pairs_of(elements(package.get("environmentVariables")), values)}, values)
    # Which of them are secret stands in the bundle: till then, all may be.
    given = {text: name for name, text in values.given.items() if isinstance(text, str) and len(text) >= SHORTEST}
    return replace(made, secrets={**given, **made.secrets}, bundle=Bundle(url, digest, values.given))


def of_remote(remote: Mapping[str, Json], values: Values) -> Made:
    """How a server is reached that somebody else runs. Raises Impossible."""
    kind = remote.get("type") or remote.get("transportType")
    if kind not in TRANSPORTS:
        raise Impossible(f"the transport {str(kind)!r} is not known")
    url = values.filled(str(remote.get("url") or ""), members(remote.get("variables")))
    if named_in(url):
        raise Impossible(f"{url!r} is not an http or https URL")
    _check(url)
    settings: dict[str, Json] = {"url": url}
    settings |= {"transport": TRANSPORTS[kind]} if TRANSPORTS[kind] else {}
    return _made(settings, {"headers": pairs_of(elements(remote.get("headers")), values)}, values)


def _made(settings: dict[str, Json], pairs: Mapping[str, Mapping[str, str]], values: Values) -> Made:
    environment: dict[str, str] = {}
    for key, given in pairs.items():
        if given:
            settings[key] = {
                name: hidden(environment, name, value) if value in values.secrets else literal(value)
                for name, value in given.items()
            }
    return Made(settings, environment, dict(values.secrets))


def _runtime(kind: str, hint: str, programs: frozenset[str]) -> str:
    """The program that runs a package: the one that is hinted at, if it is one for such packages. Raises Impossible."""
    known = RUNTIMES[kind]
    wanted = [hint] if hint in known else list(known)
    for program in wanted:
        if program in programs:
            return program
    raise Impossible(f"{' or '.join(wanted)} was not found, which runs packages of {kind}")


def _ports(url: str) -> frozenset[str]:
    """The inputs that say at which port a server listens, of those that its URL names."""
    names = {name for name in named_in(url) if is_port(name)}
    return frozenset({*names, *(name.lstrip("-") for name in names)})


def _url(package: Mapping[str, Json], transport: Mapping[str, Json], values: Values) -> str:
    """Where a package serves: what stands in braces is the value of an argument or a variable. Raises Impossible."""
    url = str(transport.get("url") or "")
    inputs: dict[str, Json] = {}
    for key in ("runtimeArguments", "packageArguments", "environmentVariables"):
        for item in map(members, elements(package.get(key))):
            for name in (item.get("valueHint"), item.get("name"), str(item.get("name") or "").lstrip("-")):
                if name:
                    inputs.setdefault(str(name), item)
    url = values.filled(url, {name: inputs.get(name, {"isRequired": True}) for name in named_in(url)})
    _check(url)
    return url


def _check(url: str) -> None:
    """Raises Impossible."""
    if not url.startswith(("http://", "https://")):
        raise Impossible(f"{url!r} is not an http or https URL")
    if wrong := flaw(url.replace(PORT, "1")):
        raise Impossible(f"{url!r} {wrong}")


# -- what is written on the command line, for each kind


@dataclass(frozen=True, slots=True)
class _Parts:
    """The runtime, what it runs, its arguments, and those of the package."""

    runtime: str
    identifier: str
    version: str
    before: Sequence[str]
    after: Sequence[str]
    environment: Mapping[str, str]

    @property
    def pinned(self) -> str:
        """The package in the version that is meant, unless it says that itself."""
        has_one = not self.version or "@" in self.identifier[1:]
        return self.identifier if has_one else f"{self.identifier}@{self.version}"


def _npm(parts: _Parts) -> list[str]:
    yes = ["-y"] if parts.runtime == "npx" and not {"-y", "--yes"} & set(parts.before) else []
    named = any(word.startswith(("--package", "-p")) for word in parts.before)
    return [parts.runtime, *yes, *parts.before, parts.identifier if named else parts.pinned, *parts.after]


def _pypi(parts: _Parts) -> list[str]:
    if parts.runtime == "pipx":
        spec = f"{parts.identifier}=={parts.version}" if parts.version else parts.identifier
        return ["pipx", "run", "--spec", spec, *parts.before, parts.identifier, *parts.after]
    # With --from, what is run is a command of the package that is named there.
    named = any(word.startswith("--from") for word in parts.before)
    return ["uvx", *parts.before, parts.identifier if named else parts.pinned, *parts.after]


def _oci(parts: _Parts) -> list[str]:
    before = list(parts.before[1:] if parts.before[:1] == ["run"] else parts.before)
    for word, following in pairwise([*before, ""]):
        host = "host" in (following, word.partition("=")[2]) and word.startswith(("--network", "--net"))
        if SHARING.match(word) or host or _mounts(word, following):
            raise Impossible(f"its container asks for what belongs to this machine: {word}")
    usual = [] if "--rm" in before else ["--rm"]
    usual += [] if {"-i", "--interactive"} & set(before) else ["-i"]
    given = [word for name in parts.environment for word in ("-e", name)]
    last = parts.identifier.rpartition("/")[2]
    tagged = ":" in last or "@" in last or not parts.version
    image = parts.identifier if tagged else f"{parts.identifier}:{parts.version}"
    return [parts.runtime, "run", *usual, *given, *before, image, *parts.after]


def _mounts(word: str, following: str) -> bool:
    """Whether an option mounts a place of this machine that is not in the folder where the server is started."""
    option, assigned, value = word.partition("=")
    if option == "--mount":
        value = value if assigned else following
        parts = [part.strip(' "').partition("=") for part in value.split(",")]
        return any(key in ("src", "source") and _outside(place) for key, _, place in parts)
    if option in ("-v", "--volume"):
        return _outside((value if assigned else following).partition(":")[0])
    if (short := SHORT.match(word)) and not word.startswith("--"):
        return _outside((word[short.end() :].removeprefix("=") or following).partition(":")[0])
    return False


def _outside(place: str) -> bool:
    """Whether a place is not in the folder where the server is started."""
    place = place.strip(' "')
    return place.startswith(("/", "~")) or "$" in place or os.path.normpath(place).startswith("..")


def _nuget(parts: _Parts) -> list[str]:
    yes = [] if "--yes" in parts.before else ["--yes"]
    return ["dnx", parts.pinned, *yes, *parts.before, *(["--", *parts.after] if parts.after else [])]


COMMANDS = {"npm": _npm, "pypi": _pypi, "oci": _oci, "nuget": _nuget}
