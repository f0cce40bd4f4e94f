"""From what the command line and the target file say to a target and the engine's options."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from conformance.catalogue.requirements import load, near
from conformance.checks.profiles import rules as profiles
from conformance.engine.options import ClientConfig, FailOn, Mention, Options
from conformance.files.yaml_files import FileError
from conformance.model import AUTHORIZATION, OWN, Client, Fuzzing, Json, Limits, Severity, Target, UsageError
from conformance.reporters.words import visible
from conformance.revisions import CHOSEN, HTTP, HTTP_SSE, SCHEMES, STDIO
from conformance.session.answers import Given
from conformance.settings.baseline_file import read as read_baseline
from conformance.settings.client_configs import read as read_config
from conformance.settings.target_file import TargetFile, find, read
from conformance.settings.tokens import pairs, with_client, with_tokens
from conformance.survey.survey import CallMode, CallPolicy, Samples
from conformance.target.credentials import looks_secret
from conformance.target.headers import header_flaw
from conformance.target.mask import Mask
from conformance.target.process import StartError, parse_command
from conformance.target.secrets import confidential, in_settings
from conformance.target.urls import flaw

if TYPE_CHECKING:
    from conformance.engine.baseline import Baseline
    from conformance.engine.own import Own


@dataclass(frozen=True, slots=True)
class Words:
    """What the command line or pytest's options say, by the keys of the target file; None and empty were not said.

    `env`, `headers` and `other_token` are as they were typed, `tools` names of tools that may be called. Times are in
    seconds.
    """

    server: str | None = None
    url: str | None = None
    transport: str | None = None
    env: Sequence[str] | None = None
    headers: Sequence[str] | None = None
    token_env: str | None = None
    other_token: Sequence[str] | None = None
    oauth: str | None = None
    scope: str | None = None
    register_client: bool = False
    cwd: Path | None = None
    revisions: Sequence[str] | None = None
    only: Sequence[str] | None = None
    skip: Sequence[str] | None = None
    tools: Sequence[str] | None = None
    call_tools: str | None = None
    profiles: Sequence[str] | None = None
    start_timeout: float | None = None
    timeout: float | None = None
    time_limit: float | None = None
    server_time_limit: float | None = None
    jobs: int | None = None
    fail_on: str | None = None
    cases: Path | None = None
    fuzz: int | None = None
    fuzz_time: float | None = None
    seed: int | None = None
    quick: bool = False
    harmful: bool = False
    baseline: Path | None = None


NOTHING = TargetFile(Path())
ANY_SCHEME = tuple(f"{scheme}://" for schemes in SCHEMES.values() for scheme in schemes)
DEMO = {STDIO: "", HTTP: "http://127.0.0.1:{port}/mcp", HTTP_SSE: "http://127.0.0.1:{port}/sse"}
"""The transports of the reference server, and where it serves them."""
HURRY = Limits(slow=0.1, late=0.0)
"""How long is waited with --quick."""


def settle(said: Words, file: TargetFile | None) -> tuple[Target, Options]:
    """The target and the options. The command line comes before the file. Raises UsageError."""
    try:
        target, options = _target(said, file or NOTHING), _options(said, file or NOTHING)
    except FileError as error:
        raise UsageError(str(error)) from None
    return target, options


def target_file(named: Path | None) -> TargetFile | None:
    """The target file that was named or, if none was, the one in the working directory. Raises UsageError."""
    try:
        return read(named) if named is not None else find(Path())
    except FileError as error:
        raise UsageError(str(error)) from None


def configured(path: str, names: Iterable[str]) -> ClientConfig:
    """The servers of a client configuration, all or those called `names`. Raises UsageError."""
    try:
        return read_config(path, names)
    except FileError as error:
        raise UsageError(visible(f"--config: {error}")) from None


def faults() -> list[Json]:
    """The reference server's faults: rows with name, requirements, revisions, transports, text."""
    listed = subprocess.run(
        [sys.executable, "-m", "conformance.reference", "--list-faults"], capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in listed.stdout.splitlines()]


