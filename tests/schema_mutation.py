"""Documents that put JSON Schemas to the test: valid ones made from a schema, and broken variants of them."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

Schema = Mapping[str, Any]
Resolve = Callable[[str, str], tuple[str, Schema]]
"""(base, reference) -> (base of the target, target)."""

_SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 1.5, 300000.0, -0.25, "", "x", "2.0", "é\u0000😀", 10**30,
)  # fmt: skip
_CONTAINERS: tuple[Any, ...] = ([], {}, [None], ["a"], [0.5], [{}], {"a": 1}, {"a": None}, {"a": {"b": 0.5}})
_DEEPEST = 7


class Documents:
    """Makes documents that a schema admits, and variants of any document. Seeded: the same every time."""

    def __init__(self, resolve: Resolve, words: Sequence[str], seed: str) -> None:
        """`words` are names and constants worth trying as member names and as values."""
        self._resolve = resolve
        self._words = words
        self._random = random.Random(seed)

    def valid(self, base: str, schema: Schema) -> object:
        """A document that `schema` admits; `base` is what its references are relative to."""
        return self._make([(base, schema)], 0)

    def variants(self, document: object, count: int) -> Iterator[object]:
        """`count` copies of `document`, each changed in one place; every place gets its turn."""
        places = list(_places(document))
        for number in range(count):
            if number % len(places) == 0:
                self._random.shuffle(places)
            yield _changed(document, places[number % len(places)], self._change)

    def _make(self, wanted: list[tuple[str, Schema]], depth: int) -> object:
        parts = [part for base, schema in wanted for part in self._parts(base, schema)]
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
        likely = 0.5 if depth < 3 else 0.25 if depth < _DEEPEST else 0.0
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
