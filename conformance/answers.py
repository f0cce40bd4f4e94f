"""What the suite answers when the server asks the client: at once, plausibly, and only what it declared."""

from __future__ import annotations

from collections.abc import Callable

from conformance.client_tasks import ClientTasks
from conformance.model import Json

METHOD_NOT_FOUND = -32601

Reply = dict[str, Json]
"""`{"result": …}` or `{"error": …}`, as a response carries it."""

CAPABILITY = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}
"""What a server may ask of a client → the capability that it needs."""


class Answers:
    """Replies to requests of the server, for a client that declared `capabilities` in `revision`.

    Methods in `held` are left unanswered, for cases about a client that stays silent. `instead` has what is replied to
    a method in place of the plausible answer; `illegal` says that such replies are wrong on purpose.
    """

    def __init__(self, capabilities: Json, revision: str) -> None:
        self._capabilities = capabilities
        self._revision = revision
        self.held: set[str] = set()
        self.instead: dict[str, Callable[[Json], Reply]] = {}
        self.illegal = False
        self.tasks = ClientTasks(self._capabilities if revision == "2025-11-25" else {})

    def reply(self, method: str, params: Json) -> Reply | None:
        """The reply; None if none is due.

        The stateless era has no requests from the server, so none is answered there.
        """
        if method in self.held or self._revision >= "2026-07-28":
            return None
        if method == "ping":
            return {"result": {}}
        if self.tasks.handles(method, params):
            return self.tasks.reply(method, params, answer_to)
        if CAPABILITY.get(method) not in self._capabilities:
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}
        if method in self.instead:
            return self.instead[method](params)
        return {"result": answer_to(method, params)}


def answer_to(method: str, params: Json) -> Json:
    """A valid result for a request of the server, with content that fits what was asked."""
    if method == "roots/list":
        return {"roots": [{"uri": "file:///mcp-conform/root", "name": "root"}]}
    if method == "sampling/createMessage":
        return {
            "role": "assistant",
            "content": {"type": "text", "text": "A plausible answer."},
            "model": "mcp-conform",
            "stopReason": "endTurn",
        }
    if isinstance(params, dict) and params.get("mode") == "url":
        return {"action": "accept"}
    schema = params.get("requestedSchema") if isinstance(params, dict) else None
    return {"action": "accept", "content": form_content(schema)}


def form_content(schema: Json) -> dict[str, Json]:
    """Values for each property of an elicitation form, fitting its primitive schema."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    return {name: _primitive(value if isinstance(value, dict) else {}) for name, value in properties.items()}


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
        low = schema.get("minimum", schema.get("maximum", 1))
        return int(low) if isinstance(low, (int, float)) else 1
    if kind == "array":
        items = schema.get("items")
        choices = _choices(items if isinstance(items, dict) else {})
        return choices[: max(1, int(schema.get("minItems", 1)))]
    choices = _choices(schema)
    if choices:
        return choices[0]
    text = _FORMATS.get(str(schema.get("format")), "text")
    return text.ljust(int(schema.get("minLength", 0)), "x")[: int(schema.get("maxLength", 1000))]


def _choices(schema: dict[str, Json]) -> list[Json]:
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    for word in ("oneOf", "anyOf"):
        if isinstance(schema.get(word), list):
            return [option["const"] for option in schema[word] if isinstance(option, dict) and "const" in option]
    return []
