"""What servers of the registry's `server.json` come to: a command, a URL, or why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fronts import conform

from conformance.fleet.entries import Entry, key_of
from conformance.fleet.reading import read
from conformance.fleet.server_json import Choice, entry_of, servers_of

EVERYTHING = frozenset({"npx", "uvx", "docker", "dnx"})
NAME = "io.github.example/weather"


def entry(server: dict[str, Any], programs: frozenset[str] = EVERYTHING, **choice: Any) -> Entry:
    """The entry of a server.json."""
    found = servers_of({"name": NAME, "description": "Weather", "version": "1.2.3", **server})
    assert found is not None
    (one,) = found.servers
    return entry_of(one.server, Choice(programs=programs, **choice))


def package(kind: str, identifier: str, version: str = "", **more: Any) -> dict[str, Any]:
    """A server.json with one package over stdio, as they are written now."""
    told = {"registryType": kind, "identifier": identifier, "transport": {"type": "stdio"}, **more}
    return {"packages": [{**told, "version": version} if version else told]}


def positional(value: str = "", **more: Any) -> dict[str, Any]:
    """An argument."""
    return {"type": "positional", **({"value": value} if value else {}), **more}


def named(name: str, **more: Any) -> dict[str, Any]:
    """An argument with a name."""
    return {"type": "named", "name": name, **more}


COMMANDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "npm": (package("npm", "@example/weather", "1.0.2"), ["npx", "-y", "@example/weather@1.0.2"]),
    "npm without a version": (package("npm", "weather"), ["npx", "-y", "weather"]),
    "npm with a hint": (package("npm", "weather", "1.0.0", runtimeHint="npx"), ["npx", "-y", "weather@1.0.0"]),
    "npm that is told to say yes": (
        package("npm", "weather", "1.0.0", runtimeArguments=[positional("--yes")]),
        ["npx", "--yes", "weather@1.0.0"],
    ),
    "npm with a command of a package": (
        package("npm", "weather-mcp", "1.0.0", runtimeArguments=[named("--package", value="weather@1.0.0")]),
        ["npx", "-y", "--package", "weather@1.0.0", "weather-mcp"],
    ),
    "a hint that is not for such packages": (
        package("npm", "weather", "1.0.0", runtimeHint="rm", packageArguments=[positional("-rf")]),
        ["npx", "-y", "weather@1.0.0", "-rf"],
    ),
    "pypi": (package("pypi", "weather-mcp", "0.5.0", runtimeHint="uvx"), ["uvx", "weather-mcp@0.5.0"]),
    "pypi from another package": (
        package("pypi", "weather-mcp", "0.5.0", runtimeArguments=[named("--from", value="weather[mcp]==0.5.0")]),
        ["uvx", "--from", "weather[mcp]==0.5.0", "weather-mcp"],
    ),
    "oci with its tag": (
        package("oci", "ghcr.io/example/weather:v1.2.3"),
        ["docker", "run", "--rm", "-i", "ghcr.io/example/weather:v1.2.3"],
    ),
    "oci with a version beside, and a port in the name of the host": (
        package("oci", "localhost:5000/example/weather", "1.2.3"),
        ["docker", "run", "--rm", "-i", "localhost:5000/example/weather:1.2.3"],
    ),
    "oci with a digest": (
        package("oci", "docker.io/example/weather@sha256:abc", "1.2.3"),
        ["docker", "run", "--rm", "-i", "docker.io/example/weather@sha256:abc"],
    ),
    "oci with run, -i and variables": (
        package(
            "oci", "example/weather:1",
            runtimeArguments=[positional("run"), positional("-i"), named("-e", value="UNIT={unit}",
                              variables={"unit": {"default": "celsius", "choices": ["celsius", "kelvin"]}})],
            environmentVariables=[{"name": "LEVEL", "default": "info"}],
        ),
        ["docker", "run", "--rm", "-e", "LEVEL", "-i", "-e", "UNIT=celsius", "example/weather:1"],
    ),
    "nuget": (
        package("nuget", "Example.Weather", "0.4.0-beta", packageArguments=[positional("mcp"), positional("start")]),
        ["dnx", "Example.Weather@0.4.0-beta", "--yes", "--", "mcp", "start"],
    ),
    "nuget without arguments": (
        package("nuget", "Example.Weather", "1.0.0"),
        ["dnx", "Example.Weather@1.0.0", "--yes"],
    ),
    "a named argument with a fixed value": (
        package("npm", "weather", packageArguments=[named("--mode", value="local")]),
        ["npx", "-y", "weather", "--mode", "local"],
    ),
    "a named argument with a default": (
        package("npm", "weather", packageArguments=[named("--mode", default="local", choices=["local", "proxy"])]),
        ["npx", "-y", "weather", "--mode", "local"],
    ),
    "a named argument that ends in =": (
        package("npm", "weather", packageArguments=[named("--mode=", default="local")]),
        ["npx", "-y", "weather", "--mode=local"],
    ),
    "a flag": (
        package("npm", "weather", packageArguments=[named("--read-only")]),
        ["npx", "-y", "weather", "--read-only"],
    ),
    "a flag that is a boolean": (
        package("npm", "weather", packageArguments=[
            named("--metric", format="boolean", default="true"), named("--verbose", format="boolean", default="false"),
        ]),
        ["npx", "-y", "weather", "--metric"],
    ),
    "optional arguments without a value": (
        package("npm", "weather", packageArguments=[named("--port", format="number"), positional(valueHint="city")]),
        ["npx", "-y", "weather"],
    ),
    "a path that is needed is the scratch folder": (
        package("npm", "files", packageArguments=[positional(valueHint="dir", format="filepath", isRequired=True)]),
        ["npx", "-y", "files", "."],
    ),
    "variables within a value, and braces that are none": (
        package("npm", "weather", packageArguments=[
            positional("{city}-{other}", variables={"city": {"default": "Berlin"}}),
        ]),
        ["npx", "-y", "weather", "Berlin-{other}"],
    ),
    "members as they were written before September 2025": (
        {"packages": [{
            "registry_type": "pypi", "identifier": "weather-mcp", "version": "0.5.0", "runtime_hint": "uvx",
            "package_arguments": [{"type": "positional", "value_hint": "city", "is_required": True, "default": "Rome"}],
        }]},
        ["uvx", "weather-mcp@0.5.0", "Rome"],
    ),
    "members as they were written at first": (
        {"version_detail": {"version": "1.0.2"},
         "packages": [{"registry_name": "docker", "name": "mcp/weather", "version": "1.0.2"}]},
        ["docker", "run", "--rm", "-i", "mcp/weather:1.0.2"],
    ),
    "the first package that can be started": (
        {"packages": [
            *package("mcpb", "https://example.com/weather.mcpb")["packages"],
            *package("cargo", "weather", "1.0.0")["packages"],
            *package("pypi", "weather", "1.0.0")["packages"],
        ]},
        ["uvx", "weather@1.0.0"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("server, command", COMMANDS.values(), ids=COMMANDS)
def test_a_package_comes_to_a_command(server: dict[str, Any], command: list[str]) -> None:
    made = entry(server)
    assert (made.problem, made.settings.get("server")) == ("", command)
    assert made.name == NAME


def http(url: str, **more: Any) -> dict[str, Any]:
    """A package that serves at a URL."""
    return {**package("npm", "weather", "1.0.0", **more), "_": url} | {
        "packages": [{**package("npm", "weather", "1.0.0", **more)["packages"][0],
                      "transport": {"type": "streamable-http", "url": url}}]
    }  # fmt: skip


URLS: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "a fixed port": (http("http://127.0.0.1:3000/mcp"), ["npx", "-y", "weather@1.0.0"], "http://127.0.0.1:3000/mcp"),
    "a port that is an argument": (
        http("http://127.0.0.1:{port}/mcp", packageArguments=[named("--port", default="3000", format="number")]),
        ["npx", "-y", "weather@1.0.0", "--port", "{port}"],
        "http://127.0.0.1:{port}/mcp",
    ),
    "a port that is a variable": (
        http("http://127.0.0.1:{PORT}/mcp", environmentVariables=[{"name": "PORT", "isRequired": True}]),
        ["env", "PORT={port}", "npx", "-y", "weather@1.0.0"],
        "http://127.0.0.1:{port}/mcp",
    ),
    "a host that has a default": (
        http("http://{host}:8080/mcp", packageArguments=[named("--host", default="127.0.0.1")]),
        ["npx", "-y", "weather@1.0.0", "--host", "127.0.0.1"],
        "http://127.0.0.1:8080/mcp",
    ),
}


@pytest.mark.parametrize("server, command, url", URLS.values(), ids=URLS)
def test_a_package_that_serves_at_a_url(server: dict[str, Any], command: list[str], url: str) -> None:
    made = entry(server)
    assert (made.problem, made.settings["server"], made.settings["url"]) == ("", command, url)


NOT_HERE: dict[str, tuple[dict[str, Any], str]] = {
    "a secret that is missing": (
        package("npm", "weather", environmentVariables=[{"name": "KEY", "isRequired": True, "isSecret": True}]),
        "the secret variable KEY is missing, which --values can give",
    ),
    "an argument that is missing": (
        package("npm", "weather", packageArguments=[positional(valueHint="city", isRequired=True)]),
        "the variable city is missing, which --values can give",
    ),
    "a variable that is missing": (
        package("npm", "weather", packageArguments=[positional("{city}", variables={"city": {"isRequired": True}})]),
        "the variable city is missing, which --values can give",
    ),
    "a bundle without a hash": (
        package("mcpb", "https://example.com/weather.mcpb"),
        "its mcpb bundle has no fileSha256, so that nobody knows whether it is the right file",
    ),
    "a bundle that anybody can change on its way": (
        package("mcpb", "http://example.com/weather.mcpb", fileSha256="0" * 64),
        "its mcpb bundle is not at an https URL: 'http://example.com/weather.mcpb'",
    ),
    "packages of another kind": (
        package("cargo", "weather", "1.0.0"),
        "packages of cargo are not known; known are npm, pypi, oci, nuget",
    ),
    "an option in place of a package": (package("npm", "--eval", "1.0.0"), "the package has no identifier"),
    "a container that wants this machine": (
        package("oci", "example/x:1", runtimeArguments=[named("--privileged")]),
        "its container asks for what belongs to this machine: --privileged",
    ),
    "a container that wants the root folder": (
        package("oci", "example/x:1", runtimeArguments=[named("-v", value="/:/host")]),
        "its container asks for what belongs to this machine: -v",
    ),
    "a container that wants a folder, mounted": (
        package("oci", "example/x:1", runtimeArguments=[named("--mount", value="type=bind,src=/etc,dst=/x")]),
        "its container asks for what belongs to this machine: --mount",
    ),
    "a container on the network of this machine": (
        package("oci", "example/x:1", runtimeArguments=[named("--network", value="host")]),
        "its container asks for what belongs to this machine: --network",
    ),
    "only a URL": (
        {"remotes": [{"type": "streamable-http", "url": "https://example.com/mcp"}]},
        "it is at a URL, which --remotes allows to be tested",
    ),
    "nothing": ({"packages": []}, "its server.json has neither packages nor remotes"),
}


@pytest.mark.parametrize(
    "words",
    [
        ["-v/etc:/x"],
        ["-itv", "/etc:/x"],
        ["-v", "./../../etc:/x"],
        ["--volume", "data/../../etc:/x"],
        ["--mount", 'type=bind,"source=/etc",dst=/x'],
        ["--device-cgroup-rule", "b 8:0 rwm"],
        ["--env-file", "/etc/passwd"],
        ["--use-api-socket"],
    ],
)
def test_a_container_gets_no_folder_of_this_machine_however_it_asks(words: list[str]) -> None:
    server = package("oci", "example/x:1", runtimeArguments=[positional(word) for word in words])
    assert entry(server).problem.startswith("its container asks for what belongs to this machine: ")


@pytest.mark.parametrize("words", [["-v", "data:/x"], ["-v", "./data:/x"], ["-eLevel=/x"], ["-it"]])
def test_a_container_may_have_what_is_its_own(words: list[str]) -> None:
    server = package("oci", "example/x:1", runtimeArguments=[positional(word) for word in words])
    assert entry(server).problem == ""


@pytest.mark.parametrize("server, why", NOT_HERE.values(), ids=NOT_HERE)
def test_what_cannot_be_started_says_why(server: dict[str, Any], why: str) -> None:
    assert entry(server).problem == why


@pytest.mark.parametrize(
    "kind, why",
    [
        ("npm", "npx or bunx was not found, which runs packages of npm"),
        ("pypi", "uvx or pipx was not found, which runs packages of pypi"),
        ("oci", "docker or podman was not found, which runs packages of oci"),
        ("nuget", "dnx was not found, which runs packages of nuget"),
    ],
)
def test_a_program_that_is_missing_is_named(kind: str, why: str) -> None:
    assert entry(package(kind, "x", "1"), frozenset()).problem == why


def test_nothing_of_the_environment_is_given_to_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "a token of the user's")
    asked = package("npm", "weather", environmentVariables=[{"name": "GITHUB_TOKEN", "isRequired": True}])
    assert "GITHUB_TOKEN is missing" in entry(asked).problem


def test_values_that_are_given_go_where_they_are_asked_for() -> None:
    server = package(
        "npm", "weather",
        environmentVariables=[
            {"name": "KEY", "isRequired": True, "isSecret": True}, {"name": "PRICE", "default": "$5"},
        ],
        packageArguments=[
            positional(valueHint="city", isRequired=True, isRepeated=True), named("--mode", choices=["a"]),
        ],
    )  # fmt: skip
    given = {NAME: {"KEY": "sesame-1", "city": ["Rome", "Oslo"], "mode": "a"}}
    made = entry(server, values=given)
    assert made.settings["server"] == ["npx", "-y", "weather", "Rome", "Oslo", "--mode", "a"]
    assert made.settings["env"] == {"KEY": "$SECRET_KEY", "PRICE": "$$5"}
    assert made.environment == {"SECRET_KEY": "sesame-1"} and made.secrets == {"sesame-1": "KEY"}
    wrong = entry(server, values={NAME: {**given[NAME], "mode": "b"}})
    assert wrong.problem == "the value of mode must be one of a"


REMOTES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "streamable HTTP": (
        {"type": "streamable-http", "url": "https://example.com/mcp"},
        {"url": "https://example.com/mcp"},
    ),
    "HTTP+SSE": (
        {"type": "sse", "url": "https://example.com/sse"},
        {"url": "https://example.com/sse", "transport": "sse"},
    ),
    "as it was written before": (
        {"transport_type": "streamable", "url": "https://example.com/mcp"},
        {"url": "https://example.com/mcp"},
    ),
    "variables and headers": (
        {"type": "streamable-http", "url": "https://{tenant}.example.com/mcp",
         "variables": {"tenant": {"isRequired": True, "default": "us1"}},
         "headers": [{"name": "X-Region", "default": "eu"}, {"name": "X-Optional"}]},
        {"url": "https://us1.example.com/mcp", "headers": {"X-Region": "eu"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("remote, settings", REMOTES.values(), ids=REMOTES)
def test_a_remote_comes_to_a_url(remote: dict[str, Any], settings: dict[str, Any]) -> None:
    made = entry({"remotes": [remote]}, remotes=True)
    assert (made.problem, made.settings) == ("", settings)


def test_a_header_that_is_missing_is_named() -> None:
    headers = [{"name": "Authorization", "isRequired": True, "isSecret": True}]
    remote = {"type": "sse", "url": "https://example.com/sse", "headers": headers}
    assert entry({"remotes": [remote]}, remotes=True).problem == (
        "the secret variable Authorization is missing, which --values can give"
    )


def listed(name: str, version: str, latest: bool, status: str = "active") -> dict[str, Any]:
    """A server as the registry's list has it."""
    said = {"io.modelcontextprotocol.registry/official": {"status": status, "isLatest": latest}}
    server = {"name": name, "description": "", "version": version, **package("npm", "x", version)}
    return {"server": server, "_meta": said}


