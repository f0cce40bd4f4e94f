"""JSON Schemas that others wrote. jsonschema-rs says yes at once; where it says no, jsonschema has the last word.

Nothing that such a schema refers to is ever fetched: a server shall not make us call other machines. Nor does one make
us compute without end: jsonschema-rs, which cannot be interrupted, gets only what a look at the schema shows to be
cheap, and jsonschema counts its steps. What is beyond that raises Unusable, the same on every machine.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeVar

from conformance.budget import ONE_AT_A_TIME
from conformance.model import Json
from conformance.validation.schema_bounds import (
    DEEPEST,
    LARGEST_PROGRAM,
    MOST_WORK,
    Look,
    Unusable,
    deeper,
    in_linear_time,
    look,
    matches,
    size,
)

__all__ = [
    "DIALECTS",
    "Judge",
    "Misfit",
    "Unusable",
    "by_digest",
    "invalid",
    "judge",
    "misfit",
    "surely_a_schema",
    "unusable",
]

DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
}
"""URI of a dialect, without the empty fragment → its validator, of the same name in both libraries."""

LATEST = "Draft202012Validator"
HEAVY = 5_000
"""Weight of a schema of which few are kept ready."""
MOST_STEPS = 10_000
"""Keywords that jsonschema applies to one value: a second or so."""
LARGEST_EXPLAINED = 200_000
"""Characters and parts of a value that jsonschema looks at."""
DEEPEST_STEPS = 120
"""Keywords within each other: each takes some of Python's stack."""


LONG = 16 * 1024
"""Characters of a schema from which on only a digest of it is kept."""
LONGEST = 1_000_000
"""Characters of a schema that is looked at: a model of it takes fifty times as many bytes."""

T = TypeVar("T")


class TooLong(Unusable):
    """A validation took more than MOST_STEPS."""


Judge = Callable[[Json], bool]
"""Whether a value is valid under one schema. Raises Unusable."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Where a value breaks a schema: the path to what is wrong, in words what is, and the wrong part itself."""

    path: tuple[str | int, ...]
    message: str
    value: Json

    def __str__(self) -> str:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"${place[:200]}: {self.message[:200]}"


def unusable(schema: Json, written: str = "") -> str:
    """Why nobody can use `schema` within reasonable bounds, in words that speak of it as "it"; "" if they can.

    `written` is the schema as JSON text, if that is known already.
    """
    try:
        seen = _look(written or _text(schema))
    except Unusable as why:
        return str(why)
    return seen.flaw or seen.demand


def slips(written: str) -> tuple[str, str]:
    """What a metaschema admits in a schema, as JSON text, and is wrong: a reference to a place that it does not have,
    and a pattern that is no regular expression. Each with where it stands, "" if there is none.
    """
    try:
        seen = _look(written)
    except Unusable:
        return "", ""
    return seen.dangling, seen.misspelt


def judge(schema: Json, validator: str = "") -> Judge:
    """What tells whether a value is valid. `validator` is one of DIALECTS; without it `$schema` says which, or else it
    is 2020-12.

    Raises Unusable for what is no schema, refers to what is elsewhere, or is beyond our bounds; so does the judge.
    """
    text = _text(schema)
    seen = _look(text)
    known = _known(text, seen, validator)
    if known is None and (wrong := invalid(schema, validator or _dialect_of(schema))) is not None:
        raise Unusable(f"it is not a valid JSON Schema: {wrong.message[:200]}")

    def admits(value: Json) -> bool:
        _refuse_work(seen, value)
        try:
            return known(value) if known is not None else misfit(schema, value, validator) is None
        except UnicodeError:  # half a surrogate pair does not pass into jsonschema-rs
            return misfit(schema, value, validator) is None

    return admits


def misfit(schema: Json, value: Json, validator: str = "") -> Misfit | None:
    """Where `value` breaks `schema`; None if it does not. Both libraries must say so. Raises Unusable.

    `validator` is as for `judge`.
    """
    text = _text(schema)
    seen = _look(text)
    known = _known(text, seen, validator)
    _refuse_work(seen, value)
    try:
        if known is not None and known(value):
            return None
    except ValueError:
        pass  # half a surrogate pair does not pass into jsonschema-rs
    kind = validator or _dialect_of(schema)
    wrong = invalid(schema, kind)
    if wrong is not None:
        raise Unusable(f"it is not a valid JSON Schema: {wrong.message[:200]}")
    if _key(text) in _given_up:
        raise Unusable("its validation took too long before")
    if '"patternProperties"' in text and '"unevaluated' in text:
        raise Unusable("it has unevaluatedProperties or unevaluatedItems beside patternProperties")
    try:
        return _explained(kind, schema, value)
    except TooLong:
        _given_up[_key(text)] = None
        if len(_given_up) > MOST_GIVEN_UP:
            _given_up.pop(next(iter(_given_up)), None)
        raise


