"""The JSON Schemas of every message, revision by revision: what a message breaks, in words.

A type is named `area#Type`, as in the index: `tools#CallToolResult` is `$defs/CallToolResult` of
`schemas/<revision>/tools.json`. jsonschema-rs says the yes; where it says no, jsonschema explains. It reports
a union (`anyOf`) as one error with a branch of errors for each alternative; here the alternative that the
document means, by its `type`, `method`, `mode` or `status`, speaks alone. Both are imported on first use.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, cast

from conformance.files.places import SCHEMAS

if TYPE_CHECKING:
    import jsonschema
    import jsonschema_rs
    from jsonschema.exceptions import ValidationError

Sender = Literal["client", "server", "both"]
MessageKind = Literal["request", "notification", "input_request"]
Path = tuple[str | int, ...]

MOST_PROBLEMS = 100
_LONGEST_VALUE = 100
_UNIONS = frozenset({"anyOf", "oneOf"})
_DISCRIMINATORS = frozenset({"type", "method", "mode", "status"})
_NO_SCHEMAS = frozenset({"index.json", "deviations.json"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a document.

    `path` leads from the document's root to the offending value (to the place where it should be, if it is
    missing); `message` names the place and what is there, long values shortened to 120 characters;
    `expected` says what would be right.
    """

    path: Path
    message: str
    expected: str


@dataclass(frozen=True, slots=True)
class Method:
    """One method of one revision: who sends it, and the types of what is sent and answered.

    `kind` is `input_request` for what 2026-07-28 embeds in an input_required result: those are objects with
    `method` and `params`, not JSON-RPC messages. `extension` names the extension that defines the method.
    The request and notification types of the revisions before 2025-11-25 do not describe `jsonrpc` and `id`;
    `base#JSONRPCRequest` and `base#JSONRPCNotification` do, in every revision.
    """

    name: str
    direction: Sender
    kind: MessageKind
    request: str | None = None
    result: str | None = None
    notification: str | None = None
    task_result: str | None = None
    input_required_result: str | None = None
    extension: str | None = None

    def result_type(self, result: object, *, stateless: bool, task: bool = False) -> str | None:
        """The type that a result of this method must have.

        In the stateless era the result's own `resultType` decides, and None means that the method has no
        result of that kind; a missing or ill-typed `resultType` leaves it at the complete result, whose
        schema refuses it. In the handshake era `task` (the request carried a `task` member) decides.
        """
        if not stateless:
            return self.task_result if task and self.task_result else self.result
        kind = result.get("resultType") if isinstance(result, Mapping) else None
        if not isinstance(kind, str) or kind == "complete":
            return self.result
        return {"input_required": self.input_required_result, "task": self.task_result}.get(kind)


