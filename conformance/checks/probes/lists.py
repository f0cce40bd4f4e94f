"""The lists of a server as probes see them: walked to the end, compared, watched for changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.subscriptions import UPDATED
from conformance.checks.probes import Bench, Observation
from conformance.model import Frame, Json, members
from conformance.session.exchanges import head_of, heard, is_stream, listen_by_get, over
from conformance.session.session import Call, Session, encode
from conformance.survey.picks import KEYS
from conformance.survey.survey import LISTS, MAX_PAGES, MAX_SIZE, capability_of, list_changed, read_no_further, size_of


@dataclass(slots=True)
class Walk:
    """All pages of one list. `problem` says why the walk did not come to its end, "" if it did; `cut` that we did."""

    pages: list[Call]
    items: list[Json]
    problem: str = ""
    cut: str = ""

    def keys(self, name: str) -> list[str]:
        """What identifies the items, in order; items without it are left out."""
        return [item[KEYS[name]] for item in self.items if isinstance(item.get(KEYS[name]), str)]

    @property
    def proof(self) -> tuple[Frame, ...]:
        """The last two requests and their answers."""
        return tuple(frame for call in self.pages[-2:] for frame in call.proof)


def walk(session: Session, name: str) -> Walk:
    """Follow the cursors of the list `name` to the end, to a refusal, until a cursor comes again or it is too much."""
    method, member = LISTS[name]
    found = Walk([], [])
    cursor: Json = None
    seen: set[str] = set()
    size = 0
    for _ in range(MAX_PAGES):
        call = session.request(method, None if cursor is None else {"cursor": cursor})
        found.pages.append(call)
        if not isinstance(call.result, dict):
            found.problem = "it is refused" if call.error is not None else "it is not answered by a result"
            return found
        items = call.result.get(member)
        found.items += [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        cursor = call.result.get("nextCursor")
        if not isinstance(cursor, str):
            return found
        if cursor in seen:
            found.problem = f"its nextCursor {shorten(cursor)} has come before"
            return found
        seen.add(cursor)
        size += size_of(call)
        if size > MAX_SIZE:
            break
    found.cut = read_no_further(name, len(found.pages), size)
    return found


def compare(name: str, connections: list[Session]) -> Observation:
    """How two connections list `name`; a difference must show three times, and not be a change for everybody."""
    here, there = connections
    for attempt in range(3):
        walks = [walk(session, name) for session in (here, there, here)]
        for each in walks:
            if each.problem:
                return Observation({"list": name, "problem": each.problem}, each.pages[-1])
        seen = [set(each.keys(name)) for each in walks]
        frames = (*walks[0].proof, *walks[1].proof)
        if seen[0] == seen[1]:
            return Observation({"list": name, "seen": "the same"}, walks[0].pages[-1], frames)
        if seen[0] == seen[2] and attempt == 2:
            only = ", ".join(sorted(seen[0] ^ seen[1])[:5])
            return Observation({"list": name, "seen": "different", "only-one": only}, walks[0].pages[-1], frames)
    return Observation({"list": name, "seen": "changing"}, walks[0].pages[-1], frames)


TIMES = 2
"""So often a resource that has changed is read again."""


@dataclass(slots=True)
class Watch:
    """What can be seen of lists and resources, before and after tools are called."""

    lists: dict[str, list[str]]
    contents: dict[str, str]


def look(bench: Bench, uris: list[str]) -> Watch:
    """The lists that the server announces changes of, and what `uris` hold."""
    walks = {name: walk(bench.session, name) for name in bench.survey.declared_lists if announces(bench, name)}
    lists = {name: sorted(found.keys(name)) for name, found in walks.items() if not found.problem}
    contents = {}
    for uri in uris:
        if bench.session.patience.features.avoids("resources/read", {"uri": uri}):
            continue
        if (found := contents_of(bench, uri)) is not None:
            contents[uri] = found
    return Watch(lists, contents)


def contents_of(bench: Bench, uri: str) -> str | None:
    """What a resource holds, None if that cannot be read."""
    call = bench.session.request("resources/read", {"uri": uri})
    return encode(call.result.get("contents")).decode("utf-8", "replace") if isinstance(call.result, dict) else None


def forget_restless(bench: Bench, before: Watch, after: Watch) -> None:
    """Take out of `after` the resources that hold something else each time, though nobody does anything."""
    for uri in [each for each, held in before.contents.items() if held != after.contents.get(each, held)]:
        if any(contents_of(bench, uri) != after.contents[uri] for _ in range(TIMES)):
            del after.contents[uri]


def announces(bench: Bench, name: str) -> bool:
    """Whether the server declared to announce changes of the list."""
    return bench.survey.declares(f"{capability_of(name)}.listChanged")


def hears_announcements(session: Session) -> bool:
    """Whether what the server sends of its own accord can arrive; over HTTP it needs a stream, opened here once."""
    if session.unasked is None:
        session.unasked = (True, None) if session.transport.single_stream else _opened_stream(session)
    return session.unasked[0]


def _opened_stream(session: Session, last: str = "") -> tuple[bool, Frame]:
    """Whether the stream opens, and the GET; with `last` it is the rest after the event with that id."""
    sent = listen_by_get(session, last)
    head = head_of(session, sent, session.limits.quiet)
    return head is not None and head.status == 200 and is_stream(head), sent


def heard_to_the_end(session: Session) -> bool:
    """Whether all that the server has sent of its own accord has arrived; the rest of a stream that it closed is heard.

    A server may close that stream at any time (transports, Listening for Messages from the Server).
    """
    _, sent = session.unasked or (False, None)
    if sent is None or not over(session, sent):
        return True
    ids = [frame.fields["id"] for frame in heard(session, sent) if frame.fields.get("id")]
    if not ids:
        return False
    session.unasked = _opened_stream(session, ids[-1])
    session.listen(session.limits.quiet)
    return session.unasked[0]


def changes(bench: Bench, before: Watch, after: Watch, start: int, proof: list[Frame]) -> Iterator[Observation]:
    """What became of each list and each resource, and what was said of it since frame `start`."""
    came = [f for f in bench.session.since(start) if f.origin == "target" and isinstance(f.message, dict)]
    for name, keys in before.lists.items():
        if name not in after.lists:
            continue  # it cannot be read to its end, which is judged elsewhere
        kind = capability_of(name)
        told = any(f.message.get("method") == list_changed(name) for f in came)
        difference = sorted(set(keys) ^ set(after.lists[name]))
        facts: dict[str, Json] = {"list": name, "kind": kind, "changed": keys != after.lists[name], "told": told}
        yield _observed({**facts, "difference": ", ".join(difference[:5])}, kind, came, proof)
    for uri, contents in before.contents.items():
        told = any(is_update(frame, uri) for frame in came)
        changed = contents != after.contents.get(uri, contents)
        yield _observed({"uri": uri, "changed": changed, "told": told}, "resources", came, proof)


def is_update(frame: Frame, uri: str) -> bool:
    """Whether the server says that the resource, or a part of it, has changed."""
    message = members(frame.message)
    updated = frame.origin == "target" and message.get("method") == UPDATED
    return updated and str(members(message.get("params")).get("uri", "")).startswith(uri)


def _observed(facts: dict[str, Json], kind: str, heard: list[Frame], proof: list[Frame]) -> Observation:
    """With a notification about `kind` that the specification does not have, if there was one."""
    known = (f"notifications/{kind}/list_changed", f"notifications/{kind}/updated")
    about = [f for f in heard if str(f.message.get("method", "")).startswith(f"notifications/{kind}/")]
    misnamed = [f for f in about if f.message["method"] not in known][:1]
    instead = f"{misnamed[0].message['method'][:100]}, which is not a method" if misnamed else "silence"
    return Observation({**facts, "instead": instead}, frames=(*proof[-4:], *misnamed))