def reference(names: Iterable[str], transport: str = "", authorization: bool = False) -> Target:
    """The reference server with faults, over `transport` or one on which all of them show. Raises UsageError.

    With `authorization`, or faults of that area, it asks for a token, and the target has one of each kind.
    """
    names = tuple(names)
    table = {row["name"]: row for row in faults()} if names else {}
    command = [sys.executable, "-m", "conformance.reference"]
    guarded = authorization or any(table.get(name, {}).get("area", "").startswith(AUTHORIZATION) for name in names)
    transports = [CHOSEN[transport]] if transport else [HTTP] if guarded else list(DEMO)
    command += ["--authorization"] if guarded else []
    for name in names:
        if name not in table:
            near = difflib.get_close_matches(name, table, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "demo --list-faults lists them"
            raise UsageError(f"there is no fault {name!r}; {hint}")
        transports = [each for each in transports if each in table[name]["transports"]]
        command += ["--fault", name]
    if not transports:
        over = f"over {transport}" if transport else "over the same transport"
        raise UsageError(f"these faults do not show {over}")
    if address := DEMO[transports[0]]:
        word = next(word for word, name in CHOSEN.items() if name == transports[0])
        via = "" if Target(url=address).transport == transports[0] else transports[0]
        target = Target((*command, "--transport", word, "--port", "{port}"), address, via=via)
    else:
        target = Target(tuple(command))
    target = replace(target, secrets=confidential(target, os.environ))
    return _with_reference_tokens(target) if guarded else target


def _with_reference_tokens(target: Target) -> Target:
    """With a token of each kind that the reference server knows."""
    listed = [sys.executable, "-m", "conformance.reference", "--list-tokens"]
    tokens = json.loads(subprocess.run(listed, capture_output=True, text=True, check=True).stdout)
    named = {token: f"REFERENCE_{kind.upper().replace('-', '_')}" for kind, token in tokens.items()}
    secrets = {**target.secrets, **named}
    client = Client("reference-client", "reference-client-secret")
    return replace(
        target,
        headers={"Authorization": f"Bearer {tokens[OWN]}"},
        tokens=tokens,
        secrets=secrets,
        oauth=client,
        registers=True,
    )


def _target(said: Words, file: TargetFile) -> Target:
    """Raises UsageError, FileError."""
    env, taken = file.filled("env")
    headers, more_taken = file.filled("headers")
    env |= _pairs("--env", said.env, "=", "NAME=VALUE")
    given = _pairs("--header", said.headers, ":", "NAME: VALUE")
    for name, value in [*headers.items(), *given.items()]:
        if wrong := header_flaw(name, value):
            raise UsageError(f"{'--header' if name in given else file.where('headers', name)}: {name!a} {wrong}")
    headers |= given
    cwd = said.cwd
    if said.server or said.url:
        command, url = _command(said.server or "", "--server"), said.url or ""
        where_url = "--url"
    else:
        command, url, where_url = _command_of(file), file.settings.get("url", ""), file.where("url")
        cwd = cwd or file.folder("cwd") or (file.path.parent if command and file is not NOTHING else None)
    via, where_via = _via(said, file)
    if url:
        named = f"{where_url}: {_told(Target(url=url), repr(url))}"
        if not url.startswith(ANY_SCHEME):
            told = f"{named} is not an http or https URL"
            raise UsageError(told if ":/" in url else f"{told}; does it begin with http:// or https://?")
        if wrong := flaw(url.replace("{port}", "1")):
            raise UsageError(f"{named} {wrong}")
    if via and (urlsplit(url).scheme if url else "") not in (SCHEMES[via] or ("",)):
        needed = f"a {where_url} that begins with {' or '.join(f'{scheme}://' for scheme in SCHEMES[via])}"
        raise UsageError(f"{where_via}: {via} needs {needed if SCHEMES[via] else 'a command, and no URL'}")
    if "{port}" in url and not command:
        raise UsageError(f"{where_url}: {{port}} stands for a free port only together with a server to start")
    if headers and not url and said.headers:
        raise UsageError("--header: only a server at a --url gets headers")
    folder = str(cwd) if cwd is not None and Path(cwd) != Path() else None
    target = Target(command, url, env, folder, headers if url else {}, via=via)
    settings = file.settings
    written = in_settings([settings.get(key) for key in ("tools", "prompts", "resources", "answers")])
    target = replace(target, secrets={**confidential(target, os.environ), **written, **taken, **more_taken})
    own = (
        (said.token_env, "--token-env") if said.token_env else (settings.get("token-env", ""), file.where("token-env"))
    )
    others = {kind: (name, file.where("other-tokens", kind)) for kind, name in settings.get("other-tokens", {}).items()}
    target = replace(target, registers=said.register_client)
    target = with_tokens(target, own, {**others, **pairs(said.other_token, "--other-token")})
    return with_client(target, said.scope or "") if said.oauth else target


def _via(said: Words, file: TargetFile) -> tuple[str, str]:
    """The transport that the user chose, "" if none, and where. What stands in a file is for the URL that stands there.

    Raises UsageError.
    """
    if said.transport:
        return CHOSEN[said.transport], "--transport"
    chosen = "" if said.server or said.url else file.settings.get("transport", "")
    return CHOSEN.get(chosen, ""), file.where("transport") if chosen else ""


def _told(target: Target, text: str) -> str:
    """`text` without what is secret in `target`."""
    return Mask(confidential(target)).text(text)


def _command(text: str, where: str) -> tuple[str, ...]:
    try:
        return parse_command(text) if text else ()
    except StartError as error:
        raise UsageError(f"{where}: {_told(Target(('', *text.split())), str(error))}") from None


def _command_of(file: TargetFile) -> tuple[str, ...]:
    server = file.settings.get("server", "")
    return _command(server, file.where("server")) if isinstance(server, str) else tuple(server)


def _pairs(option: str, texts: Iterable[str] | None, separator: str, form: str) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, found, value = text.partition(separator)
        if not found or not name.strip():
            # The rest of it, or all, may be a secret.
            first = text.split()[0] if text.strip() else ""
            shown = (
                repr(first) if re.fullmatch(r"[A-Z_][A-Z0-9_]*", first) and not looks_secret(first) else "what is given"
            )
            raise UsageError(f"{option}: {shown} is not of the form {form}")
        pairs[name.strip()] = value.strip() if separator == ":" else value
    return pairs


def _options(said: Words, file: TargetFile) -> Options:
    """Raises FileError."""
    settings, usual = file.settings, Fuzzing()
    own = _own(said.cases, file)

    def chosen(key: str, default: Any) -> Any:
        value = getattr(said, key.replace("-", "_"))
        return settings.get(key, default) if value in (None, (), []) else value

    tools: Mapping[str, Any] = settings.get("tools", {})
    prompts: Mapping[str, Any] = settings.get("prompts", {})
    named = tuple(said.tools or ())
    mentions = [Mention("tool", name, "--call-tool") for name in named]
    mentions += [Mention("tool", name, file.where("tools", name)) for name in tools]
    mentions += [Mention("prompt", name, file.where("prompts", name)) for name in prompts]
    usually = HURRY if said.quick else Limits()
    limits = replace(usually, start=chosen("start-timeout", usually.start), answer=chosen("timeout", usually.answer))
    mode = chosen("call-tools", "safe")
    fail_on = chosen("fail-on", "violation")
    assert mode in get_args(CallMode) and fail_on in get_args(FailOn)
    return Options(
        revisions=tuple(chosen("revisions", ())),
        only=tuple(chosen("only", ())),
        skip=tuple(chosen("skip", ())),
        profiles=tuple(chosen("profiles", ())),
        policy=CallPolicy(mode, (*named, *tools)),
        limits=limits,
        jobs=chosen("jobs", None),
        fail_on=fail_on,
        samples=_samples(settings),
        mentions=tuple(mentions),
        answers=_answers(settings.get("answers", {})),
        softened=_softened(file),
        own=own,
        fuzzing=Fuzzing(chosen("fuzz", usual.examples), chosen("fuzz-time", usual.seconds), chosen("seed", usual.seed)),
        quick=said.quick,
        harmful=said.harmful,
        time_limit=chosen("time-limit", math.inf),
        server_time_limit=chosen("server-time-limit", math.inf),
        baseline=_baseline(said.baseline, file, own),
        given=frozenset([*_pairs("--env", said.env, "=", ""), *_pairs("--header", said.headers, ":", "")]),
        named_by=() if file is NOTHING or said.server or said.url else ("--target", str(file.path)),
    )


def _baseline(named: Path | None, file: TargetFile, own: Own | None) -> Baseline | None:
    """Raises FileError."""
    path = named or (file.path.parent / file.settings["baseline"] if "baseline" in file.settings else None)
    if path is None:
        return None
    advice = profiles.requirements(profiles.load()[1])
    return read_baseline(path, {*load(), *advice, *(own.requirements if own else ())})


def _samples(settings: Mapping[str, Any]) -> Samples:
    good = {
        tool: tuple(sample["arguments"] for sample in samples if sample.get("outcome") != "error")
        for tool, samples in settings.get("tools", {}).items()
    }
    return Samples(good, settings.get("prompts", {}), tuple(settings.get("resources", ())))


def _answers(given: Mapping[str, Any]) -> Given:
    plain = Given()
    return Given(
        given.get("sampling", plain.sampling), given.get("elicitation", {}), tuple(given.get("roots", plain.roots))
    )


def _softened(file: TargetFile) -> dict[str, Severity]:
    softened = {}
    for identifier, severity in file.settings.get("severity", {}).items():
        if identifier not in load():
            hint = near(identifier, load()) or "; mcp-conform list shows all"
            raise file.error(("severity", identifier), f"there is no requirement {identifier!r}{hint}")
        softened[identifier] = Severity(severity)
    return softened


def _own(said: Path | None, file: TargetFile) -> Own | None:
    folder, tools = said or file.folder("cases"), file.settings.get("tools", {})
    if folder is None and not tools:
        return None
    # Imports nearly all of the suite; without it the target starts earlier.
    from conformance.engine.own import Own, load_own, outcomes

    own = load_own(folder) if folder is not None else Own()
    sampled = outcomes(tools, file.where("tools"))
    requirements = {**own.requirements, **sampled.requirements}
    return Own((*own.cases, *sampled.cases), requirements, str(said) if said else "")
