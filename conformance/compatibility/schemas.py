"""Is a JSON Schema narrower or wider than it was, and whom does that break?

A server reads what an inputSchema describes, so that it may admit more; clients read what an outputSchema describes,
so that it may admit less. Where neither can be told the change *may break*. The alternatives of a oneOf are taken to
exclude each other.
"""

from __future__ import annotations

from typing import Literal

from conformance.compatibility.bounds import Bound, lower_bound, number, order, shown, upper_bound
from conformance.compatibility.changes import Change, ChangeKind, canonical, same, short, step
from conformance.compatibility.normal_form import (
    ANY,
    ASSERTIONS,
    COMPOSING,
    CONCERNS,
    TYPES,
    Schema,
    admitted,
    bare,
    in_words,
    named,
    normal,
    sort,
    values_of,
)
from conformance.model import Json, members
from conformance.validation.json_schemas import unusable

Role = Literal["input", "output"]

LOWER = {"minLength": "string", "minItems": "array", "minProperties": "object"}
UPPER = {"maxLength": "string", "maxItems": "array", "maxProperties": "object"}
NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
OF_CONTAINERS = ("properties", "required", "additionalProperties", "items", "prefixItems")
COMPARED = frozenset(
    (*LOWER, *UPPER, *NUMERIC, *COMPOSING, *OF_CONTAINERS, "type", "enum", "const", "pattern", "format", "uniqueItems")
)
"""The words that are understood; of the other assertions only their coming and going is."""
STRUCTURE = frozenset({"$defs", "definitions", "$id", "$anchor", "$comment"})
MAX_STEPS = 100


def compare_schemas(old: Json, new: Json, role: Role, item: str, place: str) -> list[Change]:
    """What changed from `old` to `new`, the schema of what a tool is given (`input`) or gives back (`output`).

    Each cause is told once; changes of remarks, such as descriptions, are compatible.
    """
    why = unusable(old) or unusable(new)
    if why and not same(old, new):
        return [Change(ChangeKind.UNDECIDED, item, place, f"a schema cannot be compared: {why}")]
    comparison = _Comparison(old, new, role, item)
    if not why:
        comparison.schemas(old, new, place)
    return list(dict.fromkeys(comparison.changes))


