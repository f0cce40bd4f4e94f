"""What changed between two snapshots of what a server offers, and whom that breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from conformance.compatibility.changes import Change, ChangeKind, canonical, same, short, step
from conformance.compatibility.schemas import compare_schemas
from conformance.model import Json, members

Compare = Callable[[str, Json, Json], Iterator[Change]]


def compare_snapshots(old: Json, new: Json) -> list[Change]:
    """All changes, in the order of the snapshot's parts. A part whose capability is gone is told by that alone."""
    changes = [*_revision(old["revision"], new["revision"])]
    if old["server"] != new["server"]:
        changes.append(_compatible("server", "", f"its name was {short(old['server'])} and is {short(new['server'])}"))
    changes += _capabilities(old["capabilities"], new["capabilities"], "")
    for part, kind, key, compare in PARTS:
        capability = "resources" if part == "templates" else part
        if capability in old["capabilities"] and capability not in new["capabilities"]:
            continue
        changes += _part(old[part], new[part], (kind, key), compare)
    return changes


def _revision(old: str, new: str) -> Iterator[Change]:
    what = f"the snapshots are of different revisions of the protocol: {old} and {new}"
    if new > old:
        yield _compatible("revision", "", what)
    elif new < old:
        yield Change(ChangeKind.UNDECIDED, "revision", "", f"{what}; clients that speak only the newer one are lost")


def _capabilities(old: Json, new: Json, place: str) -> Iterator[Change]:
    for name in sorted({*old, *new}):
        at = step(place, name)
        before, after = old.get(name, False), new.get(name, False)
        if same(before, after):
            continue
        if before is False or before is None:
            yield _compatible("capability", at, "it is new")
        elif after is False or after is None:
            yield _breaking("capability", at, "it is gone")
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from _capabilities(before, after, at)
        else:
            yield Change(ChangeKind.UNDECIDED, "capability", at, f"it was {short(before)} and is {short(after)}")


def _part(old: Json, new: Json, about: tuple[str, str], compare: Compare) -> Iterator[Change]:
    kind, key = about
    if old is None or new is None:
        if old is not new:
            what = "the list could not be read " + ("when the old" if old is None else "when the new")
            yield Change(ChangeKind.UNDECIDED, f"{kind}s", "", f"{what} snapshot was taken")
        return
    before, after = _by(key, old), _by(key, new)
    gone = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    renamed = _renamed(before, after, gone, added)
    for name in gone:
        if name in renamed:
            yield _breaking(f"{kind} {name}", "", f"it is called {renamed[name]} now")
        else:
            yield _breaking(f"{kind} {name}", "", "it is gone")
    for name in before:
        if name in after:
            yield from compare(f"{kind} {name}", before[name], after[name])
    for name in added:
        if name not in renamed.values():
            yield _compatible(f"{kind} {name}", "", "it is new")


