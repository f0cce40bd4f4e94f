"""Targets whose schemas cost whoever computes with them time or memory, or mean nothing."""

from __future__ import annotations

from hostile.base import change
from hostile.registry import add, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

    Schema = Any

SLOW = "^(a+)+$"
"""A pattern that takes a backtracking engine 2^n steps for n letters a and something else."""
SLOWER = "^(([a-z])+.)+[A-Z]([a-z])+$"
VICTIM = "a" * 50 + "!"
BILLION, MORE = 10**9, 10**10
DIALECTS = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def _of(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _input(schema: Schema) -> Callable[[Server], None]:
    """The schema, or what makes it, is the inputSchema of `echo`, which takes whatever it is given."""

    def play(server: Server) -> None:
        change(server, "tools/list", "tools.0.inputSchema", schema() if callable(schema) else schema)
        server.methods["tools/call"] = lambda params: {"content": [{"type": "text", "text": "done"}]}

    return play


def _output(schema: Schema, given: Any = None) -> Callable[[Server], None]:
    """The schema, or what makes it, is the outputSchema of `sum`, whose result is `given`."""

    def play(server: Server) -> None:
        change(server, "tools/list", "tools.1.outputSchema", schema() if callable(schema) else schema)
        if given is not None:
            change(server, "tools/call", "structuredContent", given)

    return play


def _dialect(schema: Schema, name: str) -> Schema:
    return {"$schema": DIALECTS[name], **schema}


# -- patterns

add(
    "slow-pattern-in-output",
    "Promises text of a pattern that takes for ever to try on what it gives.",
    _output(_of(x={"type": "string", "pattern": SLOW}), {"x": VICTIM}),
)
add(
    "slower-pattern-in-output",
    "Promises text of another pattern of the kind.",
    _output(_of(x={"type": "string", "pattern": SLOWER}), {"x": "a" * 60}),
)
add(
    "slow-pattern-in-input",
    "Admits text of a pattern that takes for ever to try.",
    _input(_of(x={"type": "string", "pattern": "^(a|a|aa)+$", "minLength": 60})),
)
add(
    "slow-pattern-of-properties",
    "Promises names of a pattern that takes for ever to try (patternProperties).",
    _output({"type": "object", "patternProperties": {SLOW: {"type": "string"}}}, {VICTIM: 1}),
)
add(
    "slow-pattern-of-names",
    "Promises names of a pattern that takes for ever to try (propertyNames).",
    _output({"type": "object", "propertyNames": {"pattern": SLOW}}, {VICTIM: 1}),
)
add(
    "slow-pattern-of-input-names",
    "Admits names of a pattern that takes for ever to try.",
    _input({"type": "object", "propertyNames": {"pattern": SLOW}, "minProperties": 1}),
)
add(
    "slow-pattern-beside-additional",
    "Promises nothing beside names of a slow pattern.",
    _output({"type": "object", "patternProperties": {SLOW: True}, "additionalProperties": False}, {VICTIM: 1}),
)
add(
    "slow-pattern-behind-reference",
    "Refers to a pattern that takes for ever to try.",
    _output({**_of(x={"$ref": "#/$defs/slow"}), "$defs": {"slow": {"type": "string", "pattern": SLOW}}}, {"x": VICTIM}),
)
add(
    "slow-pattern-in-not",
    "Promises text that is not of a pattern that takes for ever to try.",
    _output(_of(x={"type": "string", "not": {"pattern": SLOW}}), {"x": VICTIM}),
)
for _name in DIALECTS:
    add(
        f"slow-pattern-{_name}",
        f"Promises text of a slow pattern in the dialect {_name}.",
        _output(_dialect(_of(x={"type": "string", "pattern": SLOW}), _name), {"x": VICTIM}),
    )
add(
    "slow-names-draft-07",
    "Promises names of a slow pattern in the dialect draft-07.",
    _output(_dialect({"type": "object", "propertyNames": {"pattern": SLOW}}, "draft-07"), {VICTIM: 1}),
)
add(
    "pattern-a-billion-times",
    "Admits a letter a billion times ({1000000000}).",
    _input(_of(x={"type": "string", "pattern": "^a{1000000000}$"})),
)
add(
    "pattern-of-nested-counts",
    "Admits ((a{1000}){1000}){1000}.",
    _input(_of(x={"type": "string", "pattern": "^((a{1000}){1000}){1000}$"})),
)
add(
    "output-pattern-of-nested-counts",
    "Promises ((a{1000}){1000}){1000}.",
    _output(_of(x={"type": "string", "pattern": "^((a{1000}){1000}){1000}$"}), {"x": "a"}),
)
add(
    "pattern-of-1-mb",
    "Promises text of a pattern of 1 MB.",
    _output(lambda: _of(x={"type": "string", "pattern": "|".join(f"a{n}" for n in range(150_000))}), {"x": "a"}),
)
add(
    "pattern-that-is-none",
    "Promises text of a pattern that is not one.",
    _output(_of(x={"type": "string", "pattern": "(a["}), {"x": "a"}),
)
add(
    "pattern-with-10000-groups",
    "Admits text of a pattern with 10 000 parentheses, one within the other.",
    _input(_of(x={"type": "string", "pattern": "(" * 10_000 + "a" + ")" * 10_000})),
)
add(
    "pattern-that-looks-back",
    "Admits text of a pattern with a look-behind and a back reference.",
    _input(_of(x={"type": "string", "pattern": r"^(a+)(?<=a)\1+$(?!b)"})),
)
add(
    "slow-format",
    "Promises an email address of 200 kB.",
    _output(_of(x={"type": "string", "format": "email"}), {"x": "a@" * 100_000}),
)

# -- references

add("refers-to-itself", "Promises what refers to itself and to nothing else.", _output({"$ref": "#", "type": "object"}))
add(
    "refers-in-a-circle",
    "Admits what refers to itself in a circle of two.",
    _input({**_of(x={"$ref": "#/$defs/a"}), "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
)
add(
    "output-refers-in-a-circle",
    "Promises what refers to itself in a circle of two.",
    _output(
        {**_of(x={"$ref": "#/$defs/a"}), "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, {"x": 1}
    ),
)
add("all-of-itself", "Promises all of itself.", _output({"type": "object", "allOf": [{"$ref": "#"}, {"$ref": "#"}]}))
add(
    "must-contain-itself",
    "Admits objects that contain such an object, without end.",
    _input({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}),
)
add(
    "dynamic-loop",
    "Promises what refers to itself by $dynamicRef.",
    _output({"$dynamicAnchor": "n", "type": "object", "allOf": [{"$dynamicRef": "#n"}]}),
)
add(
    "dynamic-loop-in-input",
    "Admits what refers to itself by $dynamicRef.",
    _input({"$dynamicAnchor": "n", "type": "object", "properties": {"x": {"$dynamicRef": "#n"}}, "required": ["x"]}),
)
add(
    "recursive-loop",
    "Promises what refers to itself by $recursiveRef, in 2019-09.",
    _output(_dialect({"$recursiveAnchor": True, "type": "object", "anyOf": [{"$recursiveRef": "#"}]}, "2019-09")),
)
add("refers-to-nothing", "Refers to definitions that do not exist.", _input(_of(x={"$ref": "#/$defs/none"})))
add(
    "output-refers-to-nothing",
    "Promises what refers to a definition that does not exist.",
    _output(_of(x={"$ref": "#/$defs/none"}), {"x": 1}),
)
add(
    "refers-to-its-properties",
    "Refers into its own required list.",
    _output({**_of(x={"$ref": "#/required"})}, {"x": 1}),
)
add("refers-to-a-file", "Refers to file:///dev/zero.", _output(_of(x={"$ref": "file:///dev/zero"}), {"x": 1}))


def _chain(length: int, step: Callable[[str], Schema]) -> Schema:
    definitions: Message = {f"d{n}": step(f"#/$defs/d{n + 1}") for n in range(length)}
    definitions[f"d{length}"] = {"type": "string"}
    return {**_of(x={"$ref": "#/$defs/d0"}), "$defs": definitions}


def _array(ref: str) -> Schema:
    return {"type": "array", "prefixItems": [{"$ref": ref}, {"$ref": ref}], "minItems": 2}


def _object(ref: str) -> Schema:
    return _of(a={"$ref": ref}, b={"$ref": ref})


for _name, _what, _step in (
    ("arrays", "arrays of two", _array),
    ("objects", "objects of two", _object),
    ("all-of", "allOf of two", lambda ref: {"allOf": [{"$ref": ref}, {"$ref": ref}]}),
    ("any-of", "anyOf of two", lambda ref: {"anyOf": [{"$ref": ref}, {"$ref": ref}]}),
    ("one-of", "oneOf of two", lambda ref: {"oneOf": [{"$ref": ref}, {"$ref": ref}]}),
):
    _schema = _chain(40, _step)
    add(f"doubles-40-times-{_name}", f"Admits what doubles 40 times, in {_what}.", _input(_schema))
    add(
        f"output-doubles-40-times-{_name}",
        f"Promises what doubles 40 times, in {_what}.",
        _output(_schema, {"x": 1} if _name.endswith("of") else {"x": []}),
    )
add(
    "chain-of-10000-references",
    "Promises what is behind 10 000 references.",
    _output(lambda: _chain(10_000, lambda ref: {"$ref": ref}), {"x": "a"}),
)
add(
    "input-chain-of-10000-references",
    "Admits what is behind 10 000 references.",
    _input(lambda: _chain(10_000, lambda ref: {"$ref": ref})),
)
add(
    "chain-of-5000-objects",
    "Admits 5000 objects, one within the other, by reference.",
    _input(lambda: _chain(5000, lambda ref: _of(a={"$ref": ref}))),
)

# -- sizes

for _name, _keyword, _schema in (
    ("min-items", "minItems", {"type": "array", "minItems": BILLION}),
    ("min-items-10e10", "minItems", {"type": "array", "items": {"type": "string"}, "minItems": MORE}),
    ("unique-items", "minItems, all different,", {"type": "array", "minItems": BILLION, "uniqueItems": True}),
    ("min-contains", "minContains", {"type": "array", "contains": {"type": "string"}, "minContains": BILLION}),
    ("min-length", "minLength", {"type": "string", "minLength": BILLION}),
    ("min-length-10e10", "minLength", {"type": "string", "minLength": MORE}),
    ("min-properties", "minProperties", {"type": "object", "minProperties": BILLION}),
    ("min-properties-10e10", "minProperties", {"type": "object", "minProperties": MORE}),
):
    add(f"{_name}-of-billions", f"Admits only what {_keyword} says: a billion or more.", _input(_of(x=_schema)))
for _name, _schema in (
    ("max-items", {"type": "array", "maxItems": MORE}),
    ("max-length", {"type": "string", "maxLength": MORE}),
    ("max-length-of-a-billion", {"type": "string", "maxLength": BILLION}),
    ("max-properties", {"type": "object", "maxProperties": MORE}),
    ("max-properties-of-a-billion", {"type": "object", "maxProperties": BILLION}),
):
    add(
        f"{_name}-at-most",
        f"Admits what {_name.split('-of-')[0]} of a billion or more admits.",
        _input(_of(x=_schema)),
        statuses=(0, 1),
    )
add("min-length-of-30-mb", "Admits text of 30 MB and more.", _input(_of(x={"type": "string", "minLength": 30_000_000})))
add(
    "min-items-of-a-million",
    "Admits a million numbers and more.",
    _input(_of(x={"type": "array", "items": {"type": "integer"}, "minItems": 1_000_000})),
)
add(
    "matrix-of-min-items",
    "Admits 1000 arrays of 1000 arrays of 1000.",
    _input(
        _of(
            x={
                "type": "array",
                "minItems": 1000,
                "items": {
                    "type": "array",
                    "minItems": 1000,
                    "items": {"type": "array", "minItems": 1000, "items": {"type": "integer"}},
                },
            }
        )
    ),
)
add(
    "enum-of-100000",
    "Admits one of 100 000 texts.",
    _input(lambda: _of(x={"type": "string", "enum": [f"value-{n}" for n in range(100_000)]})),
)
add(
    "any-of-20000",
    "Promises any of 20 000 schemas.",
    _output(lambda: _of(x={"anyOf": [{"const": n} for n in range(20_000)]}), {"x": -1}),
)
add(
    "required-name-of-1-mb",
    "Requires a name of 1 MB.",
    _input(
        lambda: {"type": "object", "properties": {"n" * 1_000_000: {"type": "string"}}, "required": ["n" * 1_000_000]}
    ),
)
add(
    "requires-100000-names",
    "Requires 100 000 names.",
    _input(lambda: {"type": "object", "required": [f"n{n}" for n in range(100_000)]}),
)
add("const-of-5-mb", "Admits one text of 5 MB.", _input(lambda: _of(x={"const": "c" * 5_000_000})))
add("default-of-5-mb", "Has a default of 5 MB.", _input(lambda: _of(x={"type": "string", "default": "c" * 5_000_000})))


def _tower(height: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(height):
        schema = {"if": schema, "then": {"minLength": 1}, "else": {"minLength": 2}}
    return schema


add("tower-of-if", "Promises what a tower of 300 if/then/else says.", _output(_of(x=_tower(300)), {"x": "ab"}))
add("input-tower-of-if", "Admits what a tower of 300 if/then/else says.", _input(_of(x=_tower(300))))

# -- nonsense

for _name, _what, _schema in (
    ("false", "nothing at all (false)", {"type": "object", "properties": {"x": False}, "required": ["x"]}),
    ("nothing", "what is and is not text", _of(x={"type": "string", "not": {"type": "string"}})),
    ("contradiction", "numbers above 2 and below 1", _of(x={"type": "number", "minimum": 2, "maximum": 1})),
    ("two-types", "what is a text and a number", _of(x={"allOf": [{"type": "string"}, {"type": "number"}]})),
    ("empty-enum", "one of no values", _of(x={"enum": []})),
    (
        "required-and-forbidden",
        "what must be there and must not",
        {"type": "object", "required": ["x"], "not": {"required": ["x"]}},
    ),
    (
        "no-properties-but-required",
        "no names, and requires one",
        {"type": "object", "maxProperties": 0, "required": ["x"]},
    ),
    ("unknown-type", "values of the type widget", _of(x={"type": "widget"})),
    ("negative-lengths", "text of at least -5 letters", _of(x={"type": "string", "minLength": -5, "maxLength": -1})),
    ("length-of-a-fraction", "text of 1.5 letters", _of(x={"type": "string", "minLength": 1.5, "maxLength": 1.5})),
    (
        "keywords-of-wrong-types",
        "what no keyword says in a right type",
        {"type": "object", "properties": [], "required": "x", "enum": 5, "allOf": {}, "pattern": None},
    ),
):
    add(f"admits-{_name}", f"Admits {_what}.", _input(_schema))
for _name, _schema in (
    ("false", False),
    ("true", True),
    ("null", None),
    ("a-list", []),
    ("text", "object"),
    ("a-number", 5),
    ("string-schema", {"type": "string"}),
):
    add(f"input-schema-is-{_name}", f"Has {_name.replace('-', ' ')} as inputSchema.", _input(_schema))
    add(f"output-schema-is-{_name}", f"Has {_name.replace('-', ' ')} as outputSchema.", _output(_schema))
add(
    "unknown-dialect",
    "Names a dialect that does not exist.",
    _output({"$schema": "urn:none", **_of(x={"type": "string"})}, {"x": "a"}),
)
add("dialect-is-a-number", "Names 7 as the dialect.", _output({"$schema": 7, **_of(x={"type": "string"})}, {"x": "a"}))
add(
    "id-that-is-no-uri",
    "Has an $id that is no URI.",
    _output({"$id": "::: %zz", **_of(x={"type": "string"})}, {"x": "a"}),
)
add(
    "same-id-twice",
    "Has two definitions of one $id.",
    _output(
        {
            **_of(x={"$ref": "urn:a"}),
            "$defs": {"a": {"$id": "urn:a", "type": "string"}, "b": {"$id": "urn:a", "type": "null"}},
        },
        {"x": "a"},
    ),
)

vary(
    "schemas",
    """
    slow-pattern-in-output slow-pattern-in-input slow-pattern-of-properties slow-pattern-of-names
    slow-pattern-beside-additional slow-pattern-draft-07 pattern-a-billion-times pattern-of-nested-counts
    refers-in-a-circle all-of-itself must-contain-itself dynamic-loop refers-to-nothing doubles-40-times-arrays
    output-doubles-40-times-any-of chain-of-10000-references chain-of-5000-objects min-items-of-billions
    min-length-10e10-of-billions min-properties-of-billions max-properties-at-most min-length-of-30-mb
    matrix-of-min-items enum-of-100000 required-name-of-1-mb tower-of-if admits-false admits-keywords-of-wrong-types
    input-schema-is-false output-schema-is-null
    """,
)