class WireSchemas:
    """The schemas of one revision. Safe to use from several threads."""

    def __init__(self, revision: str) -> None:
        """Promise the schemas of `revision`; files are read on first use.

        Raises ValueError if there are none.
        """
        self.revision = revision
        self._directory = SCHEMAS / revision
        if not (self._directory / "index.json").is_file():
            raise ValueError(f"no schemas for revision {revision!r} in {SCHEMAS}")
        self._lock = threading.Lock()
        self._fast: dict[str, jsonschema_rs.Validator] = {}
        self._explaining: dict[str, jsonschema.Draft202012Validator] = {}

    @cached_property
    def methods(self) -> Mapping[str, Method]:
        """Every method of the index by name."""
        return {name: Method(name, **entry) for name, entry in self._index["methods"].items()}

    @cached_property
    def errors(self) -> Mapping[int, str]:
        """The type of the whole error response, for the error codes that have one of their own."""
        return {int(code): type_ref for code, type_ref in self._index["errors"].items()}

    @cached_property
    def types(self) -> frozenset[str]:
        """Every type as `area#Type`."""
        return frozenset(
            f"{identifier.rsplit('/', 1)[1]}#{name}"
            for identifier, document in self.documents.items()
            for name in document["$defs"]
        )

    @cached_property
    def documents(self) -> Mapping[str, dict[str, Any]]:
        """The schema files by their `$id`."""
        loaded = (
            cast(dict[str, Any], json.loads(path.read_bytes()))
            for path in sorted(self._directory.glob("*.json"))
            if path.name not in _NO_SCHEMAS
        )
        return {document["$id"]: document for document in loaded}

    def method(self, name: str) -> Method | None:
        """What the revision says about a method; None if it does not know it."""
        return self.methods.get(name)

    def problems(self, type_ref: str, document: object) -> list[Problem]:
        """What keeps a parsed JSON document from being a `type_ref`; empty if it is one.

        One problem a place, at most MOST_PROBLEMS. Raises KeyError for a type that the revision lacks.
        """
        try:
            if self._fast_validator(type_ref).is_valid(document):
                return []
        except ValueError:
            pass  # lone surrogates cannot pass into jsonschema-rs; jsonschema decides alone
        return _explain(self._explaining_validator(type_ref), document, type_ref.partition("#")[2])

    def admits(self, type_ref: str, document: object) -> bool:
        """Whether a parsed JSON document is a `type_ref`, without a word why not."""
        try:
            return self._fast_validator(type_ref).is_valid(document)
        except ValueError:
            return not self.problems(type_ref, document)

    @cached_property
    def _index(self) -> dict[str, dict[str, Any]]:
        return cast(dict[str, dict[str, Any]], json.loads((self._directory / "index.json").read_bytes()))

    def _reference(self, type_ref: str) -> dict[str, str]:
        if type_ref not in self.types:
            raise KeyError(f"revision {self.revision} has no type {type_ref!r}")
        area, _, name = type_ref.partition("#")
        return {"$ref": f"https://mcp-conform/schemas/{self.revision}/{area}#/$defs/{name}"}

    def _fast_validator(self, type_ref: str) -> "jsonschema_rs.Validator":
        with self._lock:
            validator = self._fast.get(type_ref)
            if validator is None:
                import jsonschema_rs

                validator = jsonschema_rs.Draft202012Validator(
                    self._reference(type_ref), registry=self._fast_registry, offline=True
                )
                self._fast[type_ref] = validator
            return validator

    def _explaining_validator(self, type_ref: str) -> "jsonschema.Draft202012Validator":
        with self._lock:
            validator = self._explaining.get(type_ref)
            if validator is None:
                from jsonschema import Draft202012Validator
                from jsonschema.validators import extend
                from referencing import Registry
                from referencing.jsonschema import DRAFT202012

                registry: Registry[Any] = Registry().with_resources(
                    (identifier, DRAFT202012.create_resource(document))
                    for identifier, document in self.documents.items()
                )
                ordered: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
                    Draft202012Validator, {"additionalProperties": _additional_properties}
                )
                validator = ordered(self._reference(type_ref), registry=registry)
                self._explaining[type_ref] = validator
            return validator

    @cached_property
    def _fast_registry(self) -> "jsonschema_rs.Registry":
        import jsonschema_rs

        return jsonschema_rs.Registry(list(self.documents.items()), draft=jsonschema_rs.Draft202012)


_cache: dict[str, WireSchemas] = {}
_cache_lock = threading.Lock()


def for_revision(revision: str) -> WireSchemas:
    """The schemas of one revision, the same object each time; ValueError if there are none."""
    with _cache_lock:
        if revision not in _cache:
            _cache[revision] = WireSchemas(revision)
        return _cache[revision]


def _explain(validator: "jsonschema.Draft202012Validator", document: object, name: str) -> list[Problem]:
    found: dict[Path, Problem] = {}
    for problem in islice(_problems(validator.iter_errors(document), name), 2 * MOST_PROBLEMS):
        found[problem.path] = problem  # a type's own schema comes after its base's and says more
    return list(found.values())[:MOST_PROBLEMS]


def _additional_properties(
    validator: Any, schema: object, instance: object, parent: Mapping[str, Any]
) -> "Iterator[ValidationError]":
    """The keyword of that name, in the document's order; jsonschema's own goes by a set, differently each run."""
    if isinstance(instance, dict):
        for name, value in instance.items():
            if name not in parent.get("properties", {}):
                yield from validator.descend(value, schema, path=name)


def _problems(errors: "Iterable[ValidationError]", name: str) -> Iterator[Problem]:
    for error in errors:
        path: Path = tuple(error.absolute_path)
        if error.validator in _UNIONS:
            yield from _union(error, path, name)
        elif error.validator == "required":
            for member in _missing(error):
                expected = _either(_stated(error.schema, member)) or "a value"
                yield Problem((*path, member), f"{_place((*path, member), name)} is missing", expected)
        else:
            yield _wrong(path, name, error.instance, _either(_words(error)))


def _union(error: "ValidationError", path: Path, name: str) -> Iterator[Problem]:
    alternatives = _alternatives(error)
    of_this_type = [errors for errors in alternatives if not any(map(_is_type_error, errors))]
    if of_this_type:
        yield from _mismatch(of_this_type, path, name)
        return
    types = _either(w for errors in alternatives for e in filter(_is_type_error, errors) for w in _words(e))
    yield _wrong(path, name, error.instance, types)