def invalid(schema: Json, validator: str) -> Misfit | None:
    """Where `schema` is no schema of the dialect whose validator that is; None if it is one. Raises Unusable."""
    uri = next(uri for uri, name in DIALECTS.items() if name == validator)
    if surely_a_schema(schema, uri):
        return None
    from jsonschema_specifications import REGISTRY

    return _explained(validator, REGISTRY.contents(uri), schema, REGISTRY)


def surely_a_schema(schema: Json, dialect: str) -> bool:
    """Whether jsonschema-rs finds `schema` valid under the meta-schema of `dialect`; False also if it cannot tell."""
    import jsonschema_rs

    if dialect not in DIALECTS or not isinstance(schema, dict):  # it would fetch the meta-schema
        return isinstance(schema, bool) and dialect in DIALECTS
    try:
        return bool(jsonschema_rs.meta.is_valid({**schema, "$schema": dialect}))
    except ValueError:
        return False


def _text(schema: Json) -> str:
    try:
        if size(schema, LONG) <= LONG:
            return json.dumps(schema)
        with ONE_AT_A_TIME:
            return json.dumps(schema)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"it cannot be read: {error}") from None


def _dialect_of(schema: Json) -> str:
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return DIALECTS.get(str(named).rstrip("#"), LATEST)


def by_digest(most: int) -> Callable[[Callable[[str, str], T]], Callable[[str, str], T]]:
    """Keep the last `most` results of a function of a schema, as JSON text, and a word, but no text that is long.

    What is to be done with a long one is done for one at a time.
    """

    def decorate(function: Callable[[str, str], T]) -> Callable[[str, str], T]:
        short = lru_cache(maxsize=most)(function)
        known: dict[tuple[str, str], T] = {}

        def remembered(schema: str, word: str) -> T:
            if len(schema) < LONG:
                return short(schema, word)
            key = (_key(schema), word)
            with ONE_AT_A_TIME:
                if key not in known:
                    while len(known) >= most:
                        known.pop(next(iter(known)))
                    known[key] = function(schema, word)
                return known[key]

        return remembered

    return decorate


def _key(schema: str) -> str:
    """The text, or what stands for a long one."""
    return schema if len(schema) < LONG else hashlib.sha256(schema.encode()).hexdigest()


@by_digest(128)
def _looked(schema: str, _word: str) -> Look:
    return look(json.loads(schema))


def _look(schema: str) -> Look:
    refuse_longest(schema)
    return _looked(schema, "")


def refuse_longest(schema: str) -> None:
    """Raises Unusable for JSON text that takes too much memory when it is made a schema of."""
    if len(schema) > LONGEST:
        raise Unusable(f"it has more than the {LONGEST} characters that are looked at")


def _refuse_work(seen: Look, value: Json) -> None:
    if deeper(value, DEEPEST):
        raise Unusable(f"the value is nested more than {DEEPEST} levels deep")
    most = MOST_WORK // max(1, seen.weight)
    if seen.weight > 10 and size(value, most) > most:
        raise Unusable("the schema has too many parts for a value of this size")


def _known(schema: str, seen: Look, validator: str) -> Judge | None:
    """What jsonschema-rs says, where a look at the schema shows that it is cheap. Raises Unusable for a flaw."""
    if seen.flaw:
        raise Unusable(seen.flaw)
    if not seen.weight:
        return None
    return _light(schema, validator) if seen.weight < HEAVY else _heavy(schema, validator)


def _compiled(schema: str, validator: str) -> Judge | None:
    import jsonschema_rs

    parsed = json.loads(schema)
    kind: Any = getattr(jsonschema_rs, validator or _dialect_of(parsed))
    # Patterns in linear time or not at all: those of its other engine are left to jsonschema, one by one.
    options = jsonschema_rs.RegexOptions(size_limit=LARGEST_PROGRAM)
    try:
        admits: Judge = kind(parsed, offline=True, validate_formats=False, pattern_options=options).is_valid
        return admits
    except (ValueError, jsonschema_rs.ReferencingError):
        return None  # jsonschema says why