def test_of_files_with_versions_of_a_server_the_latest_is_taken_and_the_others_are_noted(tmp_path: Path) -> None:
    for version in ("1.9.0", "1.10.0", "1.2.0"):
        packages = [{"registryType": "npm", "identifier": "w", "version": version, "transport": {"type": "stdio"}}]
        file = tmp_path / f"{version}.json"
        file.write_text(json.dumps({"name": NAME, "description": "d", "version": version, "packages": packages}))
    found = read([tmp_path], Choice(programs=frozenset({"npx"})))
    (entry,) = found.entries
    assert (entry.version, entry.origin) == ("1.10.0", str(tmp_path / "1.10.0.json"))
    assert sorted(found.notes) == [
        f"{tmp_path / f'{old}.json'}: {NAME} {old} left out, since {tmp_path / '1.10.0.json'} lists {NAME} 1.10.0"
        for old in ("1.2.0", "1.9.0")
    ]


def test_of_the_list_of_a_registry_the_latest_versions_are_taken_and_what_was_deleted_is_not(tmp_path: Path) -> None:
    servers = [
        listed("a/one", "1.0.0", False), listed("a/one", "1.1.0", True), listed("a/one", "1.0.5", False),
        listed("a/two", "2.0.0", True), listed("a/gone", "1.0.0", True, "deleted"),
    ]  # fmt: skip
    (tmp_path / "list.json").write_text(json.dumps({"servers": servers, "metadata": {"count": 5}}))
    found = read([tmp_path / "list.json"], Choice(programs=EVERYTHING))
    assert [(each.name, each.version) for each in found.entries] == [("a/one", "1.1.0"), ("a/two", "2.0.0")]
    told = [note.partition(": ")[2] for note in found.notes]
    assert told == ["1 deleted server left out", "2 older versions left out"]