def _mismatch(alternatives: "list[list[ValidationError]]", path: Path, name: str) -> Iterator[Problem]:
    """What is wrong with a value that has the JSON type of these alternatives and fits none."""
    for member in sorted(frozenset.intersection(*map(_missing_members, alternatives)) & _DISCRIMINATORS):
        expected = _either(word for errors in alternatives for word in _stated_by(errors, member))
        yield Problem((*path, member), f"{_place((*path, member), name)} is missing", expected)
        return
    meant = [errors for errors in alternatives if not _tags(errors)]
    tags = [tag for errors in alternatives for tag in _tags(errors)[:1]]
    if not meant and len({tag.path[0] for tag in tags}) == 1:
        expected = _either(word for tag in tags for word in _words(tag))
        yield _wrong(tuple(tags[0].absolute_path), name, tags[0].instance, expected)
        return
    candidates = meant or alternatives
    lacking = list(dict.fromkeys(m for errors in candidates for m in sorted(_missing_members(errors))))
    if len(lacking) > 1 and all(len(_missing_members(errors)) == len(errors) == 1 for errors in candidates):
        lacks = f"neither {' nor '.join(lacking)}" if len(lacking) == 2 else f"none of {', '.join(lacking)}"
        yield Problem(path, f"{_place(path, name)} has {lacks}", _either(lacking))
    else:
        nearest = min(candidates, key=_distance)
        yield from _problems(nearest, name)


def _alternatives(error: "ValidationError") -> "list[list[ValidationError]]":
    """The errors of each alternative; unions in unions about the same value are spread out."""
    branches: dict[Any, list[ValidationError]] = {}
    for one in error.context or ():
        branches.setdefault(one.schema_path[0], []).append(one)
    spread: list[list[ValidationError]] = []
    for errors in branches.values():
        if len(errors) == 1 and errors[0].validator in _UNIONS and not errors[0].path:
            spread += _alternatives(errors[0])
        else:
            spread.append(errors)
    return spread


def _distance(errors: "Sequence[ValidationError]") -> tuple[int, int]:
    """How far a document is from an alternative: members it lacks, then whatever else is wrong."""
    return len(_missing_members(errors)), len(errors)


def _tags(errors: "Sequence[ValidationError]") -> "list[ValidationError]":
    """The errors that say: this alternative is not meant, the discriminator names another one."""
    return [e for e in errors if len(e.path) == 1 and e.path[0] in _DISCRIMINATORS]


def _is_type_error(error: "ValidationError") -> bool:
    return not error.path and error.validator == "type"


def _missing(error: "ValidationError") -> list[str]:
    present = cast(dict[str, Any], error.instance)
    return [member for member in cast(list[str], error.validator_value) if member not in present]


def _missing_members(errors: "Sequence[ValidationError]") -> frozenset[str]:
    return frozenset(m for e in errors if e.validator == "required" and not e.path for m in _missing(e))


def _stated_by(errors: "Sequence[ValidationError]", member: str) -> Iterator[str]:
    for error in errors:
        if error.validator == "required":
            yield from _stated(error.schema, member)


def _stated(schema: object, member: str) -> list[str]:
    """What a schema wants of a member, as far as it says so without following references."""
    wanted = schema.get("properties", {}).get(member, {}) if isinstance(schema, Mapping) else {}
    if "const" in wanted:
        return [json.dumps(wanted["const"])]
    if "enum" in wanted:
        return [json.dumps(one) for one in wanted["enum"]]
    if "type" in wanted:
        return [wanted["type"]] if isinstance(wanted["type"], str) else list(wanted["type"])
    return [wanted["$ref"].rsplit("/", 1)[-1]] if "$ref" in wanted else []


def _words(error: "ValidationError") -> list[str]:
    wanted = cast(Any, error.validator_value)
    match error.validator:
        case "type":
            return [wanted] if isinstance(wanted, str) else list(wanted)
        case "const":
            return [json.dumps(wanted)]
        case "enum":
            return [json.dumps(one) for one in wanted]
        case "minimum":
            return [f"at least {wanted}"]
        case "maximum":
            return [f"at most {wanted}"]
    return [f"{error.validator} {_value(wanted)}"]


def _either(words: Iterable[str]) -> str:
    unique = list(dict.fromkeys(words))
    return f"{', '.join(unique[:-1])} or {unique[-1]}" if len(unique) > 1 else "".join(unique)


def _wrong(path: Path, name: str, value: object, expected: str) -> Problem:
    return Problem(path, f"{_place(path, name)} is {_value(value)}, expected {expected}", expected)


def _place(path: Path, name: str) -> str:
    """A path as text: `content[1].mimeType`; `name` for the empty path."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("_", "").replace("$", "").isalnum():
            text += f".{step}" if text else step
        else:
            text += f"[{_value(step)}]"
    return text or name


def _value(value: object) -> str:
    """A value in a few words: scalars as JSON, objects and arrays by what they hold."""
    match value:
        case str() if len(value) > _LONGEST_VALUE:
            return f"{json.dumps(value[:80])[:_LONGEST_VALUE]}… ({len(value)} characters)"
        case str():
            return json.dumps(value)
        case list():
            return f"an array of {len(value)}" if value else "[]"
        case dict():
            return f"an object of {len(value)} members" if value else "{}"
        case int() if value.bit_length() > 300:
            return "a huge integer"
    return json.dumps(value)