_given_up: dict[str, None] = {}
"""Schemas that took too long once, in that order: a campaign would ask a hundred times."""
MOST_GIVEN_UP = 128
_light = by_digest(128)(_compiled)
_heavy = by_digest(1)(_compiled)


# -- jsonschema, in a number of steps


class _Steps(threading.local):
    """How many keywords this thread may still apply, and how many are at work within each other."""

    left = 0
    within = 0


_steps = _Steps()


def _spend(steps: int) -> None:
    _steps.left -= steps
    if _steps.left < 0:
        raise TooLong("its validation takes too long")


def _explained(validator: str, schema: Json, value: Json, registry: Any = None) -> Misfit | None:
    if size(value, LARGEST_EXPLAINED) > LARGEST_EXPLAINED or deeper(value, DEEPEST):
        raise Unusable("the value is too large to say what is wrong with it")
    from jsonschema.exceptions import best_match
    from referencing import Registry

    _steps.left, _steps.within = MOST_STEPS, 0
    try:
        error = best_match(_counting(validator)(schema, registry=registry or Registry()).iter_errors(value))
    except Unusable:
        raise
    except RecursionError:
        raise Unusable("it is nested too deep, or refers to itself without end") from None
    except Exception as wrong:  # whatever another's schema does to another's library
        raise Unusable(f"it cannot be applied: {str(wrong)[:200] or type(wrong).__name__}") from None
    return None if error is None else Misfit(tuple(error.absolute_path), error.message, error.instance)


@cache
def _counting(validator: str) -> Any:
    """The class of jsonschema, each keyword counted, and patterns in bounded time."""
    import jsonschema
    from jsonschema.validators import extend

    kind: Any = getattr(jsonschema, validator)
    keywords = {
        **kind.VALIDATORS,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    return extend(kind, {word: _counted(apply) for word, apply in keywords.items()})  # type: ignore[no-untyped-call]


Keyword = Callable[[Any, Any, Any, Any], Any]


def _counted(apply: Keyword) -> Keyword:
    def counted(validator: Any, wanted: Json, instance: Json, schema: Json) -> Iterator[Any]:
        _spend(1 + (len(instance) // 50 if isinstance(instance, (str, list, dict)) else 0))
        _steps.within += 1
        if _steps.within > DEEPEST_STEPS:
            raise Unusable("it is nested too deep, or refers to itself without end")
        try:
            for error in apply(validator, wanted, instance, schema) or ():
                _spend(size(instance, LARGEST_EXPLAINED) // 50)  # the error has a copy of it as text
                yield error
        finally:
            _steps.within -= 1

    return counted


def _pattern(_validator: Any, pattern: str, instance: Json, _schema: Json) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and not _found(pattern, instance):
        yield ValidationError(f"{instance[:200]!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Json, instance: Json, _schema: Json) -> Iterator[Any]:
    for pattern, under in patterns.items() if isinstance(instance, dict) else ():
        for name, value in instance.items():
            if _found(pattern, name):
                yield from validator.descend(value, under, path=name, schema_path=pattern)


def _additional_properties(validator: Any, under: Json, instance: Json, schema: Json) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(_found(pattern, name) for pattern in patterns):
            continue
        if isinstance(under, dict):
            yield from validator.descend(value, under, path=name)
        elif under is False:
            yield ValidationError(f"Additional properties are not allowed ({name[:200]!r} was unexpected)")


def _unique_items(_validator: Any, wanted: Json, instance: Json, _schema: Json) -> Iterator[Any]:
    from jsonschema import ValidationError

    if wanted is True and isinstance(instance, list):
        different = {json.dumps(_one_kind(each), sort_keys=True) for each in instance}
        if len(different) < len(instance):
            yield ValidationError("its elements are not unique")


def _one_kind(value: Json) -> Json:
    """The value with whole numbers in one type, since 1 and 1.0 are the same."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_one_kind(each) for each in value]
    return {name: _one_kind(each) for name, each in value.items()} if isinstance(value, dict) else value


def _found(pattern: str, text: str) -> bool:
    _spend(1 + len(text) // 500 if in_linear_time(pattern) else 50)
    return matches(pattern, text)
