"""Probes of the area roots: roots that cannot be had, that change, and that a tool has to stay in."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.askers import (
    EVERYTHING,
    Asker,
    Client,
    find_askers,
    fixed,
    is_question,
    refusal,
    with_tools_of,
)
from conformance.checks.probes.outcome import shown, succeeded
from conformance.model import Json
from conformance.session.session import Call, encode
from conformance.survey.survey import Unavailable

LIST = "roots/list"
UNAVAILABLE = "roots/unavailable-roots-handled"
CHANGED = "roots/list-change-handled"
BOUNDARIES = "roots/boundaries-respected"
CLIENT: Json = {"roots": EVERYTHING["roots"]}
NOBODY = (
    "the server does not ask for roots, neither at its start nor in a tool that was called; name one with --call-tool"
)
OTHER: Json = {"roots": [{"uri": "file:///mcp-conform/other", "name": "other"}]}


def _users(bench: Bench) -> tuple[list[Asker], bool]:
    """The tools that ask for roots, and whether the server does so unasked. Raises Unavailable if nobody does."""
    session, why = bench.session, NOBODY
    try:
        askers = find_askers(bench, LIST)
    except Unavailable as reason:
        askers, why = [], str(reason)
    calls = [call.sent.number for call in session.calls.values() if call.method == "tools/call"]
    first = min(calls, default=session.position)
    unasked = any(
        is_question(frame) and frame.message["method"] == LIST and frame.number < first for frame in session.trace
    )
    if not askers and not unasked:
        raise Unavailable(why)
    return askers, unasked


@probe("asking.roots", UNAVAILABLE, CHANGED)
def unavailable(bench: Bench) -> None:
    """Servers that use roots: asking brings an error, then no roots; then the roots are there, and change."""
    askers, unasked = _users(bench)
    capabilities = {**CLIENT, **{name: value for asker in askers for name, value in asker.capabilities.items()}}
    failing = refusal(-32603, "Internal error")
    stateless = bench.session.revision.era == "stateless"
    client = Client(bench, capabilities, opening={} if stateless else {LIST: failing})
    if unasked and not _goes_on(bench, client, UNAVAILABLE, "the server asks for roots and gets an error"):
        return
    changing: Asker | None = None
    for asker in askers:
        control = client.call(asker, {})
        if not client.judge_end(UNAVAILABLE, control, False, f"tool {asker.name} asks for roots and gets some"):
            continue
        lacking = [("none", fixed({"result": {"roots": []}}))]
        lacking += [] if stateless else [("an error", failing)]
        for what, reply in lacking:
            call = client.call(asker, {LIST: reply})
            if not client.judge_end(UNAVAILABLE, call, True, f"tool {asker.name} asks for roots and gets {what}"):
                break
        else:
            bench.ledger.held(UNAVAILABLE)
            changing = changing or asker
    if not askers:
        bench.ledger.held(UNAVAILABLE)
    if not stateless and (changing or unasked):
        _change(bench, changing, capabilities, unasked)


def _goes_on(bench: Bench, client: Client, requirement: str, what: str) -> bool:
    """Whether the server still answers after a while; else `requirement` is broken."""
    session = client.session
    lost = client.lost()
    if not lost:
        # It may ask for the roots only now, and stumble over the answer.
        session.listen(session.limits.quiet)
        lost = client.lost()
    if not lost:
        return True
    bench.ledger.broke(
        requirement,
        f"{what}, and then it answers nothing any more",
        expected="a server that goes on",
        actual=lost,
        frames=[f for f in session.trace if f.origin == "us" or is_question(f)][-4:],
    )
    return False


def _change(bench: Bench, asker: Asker | None, capabilities: Json, unasked: bool) -> None:
    """The roots change, as the client may say; the server goes on, and so does the tool that uses them."""
    client = Client(bench, capabilities)
    if unasked:
        client.hear_question(LIST)  # it cannot notice a change of what it does not have yet
    if asker is not None and not client.call(asker, {}).answers:
        return
    session = client.session
    session.answers.instead[LIST] = fixed({"result": OTHER})
    session.notify("notifications/roots/list_changed")
    if not _goes_on(bench, client, CHANGED, "the server is told that the roots have changed"):
        return
    if asker is not None:
        call = client.call(asker, {LIST: fixed({"result": OTHER})})
        if not client.judge_end(CHANGED, call, True, f"the roots change, and tool {asker.name} is called"):
            return
    bench.ledger.held(CHANGED)


PATHS = ("path", "file", "filename", "filepath", "directory", "dir", "folder", "uri")
"""Names of arguments that take a path; compared without case, `_` and `-`."""


def path_argument(tool: Json) -> str:
    """The argument of the tool that a path goes into, "" if there is none for sure."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not isinstance(required, list):
        return ""
    names = [name for name in required if isinstance(name, str) and _plain(name) in PATHS]
    names = [name for name in names if isinstance(properties.get(name), dict)]
    return names[0] if len(names) == 1 and properties[names[0]].get("type") == "string" else ""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