def _by(key: str, items: Iterable[Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for item in items:
        found.setdefault(str(item.get(key)), item)
    return found


IDENTITY = ("name", "title", "uri", "uriTemplate", "annotations", "icons", "_meta")


def _renamed(before: Json, after: Json, gone: list[str], added: list[str]) -> dict[str, str]:
    """Old → new name of what is gone and came back as the same thing; only where there is no doubt."""

    def essence(item: Json) -> str:
        rest = {name: value for name, value in item.items() if name not in IDENTITY}
        return canonical(rest) if rest.get("description") else ""

    old, new = ({name: essence(items[name]) for name in names} for items, names in ((before, gone), (after, added)))
    pairs = {}
    for name, what in old.items():
        others = [other for other, theirs in new.items() if theirs == what]
        if what and len(others) == 1 and list(old.values()).count(what) == 1:
            pairs[name] = others[0]
    return pairs


# -- tools


def _tool(item: str, old: Json, new: Json) -> Iterator[Change]:
    yield from compare_schemas(old.get("inputSchema", {}), new.get("inputSchema", {}), "input", item, "/inputSchema")
    before, after = old.get("outputSchema"), new.get("outputSchema")
    if before is not None and after is None:
        yield _breaking(item, "/outputSchema", "it is gone: no structuredContent is promised any more")
    elif before is None and after is not None:
        yield _compatible(item, "/outputSchema", "it is new")
    elif before is not None:
        yield from compare_schemas(before, after, "output", item, "/outputSchema")
    yield from _hints(item, _object(old.get("annotations")), _object(new.get("annotations")))
    yield from _as_task(item, *(_object(each.get("execution")).get("taskSupport", "forbidden") for each in (old, new)))
    yield from _remarks(item, old, new, ("name", "inputSchema", "outputSchema", "annotations", "execution"))


def _hints(item: str, old: Json, new: Json) -> Iterator[Change]:
    """Hints with what is assumed where they are not given. Clients ask, or do not, depending on the first two."""
    read_only = [each.get("readOnlyHint") is True for each in (old, new)]
    at = "/annotations/readOnlyHint"
    if read_only == [True, False]:
        yield _breaking(item, at, "the tool only read and does no longer: clients that let it run unasked must ask now")
    elif read_only == [False, True]:
        yield _compatible(item, at, "the tool only reads now")
    elif read_only == [False, False]:
        destroys = [each.get("destructiveHint") is not False for each in (old, new)]
        if destroys == [False, True]:
            what = "the tool only added and may destroy now: clients that let it run unasked must ask now"
            yield _breaking(item, "/annotations/destructiveHint", what)
        elif destroys == [True, False]:
            yield _compatible(item, "/annotations/destructiveHint", "the tool destroys nothing any more")
    for hint, safe in (("idempotentHint", True), ("openWorldHint", False)):
        before, after = (each.get(hint, not safe) is safe for each in (old, new))
        if before != after:
            kind = ChangeKind.UNDECIDED if before else ChangeKind.COMPATIBLE
            yield Change(kind, item, f"/annotations/{hint}", f"it is {str(safe if after else not safe).lower()} now")
    hints = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    yield from _remarks(item, old, new, hints, "/annotations")


def _as_task(item: str, old: Json, new: Json) -> Iterator[Change]:
    if old == new:
        return
    what = f"taskSupport was {short(old)} and is {short(new)}"
    kind = ChangeKind.COMPATIBLE if new == "optional" else ChangeKind.BREAKING
    yield Change(kind, item, "/execution/taskSupport", what)


# -- prompts, resources, templates


def _prompt(item: str, old: Json, new: Json) -> Iterator[Change]:
    before, after = (_by("name", each.get("arguments") or ()) for each in (old, new))
    for name in dict.fromkeys((*before, *after)):
        at = step("/arguments", name)
        needed = [each.get(name, {}).get("required") is True for each in (before, after)]
        if name not in after:
            yield Change(ChangeKind.UNDECIDED, item, at, "the argument is gone: the server may ignore it")
        elif name not in before:
            if needed[1]:
                yield _breaking(item, at, "the argument is new and required")
            else:
                yield _compatible(item, at, "the argument is new and optional")
        else:
            if needed[1] and not needed[0]:
                yield _breaking(item, at, "the argument is required now")
            elif needed[0] and not needed[1]:
                yield _compatible(item, at, "the argument is no longer required")
            yield from _remarks(item, before[name], after[name], ("name", "required"), at)
    yield from _remarks(item, old, new, ("name", "arguments"))


def _resource(item: str, old: Json, new: Json) -> Iterator[Change]:
    before, after = old.get("mimeType"), new.get("mimeType")
    if before != after:
        kind = ChangeKind.COMPATIBLE if before is None else ChangeKind.UNDECIDED
        yield Change(kind, item, "/mimeType", f"it was {short(before)} and is {short(after)}")
    yield from _remarks(item, old, new, ("uri", "uriTemplate", "mimeType"))


PARTS: tuple[tuple[str, str, str, Compare], ...] = (
    ("tools", "tool", "name", _tool),
    ("resources", "resource", "uri", _resource),
    ("templates", "template", "uriTemplate", _resource),
    ("prompts", "prompt", "name", _prompt),
)


def _remarks(item: str, old: Json, new: Json, known: Iterable[str], place: str = "") -> Iterator[Change]:
    changed = [name for name in sorted({*old, *new} - set(known)) if not same(old.get(name), new.get(name))]
    if changed:
        yield _compatible(item, place, f"{' and '.join(changed)} changed")


def _object(value: Json) -> Json:
    return members(value)


def _breaking(item: str, place: str, what: str) -> Change:
    return Change(ChangeKind.BREAKING, item, place, what)


def _compatible(item: str, place: str, what: str) -> Change:
    return Change(ChangeKind.COMPATIBLE, item, place, what)