def test_one_element_that_is_wrong_or_empty_does_not_keep_the_rest_of_a_registry_from_being_tested(
    tmp_path: Path,
) -> None:
    empty = {"server": {"name": "a/empty", "description": "", "version": "1.0.0"}}
    servers = [listed("a/one", "1.0.0", True), empty, {"server": {"name": 5}}, "junk", None]
    (tmp_path / "list.json").write_text(json.dumps({"servers": servers}))
    found = read([tmp_path / "list.json"], Choice(programs=EVERYTHING))
    assert [(each.name, each.problem) for each in found.entries] == [
        ("a/one", ""), ("a/empty", "its server.json has neither packages nor remotes"),
    ]  # fmt: skip
    assert found.notes == [f"{tmp_path / 'list.json'}: 3 elements that name no server left out"]


def test_where_a_list_does_not_say_which_version_is_the_latest_their_numbers_do(tmp_path: Path) -> None:
    versions = ["1.2.0", "1.10.0", "1.10.0-beta", "1.9.9"]
    servers = [{"name": "a/one", "version": version, **package("npm", "x", version)} for version in versions]
    older = {"name": "a/two", "version_detail": {"version": "2.0.0", "is_latest": True}, "packages": []}
    other = {"name": "a/two", "version_detail": {"version": "3.0.0", "is_latest": False}, "packages": []}
    (tmp_path / "list.json").write_text(json.dumps([*servers, older, other]))
    found = read([tmp_path / "list.json"], Choice(programs=EVERYTHING))
    assert [(each.name, each.version) for each in found.entries] == [("a/one", "1.10.0"), ("a/two", "2.0.0")]


