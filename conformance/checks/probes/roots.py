"""Probes of the area roots: roots that cannot be had, that change, and that a tool has to stay in."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.askers import (
    EVERYTHING,
    AskedClient,
    Asker,
    find_askers,
    fixed,
    is_question,
    refusal,
    survived,
    unasked_within,
    was_asked,
    with_tools_of,
)
from conformance.checks.probes.outcome import succeeded
from conformance.codes import INTERNAL_ERROR
from conformance.model import Json
from conformance.session.session import Call, encode
from conformance.survey.survey import Unavailable

LIST = "roots/list"
CLIENT: Json = {"roots": EVERYTHING["roots"]}
NOBODY = (
    "the server does not ask for roots, neither at its start nor in a tool that was called; allow one with --call-tool"
)
FAILING = refusal(INTERNAL_ERROR, "Internal error")
NONE = fixed({"result": {"roots": []}})
STUMBLING = 0.25
"""Seconds in which a server that stumbles over the answer to its question does so."""
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


def unavailable(bench: Bench) -> Iterator[Observation]:
    """Servers that use roots: asking brings an error, then no roots; then the roots are there, and change.

    It finds out which tools ask, and whether the server does so by itself.
    """
    askers, unasked = _users(bench)
    capabilities = {**CLIENT, **{name: value for asker in askers for name, value in asker.capabilities.items()}}
    stateless = bench.session.revision.era == "stateless"
    client = AskedClient(bench, capabilities, opening={} if stateless else {LIST: FAILING})
    if unasked:
        seen = _goes_on(client, 0, roots="an error")
        if not survived(seen) or not askers:
            yield seen  # tools that ask decide it otherwise
        if not survived(seen):
            return
    changing: Asker | None = None
    for asker in askers:
        seen = client.observe(asker, client.call(asker, {}), roots="some")
        yield seen
        for what, reply in (("none", NONE), *([] if stateless else [("an error", FAILING)])):
            if not survived(seen):
                break
            seen = client.observe(asker, client.call(asker, {LIST: reply}), roots=what)
            yield seen
        if survived(seen):
            changing = changing or asker
    if not stateless and (changing or unasked):
        yield from _change(client, changing, unasked)


def _goes_on(client: AskedClient, start: int, **facts: Json) -> Observation:
    """Whether the server still answers after it has asked for the roots since a frame, which may take a while."""
    session = client.session
    lost = client.lost()
    if not lost:
        session.listen(unasked_within(session), until=lambda: was_asked(session, LIST, start))
        session.listen(STUMBLING)
        lost = client.lost()
    frames = tuple(f for f in session.trace if f.origin == "us" or is_question(f))[-4:]
    return Observation({**facts, "server": "gets stuck" if lost else "goes on"}, None, frames, lost)


def _change(client: AskedClient, asker: Asker | None, unasked: bool) -> Iterator[Observation]:
    """The roots change, as the client may say; the server goes on, and so does the tool that uses them.

    `client` had none to give. If the server does not ask it again, or gets stuck, another client has some at first.
    """
    if asker is None:
        start = client.session.position
        seen = _changed(client)
        if survived(seen) and was_asked(client.session, LIST, start):
            yield seen
            return
    client = client.another()
    if unasked:
        client.hear_question(LIST)  # it cannot notice a change of what it does not have yet
    if asker is not None and not client.call(asker, {}).answers:
        return
    seen = _changed(client)
    if asker is not None and survived(seen):
        seen = client.observe(asker, client.call(asker, {LIST: fixed({"result": OTHER})}), roots="others")
    yield seen


def _changed(client: AskedClient) -> Observation:
    session, start = client.session, client.session.position
    session.answers.instead[LIST] = fixed({"result": OTHER})
    session.notify("notifications/roots/list_changed")
    return _goes_on(client, start, roots="others")


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


def boundaries(bench: Bench) -> Iterator[Observation]:
    """A tool that takes a path, in a server that asks for roots: a file of ours in the only root, and one beside it.

    It finds out which argument takes a path and in which form, and makes the files.
    """
    _, unasked = _users(bench)
    tools = [tool for tool in with_tools_of(bench).survey.callable_tools if path_argument(tool)]
    if not tools:
        raise Unavailable("no tool that may be called takes a path; allow one with --call-tool")
    with tempfile.TemporaryDirectory(prefix="mcp-conform-", ignore_cleanup_errors=True) as folder:
        inside, outside = Path(folder).resolve() / "root", Path(folder).resolve() / "elsewhere"
        for place in (inside, outside):
            place.mkdir()
            (place / "note.txt").write_text(f"A note of mcp-conform in {place.name}.\n")
        roots = fixed({"result": {"roots": [{"uri": inside.as_uri(), "name": "root"}]}})
        client = AskedClient(bench, EVERYTHING, opening={LIST: roots})
        if unasked:
            client.hear_question(LIST)  # it must have the answer before a tool is called
            client.session.listen(unasked_within(client.session))
        for tool in tools:
            for form in _forms(tool):
                seen = _reached(bench, client, tool, {LIST: roots}, [form(inside), form(outside)])
                if seen is not None:
                    yield seen
                    return


def _forms(tool: Json) -> Iterator[Callable[[Path], str]]:
    """How a folder's note can be named to the tool."""
    if _plain(path_argument(tool)) == "uri":
        yield lambda folder: (folder / "note.txt").as_uri()
        return
    yield lambda folder: str(folder / "note.txt")
    yield str


def _reached(bench: Bench, client: AskedClient, tool: Json, replies: Json, paths: list[str]) -> Observation | None:
    """What the tool reaches beside the root; None if it cannot be told since it fails within."""
    try:
        arguments = bench.survey.arguments_for(tool)
    except Unavailable:
        return None
    inside, outside = ({**arguments, path_argument(tool): path} for path in paths)
    name = {"name": tool.get("name")}
    control = client.call(Asker(tool, {**name, "arguments": inside}, ()), replies)
    if not control.answers or not _shows(control):
        return None
    call = client.call(Asker(tool, {**name, "arguments": outside}, ()), replies)
    facts = {"tool": tool.get("name"), "shown": "nothing" if call.answers else "no answer", "why": call.lost}
    if call.answers and _shows(call):
        facts["shown"] = "our file"
    return Observation(facts, call, (*control.proof, *call.proof))


def _shows(call: Call) -> bool:
    """Whether the tool succeeds and what it returns comes from our file or folder."""
    if not succeeded(call):
        return False
    told = encode(call.result)
    return b"A note of mcp-conform in" in told or b"note.txt" in told
