"""Documents that put JSON Schemas to the test: valid ones made from a schema, and broken variants of them."""

import copy
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import jsonschema_rs

Schema = Mapping[str, Any]
Resolve = Callable[[str, str], tuple[str, Schema]]
"""(base, reference) -> (base of the target, target)."""

_SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 1.5, 300000.0, -0.25, "", "x", "2.0", "é\u0000😀", 10**30,
)  # fmt: skip
_CONTAINERS: tuple[Any, ...] = ([], {}, [None], ["a"], [0.5], [{}], {"a": 1}, {"a": None}, {"a": {"b": 0.5}})
_DEEPEST = 7
_ORIGINALS = 50
_VARIANTS = 23

Judged = tuple[Any, bool, bool]
"""A document, and whether the first and the second side admit it."""


class Documents:
    """Makes documents that a schema admits, and variants of any document. Seeded: the same every time."""

    def __init__(self, resolve: Resolve, words: Sequence[str], seed: str) -> None:
        """`words` are names and constants worth trying as member names and as values."""
        self._resolve = resolve
        self._words = words
        self._random = random.Random(seed)
        self._likely = 0.5  # that an optional member is there

    def valid(self, base: str, schema: Schema) -> object:
        """A document that `schema` admits; `base` is what its references are relative to."""
        self._likely = self._random.choice((0.2, 0.5, 0.9))
        return self._make([(base, schema)], 0)

    def variants(self, document: object, count: int) -> Iterator[object]:
        """`count` copies of `document`, each changed in one place; every place gets its turn."""
        places = list(_places(document))
        for number in range(count):
            if number % len(places) == 0:
                self._random.shuffle(places)
            yield _changed(document, places[number % len(places)], self._change)

    def _make(self, wanted: list[tuple[str, Schema]], depth: int) -> object:
        once = {id(schema): (base, schema) for base, schema in wanted}  # two bases may share a base
        parts = [part for base, schema in once.values() for part in self._parts(base, schema)]
        for _, part in parts:
            if "const" in part:
                return part["const"]
        enums = [set(part["enum"]) for _, part in parts if "enum" in part]
        if enums:
            return self._random.choice(sorted(set.intersection(*enums)))
        types = [_types(part) for _, part in parts if "type" in part]
        if not types:
            return self._anything()
        match self._random.choice(sorted(set.intersection(*types))):
            case "object":
                return self._object(parts, depth)
            case "array":
                return self._array(parts, depth)
            case "string":
                return self._random.choice(["", "a", "file:///a", "text", self._random.choice(self._words)])
            case "integer":
                return self._number(parts, [0, 1, 3, 1.0, 2**53, -4])
            case "number":
                return self._number(parts, [0, 0.5, 1, 2, 2.75, -3, 1.0])
            case "boolean":
                return self._random.random() < 0.5
        return None

    def _parts(self, base: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
        """The schema and all that it also asks for: references followed, one alternative of each union."""
        yield base, schema
        if "$ref" in schema:
            yield from self._parts(*self._resolve(base, schema["$ref"]))
        for one in schema.get("allOf", ()):
            yield from self._parts(base, one)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                yield from self._parts(base, self._random.choice(schema[union]))

    def _object(self, parts: list[tuple[str, Schema]], depth: int) -> dict[str, object]:
        members: dict[str, list[tuple[str, Schema]]] = {}
        required = {name for _, part in parts for name in part.get("required", ())}
        for base, part in parts:
            for name, schema in part.get("properties", {}).items():
                members.setdefault(name, []).append((base, schema))
        likely = self._likely if depth < _DEEPEST else 0.0
        made = {
            name: self._make(members.get(name, []), depth + 1)
            for name in sorted(members.keys() | required)
            if name in required or self._random.random() < likely
        }
        open_to = [
            (base, part["additionalProperties"])
            for base, part in parts
            if isinstance(part.get("additionalProperties"), Mapping)
        ]
        if depth < _DEEPEST and open_to:
            for name in self._random.sample(("k1", "k2", "k3"), self._random.randrange(3)):
                made[name] = self._make(open_to, depth + 1)
        return made

    def _array(self, parts: list[tuple[str, Schema]], depth: int) -> list[object]:
        items = [(base, part["items"]) for base, part in parts if "items" in part]
        length = self._random.choice([0, 1, 1, 2]) if depth < _DEEPEST else 0
        return [self._make(items, depth + 1) for _ in range(length)]

    def _number(self, parts: list[tuple[str, Schema]], candidates: list[float]) -> float:
        low = max((part["minimum"] for _, part in parts if "minimum" in part), default=-100)
        high = min((part["maximum"] for _, part in parts if "maximum" in part), default=2**60)
        return self._random.choice([number for number in candidates if low <= number <= high])

    def _anything(self) -> object:
        return self._random.choice(self._random.choice((_SCALARS, _CONTAINERS, self._words)))

    def _change(self, value: object) -> object:
        if self._random.random() < 0.5:
            return self._anything()
        match value:
            case dict():
                changed = dict(value)
                if changed and self._random.random() < 0.6:
                    del changed[self._random.choice(list(changed))]
                else:
                    changed[self._random.choice(self._words)] = self._anything()
                return changed
            case list():
                return self._random.choice(([*value, self._anything()], value[1:], value + value))
            case bool() | None:
                return self._anything()
            case int() | float():
                return self._random.choice((value + 0.5, value + 1, -value - 1, value * 1000, str(value)))
        return self._random.choice(self._words)


class Side:
    """One set of schemas: documents made from it, and its verdict on documents."""

    def __init__(self, resources: Mapping[str, Schema], types: Mapping[str, tuple[str, str]]) -> None:
        """`resources`: schemas by identifier; `types`: name -> (identifier of the resource, fragment)."""
        draft = jsonschema_rs.Draft202012
        if any("draft-07" in str(document.get("$schema")) for document in resources.values()):
            draft = jsonschema_rs.Draft7
        self._resources = resources
        self._types = types
        self._registry = jsonschema_rs.Registry(cast(Any, list(resources.items())), draft=draft)
        self._draft = draft

    @property
    def names(self) -> set[str]:
        return set(self._types)

    def validator(self, name: str) -> jsonschema_rs.Validator:
        identifier, fragment = self._types[name]
        schema = {"$ref": f"{identifier}#{fragment}"}
        if self._draft == jsonschema_rs.Draft7:
            return jsonschema_rs.Draft7Validator(schema, registry=self._registry, validate_formats=False)
        return jsonschema_rs.Draft202012Validator(schema, registry=self._registry)

    def resolve(self, base: str, reference: str) -> tuple[str, Schema]:
        target, _, fragment = reference.partition("#")
        identifier = f"{base.rsplit('/', 1)[0]}/{target}" if target else base
        found: Any = self._resources[identifier]
        for step in fragment.strip("/").split("/"):
            found = found[step]
        return identifier, cast(Schema, found)

    def valid(self, name: str, words: Sequence[str], seed: str, count: int) -> Iterator[object]:
        identifier, fragment = self._types[name]
        documents = Documents(self.resolve, words, f"{seed} {name}")
        schema = self.resolve(identifier, f"#{fragment}")[1]
        return (documents.valid(identifier, schema) for _ in range(count))


def both_verdicts(one: Side, other: Side, name: str, words: Sequence[str]) -> Iterator[Judged]:
    """2400 documents about one type: made from each side's schema, and broken in every place."""
    admitted, admitted_by_other = one.validator(name).is_valid, other.validator(name).is_valid
    breaking = Documents(one.resolve, words, f"variants {name}")
    for side, seed in ((one, "one"), (other, "other")):
        for document in side.valid(name, words, seed, _ORIGINALS):
            yield document, admitted(document), admitted_by_other(document)
            for variant in breaking.variants(document, _VARIANTS):
                yield variant, admitted(variant), admitted_by_other(variant)


def keywords(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every keyword of a schema that keeps documents out: (path of the schema in the type, keyword)."""
    for keyword in ("required", "enum", "const", "minimum", "maximum", "items", "additionalProperties"):
        if keyword in schema:
            yield path, keyword
    if "type" in schema:
        yield path, "type"
    for name, member in schema.get("properties", {}).items():
        yield from keywords(member, (*path, "properties", name))
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from keywords(schema[keyword], (*path, keyword))


def loosened(schema: dict[str, Any], path: tuple[str, ...], keyword: str) -> dict[str, Any]:
    """The schema with one required member, one value of an enum or another keyword taken out."""
    changed = copy.deepcopy(schema)
    node = changed
    for step in path:
        node = node[step]
    if keyword in ("required", "enum") and len(node[keyword]) > 1:
        node[keyword] = node[keyword][1:]
    else:
        del node[keyword]
    return changed


def vocabulary(schemas: Iterable[Schema]) -> tuple[str, ...]:
    """Every member name and string constant of the schemas, in order."""
    found: set[str] = set()

    def collect(node: object) -> None:
        if isinstance(node, dict):
            found.update(node.get("properties", {}))
            found.update(one for one in [node.get("const"), *node.get("enum", ())] if isinstance(one, str))
            for value in node.values():
                collect(value)

    for schema in schemas:
        collect(schema)
    return tuple(sorted(found))


def _types(schema: Schema) -> set[str]:
    """The types, so that an intersection finds that an integer is a number."""
    names = schema["type"]
    found = {names} if isinstance(names, str) else set(names)
    return found | {"integer"} if "number" in found else found


def _places(document: object) -> Iterator[tuple[str | int, ...]]:
    yield ()
    if isinstance(document, dict):
        steps: Any = document.items()
    elif isinstance(document, list):
        steps = enumerate(document)
    else:
        return
    for step, value in steps:
        for rest in _places(value):
            yield (step, *rest)


def _changed(document: object, place: tuple[str | int, ...], change: Callable[[object], object]) -> object:
    """A copy that differs at `place`; what did not change is shared with the original."""
    if not place:
        return change(document)
    step, *rest = place
    copy = cast(Any, document).copy()
    copy[step] = _changed(copy[step], tuple(rest), change)
    return copy