def test_a_folder_may_hold_files_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "server.json").write_text(json.dumps(listed("a/one", "1.0.0", True)["server"]))
    (tmp_path / "list.yaml").write_text("servers:\n  - {name: two, server: 'true'}\n")
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"three": {"command": "true"}}}')
    (tmp_path / "package.json").write_text('{"name": "else"}')
    found = read([tmp_path], Choice(programs=EVERYTHING))
    assert sorted(each.name for each in found.entries) == ["a/one", "three", "two"]
    assert len(found.notes) == 1 and "package.json" in found.notes[0] and "left out" in found.notes[0]


@pytest.mark.parametrize("name", ["a/b", "A", "", ".", "..", "../x", "x" * 300, "ä", "a b", "CON\n", "-rf", "a:b"])
def test_the_name_of_a_file_is_harmless_and_belongs_to_one_server(name: str) -> None:
    key = key_of(name)
    assert key == key.lower() and key[0].isalnum() and len(key) < 100
    assert set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert key != key_of(name + " ") and key != key_of(name.lower() + "-")


def test_the_front_door_tells_of_each_server_why_it_cannot_be_started(tmp_path: Path) -> None:
    asked = package("npm", "weather", environmentVariables=[{"name": "KEY", "isRequired": True, "isSecret": True}])
    server = {"name": NAME, "description": "", "version": "1.0.0", **asked}
    (tmp_path / "server.json").write_text(json.dumps(server))
    (tmp_path / "values.yaml").write_text("other: {KEY: $NOWHERE}\n")
    done = conform("fleet", "server.json", "--out", "out", cwd=tmp_path, env={"KEY": "nobody's"})
    assert done.returncode == 3, done.stderr
    assert f"{NAME}: cannot be tested here: " in done.stdout
    wrong = conform("fleet", "server.json", "--out", "out", "--values", "values.yaml", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "values.yaml:1: the environment variable NOWHERE is not set" in wrong.stderr
