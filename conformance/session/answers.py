"""What the suite answers when the server asks the client: at once, plausibly, and only what it declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from conformance.codes import INVALID_REQUEST, METHOD_NOT_FOUND
from conformance.model import Json, members
from conformance.revisions import Revision
from conformance.session.client_tasks import ClientTasks

LONGEST = 64 * 1024
"""Characters of a text in a form."""
MOST_FIELDS = 100

Response = dict[str, Json]
"""`{"result": …}` or `{"error": …}`, as a response carries it."""

CAPABILITY = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}
"""What a server may ask of a client → the capability that it needs."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the user wants to be answered: the model's text, values of form fields by name, the URIs of the roots."""

    sampling: str = "A plausible answer."
    elicitation: Mapping[str, Json] = field(default_factory=dict)
    roots: tuple[str, ...] = ("file:///mcp-conform/root",)


class Answers:
    """Replies to requests of the server, for a client that declared `capabilities` in `revision`.

    Methods in `held` are left unanswered, for cases about a client that stays silent. `instead` has what is replied to
    a method in place of the plausible answer; `illegal` says that such replies are wrong on purpose.
    """

    def __init__(self, capabilities: Json, revision: Revision) -> None:
        self._capabilities = capabilities
        self._revision = revision
        self.given = PLAUSIBLE
        self.held: set[str] = set()
        self.instead: dict[str, Callable[[Json], Response]] = {}
        self.illegal = False
        self.tasks = ClientTasks(self._capabilities if self._revision.client_tasks else {})

    def reply(self, method: Json, params: Json) -> Response | None:
        """The reply; None if none is due.

        The stateless era has no requests from the server, so none is answered there.
        """
        if not self._revision.asks_in_requests:
            return None
        if not isinstance(method, str):
            return {"error": {"code": INVALID_REQUEST, "message": "The method is not a string"}}
        if method in self.held:
            return None
        if method == "ping":
            return {"result": {}}
        if self.tasks.handles(method, params):
            return self.tasks.reply(method, params, self.plausible)
        if CAPABILITY.get(method) not in self._capabilities:
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method[:200]}"}}
        if method in self.instead:
            return self.instead[method](params)
        return {"result": self.plausible(method, params)}

    def plausible(self, method: str, params: Json) -> Json:
        """A valid result for a request of the server, with content that fits what was asked."""
        result = answer_to(method, params, self.given)
        if method == "elicitation/create" and not self._revision.lists_in_forms:
            content = result.get("content", {})
            result |= {"content": {name: _single(value) for name, value in content.items()}} if content else {}
        return result


def _single(value: Json) -> Json:
    """The value, or one of those in a list."""
    return (value[0] if value else "text") if isinstance(value, list) else value


PLAUSIBLE = Given()


def answer_to(method: str, params: Json, given: Given = PLAUSIBLE) -> Json:
    """See `Answers.plausible`."""
    if method == "roots/list":
        return {"roots": [{"uri": uri, "name": uri.rpartition("/")[2] or "root"} for uri in given.roots]}
    if method == "sampling/createMessage":
        return {
            "role": "assistant",
            "content": {"type": "text", "text": given.sampling},
            "model": "mcp-conform",
            "stopReason": "endTurn",
        }
    if isinstance(params, dict) and params.get("mode") == "url":
        return {"action": "accept"}
    schema = params.get("requestedSchema") if isinstance(params, dict) else None
    return {"action": "accept", "content": form_content(schema, given.elicitation)}


def form_content(schema: Json, given: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Values for each property of an elicitation form: the given one, or one that fits its primitive schema."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    made = {name: _primitive(members(value)) for name, value in islice(properties.items(), MOST_FIELDS)}
    return {name: (given or {}).get(name, value) for name, value in made.items()}


_FORMATS = {
    "email": "a@example.com",
    "uri": "https://example.com/",
    "date": "2025-01-01",
    "date-time": "2025-01-01T00:00:00Z",
}


def _primitive(schema: dict[str, Json]) -> Json:
    kind = schema.get("type")
    if kind == "boolean":
        return True
    if kind in ("integer", "number"):
        # Integers only: the official schemas of some revisions refuse fractions here.
        return int(_number(schema.get("minimum", schema.get("maximum")), 1))
    if kind == "array":
        items = schema.get("items")
        choices = _choices(members(items))
        return choices[: max(1, _size(schema.get("minItems"), 1))]
    choices = _choices(schema)
    if choices:
        return choices[0]
    text = _FORMATS.get(str(schema.get("format")), "text")
    return text.ljust(_size(schema.get("minLength"), 0), "x")[: _size(schema.get("maxLength"), 1000)]


def _number(value: Json, otherwise: float) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else otherwise


def _size(value: Json, otherwise: int) -> int:
    """What a keyword like `minLength` says, at most LONGEST: nobody would type more into a form."""
    return int(min(LONGEST, max(0, _number(value, otherwise))))


def _choices(schema: dict[str, Json]) -> list[Json]:
    """The texts to choose from; nothing else may be the value of a field."""
    listed = schema.get("enum")
    for word in ("oneOf", "anyOf"):
        if not isinstance(listed, list) and isinstance(schema.get(word), list):
            listed = [option.get("const") for option in schema[word] if isinstance(option, dict)]
    return [choice for choice in listed if isinstance(choice, str)] if isinstance(listed, list) else []