@probe("asking.root-boundaries", BOUNDARIES)
def boundaries(bench: Bench) -> None:
    """A tool that takes a path, in a server that asks for roots: a file of ours in the only root, and one beside it."""
    _, unasked = _users(bench)
    tools = [tool for tool in with_tools_of(bench).survey.callable_tools if path_argument(tool)]
    if not tools:
        raise Unavailable("no tool that may be called takes a path; name one with --call-tool")
    with tempfile.TemporaryDirectory(prefix="mcp-conform-", ignore_cleanup_errors=True) as folder:
        inside, outside = Path(folder).resolve() / "root", Path(folder).resolve() / "elsewhere"
        for place in (inside, outside):
            place.mkdir()
            (place / "note.txt").write_text(f"A note of mcp-conform in {place.name}.\n")
        roots = fixed({"result": {"roots": [{"uri": inside.as_uri(), "name": "root"}]}})
        client = Client(bench, EVERYTHING, opening={LIST: roots})
        if unasked:
            client.hear_question(LIST)  # it must have the answer before a tool is called
            client.session.listen(client.session.limits.quiet)
        for tool in tools:
            for form in _forms(tool):
                if _judge_boundary(bench, client, tool, {LIST: roots}, [form(inside), form(outside)]):
                    return
    why = "no tool that takes a path finds a file in the only root"
    bench.ledger.inconclusive(BOUNDARIES, why)


def _forms(tool: Json) -> Iterator[Callable[[Path], str]]:
    """How a folder's note can be named to the tool."""
    if _plain(path_argument(tool)) == "uri":
        yield lambda folder: (folder / "note.txt").as_uri()
        return
    yield lambda folder: str(folder / "note.txt")
    yield str


def _judge_boundary(bench: Bench, client: Client, tool: Json, replies: Json, paths: list[str]) -> bool:
    """Whether the tool could be judged: it succeeds inside the root."""
    try:
        arguments = bench.survey.arguments_for(tool)
    except Unavailable:
        return False
    inside, outside = ({**arguments, path_argument(tool): path} for path in paths)
    name = {"name": tool.get("name")}
    control = client.call(Asker(tool, {**name, "arguments": inside}, ()), replies)
    if not control.answers or not _shows(control):
        return False
    call = client.call(Asker(tool, {**name, "arguments": outside}, ()), replies)
    if not call.answers:
        bench.ledger.inconclusive(BOUNDARIES, f"tool {tool.get('name')!r}: {call.lost}")
    elif not _shows(call):
        bench.ledger.held(BOUNDARIES)
    else:
        bench.ledger.broke(
            BOUNDARIES,
            f"tool {tool.get('name')!r} reaches a path outside of the only root",
            expected="an error, or a result with isError: true",
            actual=shown(call),
            frames=(*control.proof, *call.proof),
        )
    return True


def _shows(call: Call) -> bool:
    """Whether the tool succeeds and what it returns comes from our file or folder."""
    if not succeeded(call):
        return False
    told = encode(call.result)
    return b"A note of mcp-conform in" in told or b"note.txt" in told