class _Comparison:
    def __init__(self, old_root: Json, new_root: Json, role: Role, item: str) -> None:
        self.roots = (old_root, new_root)
        self.role = role
        self.item = item
        self.changes: list[Change] = []
        self._same_roots = same(old_root, new_root)
        self._seen: set[tuple[int, int]] = set()
        self._kept: list[Json] = []

    # -- what is told

    def _tell(self, kind: ChangeKind, place: str, what: str) -> None:
        self.changes.append(Change(kind, self.item, place, what))

    def _narrower(self, place: str, what: str, *, certain: bool = True) -> None:
        self._tell(self._if_harmful("input", certain), place, what)

    def _wider(self, place: str, what: str, *, certain: bool = True) -> None:
        self._tell(self._if_harmful("output", certain), place, what)

    def _if_harmful(self, role: Role, certain: bool) -> ChangeKind:
        if self.role != role:
            return ChangeKind.COMPATIBLE
        return ChangeKind.BREAKING if certain else ChangeKind.UNDECIDED

    def _undecided(self, place: str, what: str) -> None:
        self._tell(ChangeKind.UNDECIDED, place, what)

    # -- one schema and all below it

    def schemas(self, old: Json, new: Json, place: str) -> None:
        if same(old, new) and (self._same_roots or '"$ref"' not in canonical(old)):
            return
        if isinstance(old, dict) and isinstance(new, dict):
            if (id(old), id(new)) in self._seen:
                return
            self._seen.add((id(old), id(new)))
            self._kept += [old, new]  # an id is worth something only as long as its object lives
        before, after = normal(old, self.roots[0]), normal(new, self.roots[1])
        if before is None or after is None or place.count("/") > MAX_STEPS:
            self._undecided(place, f"{short(old)} became {short(new)}")
            return
        if self._alternatives(old, new, place):
            self._remarks(old, new, place)
            return
        if self._composition(before, after, place) and self._values(before, after, place):
            self._numbers(before, after, place)
            self._sizes(before, after, place)
            self._texts(before, after, place)
            self._objects(before, after, place)
            self._arrays(before, after, place)
            self._others(before, after, place)
        self._remarks(old, new, place)

    def _common(self, old: Schema, new: Schema) -> frozenset[str]:
        return admitted(old, self.roots[0]) & admitted(new, self.roots[1])

    def _alternatives(self, old: Json, new: Json, place: str) -> bool:
        """Nothing but alternatives on both sides, of which some are new or some are gone: tell that."""
        before, after = normal(old, self.roots[0], unite=0), normal(new, self.roots[1], unite=0)
        for word in ("anyOf", "oneOf"):
            if set(bare(before)) == set(bare(after)) == {word}:
                left, gone = self._left_and_gone((before or {})[word], (after or {})[word])
                if bool(left) != bool(gone):
                    self._branches((before or {})[word], (after or {})[word], step(place, word))
                    return True
        return False

    def _left_and_gone(self, old: Json, new: Json) -> tuple[list[Json], list[Json]]:
        if not isinstance(old, list) or not isinstance(new, list):
            return [], []
        return (
            [branch for branch in new if not self._among(branch, 1, old, 0)],
            [branch for branch in old if not self._among(branch, 0, new, 1)],
        )

    def _composition(self, old: Schema, new: Schema, place: str) -> bool:
        """allOf, anyOf, oneOf and references that could not be resolved; whether the rest can be compared."""
        comparable = True
        for word in COMPOSING:
            if word not in old and word not in new:
                continue
            if word in old and word in new:
                if word == "$ref":
                    if old[word] != new[word]:
                        self._undecided(place, f"$ref {short(old[word])} became {short(new[word])}")
                else:
                    self._branches(old[word], new[word], step(place, word))
            elif not self._joins(old, new, word, place):
                self._undecided(place, f"it is rewritten: {word} {'is gone' if word in old else 'is new'}")
                comparable = False
            else:
                comparable = False
        if not comparable:
            self._types(old, new, place)
        return comparable

    def _joins(self, old: Schema, new: Schema, word: str, place: str) -> bool:
        """One of both is a branch of the other: tell that."""
        whole, part = (old, new) if word in old else (new, old)
        root = self.roots[0] if word in old else self.roots[1]
        if set(bare(whole)) != {word} or word in ("$ref", "allOf") or not isinstance(whole[word], list):
            return False
        if not any(same(bare(normal(branch, root)), bare(part)) for branch in whole[word]):
            return False
        if word in old:
            self._narrower(place, f"of the alternatives of {word} one is left")
        else:
            self._wider(place, f"there are alternatives now: {word}")
        return True

    def _branches(self, old: Json, new: Json, place: str) -> None:
        word = place.rpartition("/")[2]
        if not isinstance(old, list) or not isinstance(new, list):
            if not same(old, new):
                self._undecided(place, f"{word} was rewritten")
            return
        left, gone = self._left_and_gone(old, new)
        more, fewer = (self._wider, self._narrower) if word != "allOf" else (self._narrower, self._wider)
        if gone and not left:
            fewer(place, f"{word} lost {short(gone[0])}")
        elif left and not gone:
            more(place, f"{word} got {short(left[0])}")
        elif len(left) == len(gone) == 1 and len(old) == len(new):
            self.schemas(gone[0], left[0], step(place, str(new.index(left[0]))))
        elif left:
            self._undecided(place, f"{word} was rewritten")

    def _among(self, branch: Json, side: int, others: list[Json], other_side: int) -> bool:
        """Whether one of `others` says the same; with references only if all that they can mean is the same."""
        mine = bare(normal(branch, self.roots[side]))
        if "$ref" in canonical(mine) and not self._same_roots:
            definitions = [
                {word: root.get(word) for word in ("$defs", "definitions")} if isinstance(root, dict) else None
                for root in self.roots
            ]
            if not same(*definitions):
                return False
        return any(same(mine, bare(normal(other, self.roots[other_side]))) for other in others)

    # -- values and types

    def _types(self, old: Schema, new: Schema, place: str) -> None:
        before, after = admitted(old, self.roots[0]), admitted(new, self.roots[1])
        what = f"the type was {in_words(before)} and is {in_words(after)}"
        if before - after and after - before:
            self._tell(ChangeKind.BREAKING, place, what)
        elif before - after:
            self._narrower(place, what)
        elif after - before:
            self._wider(place, what)

    def _values(self, old: Schema, new: Schema, place: str) -> bool:
        """What values and types came and went; whether the rest can be compared."""
        before, after = values_of(old), values_of(new)
        if "enum" not in old and "enum" not in new:
            self._types(old, new, place)
            return True
        if before is not None and after is not None:
            known, now = {canonical(value) for value in before}, {canonical(value) for value in after}
            self._gone_and_new(
                [value for value in before if canonical(value) not in now],
                [value for value in after if canonical(value) not in known],
                place,
            )
            return "enum" in old and "enum" in new
        listed, other = (before, new) if before is not None else (after, old)
        types = named(other["type"]) if "type" in other else ANY
        outside = [value for value in listed or () if sort(value) not in types]
        if before is not None:
            self._wider(place, "it is no longer limited to certain values")
            self._gone_and_new(outside, [], place)
        else:
            self._narrower(place, f"only certain values are left: {_several(after or [])}")
            self._gone_and_new([], outside, place)
        if set(bare(other)) - {"type"}:
            self._undecided(place, "values that are listed on one side meet other limits on the other")
        return False

    def _gone_and_new(self, gone: list[Json], new: list[Json], place: str) -> None:
        if gone:
            self._narrower(place, f"these values are gone: {_several(gone)}")
        if new:
            self._wider(place, f"these values are new: {_several(new)}")

    def _numbers(self, old: Schema, new: Schema, place: str) -> None:
        common = self._common(old, new) & TYPES["number"]
        if not common:
            return
        whole = common == TYPES["integer"]
        for words, bound in (
            (("minimum", "exclusiveMinimum"), lower_bound),
            (("maximum", "exclusiveMaximum"), upper_bound),
        ):
            before, after = bound(old, whole), bound(new, whole)
            if before != after:
                self._bounded(place, words[0], before, after)
        before, after = old.get("multipleOf"), new.get("multipleOf")
        if before == after:
            return
        what = f"multipleOf was {short(before)} and is {short(after)}"
        if before is None:
            if not (whole and after == 1):
                self._narrower(place, what)
        elif after is None:
            self._wider(place, what)
        else:
            self._undecided(place, what)

    def _sizes(self, old: Schema, new: Schema, place: str) -> None:
        common = self._common(old, new)
        for words, neutral in ((LOWER, 0.0), (UPPER, None)):
            for word, type in words.items():
                if type in common:
                    before, after = number(old.get(word), neutral), number(new.get(word), neutral)
                    if before != after:
                        self._bounded(place, word, before, after)

    def _bounded(self, place: str, word: str, before: Bound, after: Bound) -> None:
        lower = word.startswith("min")
        what = f"{word} was {shown(before)} and is {shown(after)}"
        rises = before is None or (after is not None and (order(after) > order(before)) is lower)
        (self._narrower if rises else self._wider)(place, what)

    def _texts(self, old: Schema, new: Schema, place: str) -> None:
        if "string" not in self._common(old, new):
            return
        for word in ("pattern", "format"):
            before, after = old.get(word), new.get(word)
            if before == after:
                continue
            what = f"{word} was {short(before)} and is {short(after)}"
            if before is None:
                self._narrower(place, what, certain=word == "pattern")
            elif after is None:
                self._wider(place, what, certain=word == "pattern")
            else:
                self._undecided(place, what)

    # -- objects and arrays

    def _objects(self, old: Schema, new: Schema, place: str) -> None:
        if "object" not in self._common(old, new):
            return
        before, after = _members(old), _members(new)
        needed, needs = _required(old), _required(new)
        for name in dict.fromkeys((*before, *needed, *after, *needs)):
            at = step(place, "properties", name)
            if name in after and name not in before and name not in needed:
                self._added(old, name in needs, at)
            elif name in before and name not in after and name not in needs:
                self._removed(new, name in needed, at)
            else:
                self._demand(name in needed, name in needs, at)
                self.schemas(before.get(name, True), after.get(name, True), at)
        self._further(old.get("additionalProperties", True), new.get("additionalProperties", True), place)

    def _demand(self, before: bool, after: bool, place: str) -> None:
        if after and not before:
            self._narrower(place, "it is required now")
        elif before and not after:
            self._wider(place, "it is no longer required" if self.role == "input" else "it is no longer certain")

    def _added(self, old: Schema, needed: bool, place: str) -> None:
        if self.role == "output":
            closed = old.get("additionalProperties") is False
            why = "it is new, and a client that kept the old schema refuses what that does not name"
            self._tell(ChangeKind.UNDECIDED if closed else ChangeKind.COMPATIBLE, place, why if closed else "it is new")
        elif needed:
            self._tell(ChangeKind.BREAKING, place, "it is new and required")
        else:
            self._tell(ChangeKind.COMPATIBLE, place, "it is new and optional")

    def _removed(self, new: Schema, needed: bool, place: str) -> None:
        if self.role == "output":
            if needed:
                self._tell(ChangeKind.BREAKING, place, "it was certain and is gone")
            else:
                self._undecided(place, "it was optional and is gone")
        elif new.get("additionalProperties") is False and not new.get("patternProperties"):
            self._tell(ChangeKind.BREAKING, place, "it is gone, and nothing is admitted that the schema does not name")
        else:
            self._undecided(place, "it is gone: the server may ignore it")

    def _further(self, before: Json, after: Json, place: str) -> None:
        """additionalProperties: only names that the schema does not know are concerned, so a bool is no certainty."""
        before, after = (True if value == {} else value for value in (before, after))
        if same(before, after):
            return
        if isinstance(before, bool) or isinstance(after, bool):
            narrower = before is True or after is False
            what = "members that it does not name are " + ("limited now" if narrower else "less limited now")
            (self._narrower if narrower else self._wider)(step(place, "additionalProperties"), what, certain=False)
        else:
            self.schemas(before, after, step(place, "additionalProperties"))

    def _arrays(self, old: Schema, new: Schema, place: str) -> None:
        if "array" not in self._common(old, new):
            return
        unique = [schema.get("uniqueItems") is True for schema in (old, new)]
        if unique[0] != unique[1]:
            (self._narrower if unique[1] else self._wider)(
                place, "elements must be unique now" if unique[1] else "elements need not be unique now"
            )
        for word in ("prefixItems", "items"):
            before, after = old.get(word), new.get(word)
            if not isinstance(before, list) and not isinstance(after, list):
                if word == "items":
                    self.schemas(True if before is None else before, True if after is None else after, f"{place}/items")
                elif not same(before, after):
                    self._undecided(place, f"{word} was rewritten")
            elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
                for i, (one, other) in enumerate(zip(before, after, strict=True)):
                    self.schemas(one, other, step(place, word, str(i)))
            else:
                self._undecided(place, f"{word} was rewritten")

    # -- what is not understood, and remarks

    def _others(self, old: Schema, new: Schema, place: str) -> None:
        common = self._common(old, new)
        for word in sorted((ASSERTIONS & {*old, *new}) - COMPARED):
            if (word in CONCERNS and not CONCERNS[word] & common) or same(old.get(word), new.get(word)):
                continue
            if word == "not" and {} in (old.get(word), new.get(word)):
                continue  # a schema that admits nothing: told as a change of type
            if word not in old:
                self._narrower(place, f"{word} is new: {short(new[word])}", certain=False)
            elif word not in new:
                self._wider(place, f"{word} is gone: {short(old[word])}", certain=False)
            else:
                self._undecided(place, f"{word} was {short(old[word])} and is {short(new[word])}")

    def _remarks(self, old: Json, new: Json, place: str) -> None:
        if not isinstance(old, dict) or not isinstance(new, dict):
            return
        changed = sorted(
            word
            for word in {*old, *new} - ASSERTIONS - STRUCTURE
            if canonical(old.get(word)) != canonical(new.get(word)) or (word in old) != (word in new)
        )
        if "default" in changed and "default" in old and "default" in new and self.role == "input":
            changed.remove("default")
            what = f"the default was {short(old['default'])} and is {short(new['default'])}"
            self._undecided(place, f"{what}: a call that leaves it out means something else")
        if changed:
            self._tell(ChangeKind.COMPATIBLE, place, f"{' and '.join(changed)} changed")


def _members(schema: Schema) -> dict[str, Json]:
    properties = schema.get("properties")
    return members(properties)


def _required(schema: Schema) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _several(values: list[Json]) -> str:
    return ", ".join(short(value) for value in values[:5]) + (", …" if len(values) > 5 else "")
