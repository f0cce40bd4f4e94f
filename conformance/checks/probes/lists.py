"""The lists of a server as probes see them: walked to the end, compared, watched for changes."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.catalogue.patterns import shorten
from conformance.checks.probes import Bench
from conformance.checks.probes.outcome import answered, asked_again
from conformance.model import Frame, Json
from conformance.session.session import Call, Session, encode
from conformance.survey.picks import KEYS
from conformance.survey.survey import LISTS, MAX_PAGES, MAX_SIZE, capability_of, read_no_further, size_of


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


def judge_independence(bench: Bench, name: str, connections: list[Session]) -> None:
    """Two connections list the same; a difference must show three times, and not be a change for everybody."""
    requirement = f"{name}/list-independent-of-connection"
    here, there = connections
    for attempt in range(3):
        walks = [walk(session, name) for session in (here, there, here)]
        for each in walks:
            if each.problem:
                answered(bench, each.pages[-1], requirement)
                bench.ledger.inconclusive(requirement, f"the list of {name} cannot be walked: {each.problem}")
                return
        seen = [set(each.keys(name)) for each in walks]
        if seen[0] == seen[1]:
            bench.ledger.held(requirement)
            return
        if seen[0] == seen[2] and attempt == 2:
            bench.ledger.broke(
                requirement,
                f"two connections see different {name}",
                expected="the same list on every connection",
                actual=f"only one of them sees {', '.join(sorted(seen[0] ^ seen[1])[:5])}",
                frames=(*walks[0].proof, *walks[1].proof),
            )
            return
    bench.ledger.inconclusive(requirement, f"the list of {name} changes all the time")


@dataclass(slots=True)
class Watch:
    """What can be seen of lists and resources, before and after tools are called."""

    lists: dict[str, list[str]]
    contents: dict[str, str]


def look(bench: Bench, uris: list[str]) -> Watch:
    """The lists that the server announces changes of, and what `uris` hold."""
    lists = {
        name: sorted(walk(bench.session, name).keys(name))
        for name in bench.survey.declared_lists
        if announces(bench, name)
    }
    contents = {}
    for uri in uris:
        if not asked_again(bench, "resources/read", {"uri": uri}):
            continue
        call = bench.session.request("resources/read", {"uri": uri})
        if isinstance(call.result, dict):
            contents[uri] = encode(call.result.get("contents")).decode("utf-8", "replace")
    return Watch(lists, contents)


def announces(bench: Bench, name: str) -> bool:
    """Whether the server declared to announce changes of the list."""
    return bench.survey.declares(f"{capability_of(name)}.listChanged")


def hears_announcements(session: Session) -> bool:
    """Whether what the server sends of its own accord can arrive; over HTTP it needs a stream, opened here once."""
    if session.hears_unasked is None:
        session.hears_unasked = session.transport.name != "http" or _opens_stream(session)
    return session.hears_unasked


def _opens_stream(session: Session) -> bool:
    headers = {**session.http_headers, "Accept": "text/event-stream"}
    exchange = session.transport.send(b"", headers, "GET")
    start = session.position

    def heads() -> list[Frame]:
        return [f for f in session.since(start) if f.channel == "head" and f.exchange == exchange]

    session.listen(session.limits.quiet, until=lambda: bool(heads()))
    return [head.status for head in heads()[:1]] == [200]


def judge_announcements(bench: Bench, before: Watch, after: Watch, start: int, proof: list[Frame]) -> None:
    """Each list that changed needs a notification since frame `start`."""
    heard = [f for f in bench.session.since(start) if f.origin == "target" and isinstance(f.message, dict)]
    for name in before.lists:
        kind = capability_of(name)
        requirement = f"{kind}/list-change-announced"
        if before.lists[name] == after.lists.get(name):
            bench.ledger.inconclusive(requirement, f"no tool that was called changed the list of {name}")
        elif any(f.message.get("method") == f"notifications/{kind}/list_changed" for f in heard):
            bench.ledger.held(requirement)
        else:
            difference = sorted(set(before.lists[name]) ^ set(after.lists.get(name, [])))
            misnamed = _misnamed(kind, heard)
            bench.ledger.broke(
                requirement,
                f"the list of {name} changed without notifications/{kind}/list_changed",
                expected=f"notifications/{kind}/list_changed, since {kind}.listChanged is declared",
                actual=f"{_instead(misnamed)}; changed: {', '.join(difference[:5])}",
                frames=(*proof[-4:], *misnamed),
            )
    for uri, contents in before.contents.items():
        _judge_update(bench, uri, contents != after.contents.get(uri, contents), heard, proof)


def _judge_update(bench: Bench, uri: str, changed: bool, heard: list[Frame], proof: list[Frame]) -> None:
    requirement = "resources/update-announced"
    told = [f.message.get("params") for f in heard if f.message.get("method") == "notifications/resources/updated"]
    if not changed:
        return
    if any(isinstance(params, dict) and str(params.get("uri", "")).startswith(uri) for params in told):
        bench.ledger.held(requirement)
        return
    misnamed = _misnamed("resources", heard)
    bench.ledger.broke(
        requirement,
        "a subscribed resource changed without notifications/resources/updated",
        expected=f"notifications/resources/updated for {uri}",
        actual=_instead(misnamed),
        frames=(*proof[-4:], *misnamed),
    )


def _misnamed(kind: str, heard: list[Frame]) -> list[Frame]:
    """A notification about `kind` that the specification does not have, if there was one."""
    known = (f"notifications/{kind}/list_changed", f"notifications/{kind}/updated")
    about = [f for f in heard if str(f.message.get("method", "")).startswith(f"notifications/{kind}/")]
    return [f for f in about if f.message["method"] not in known][:1]


def _instead(misnamed: list[Frame]) -> str:
    return f"{misnamed[0].message['method'][:100]}, which is no method" if misnamed else "silence"
