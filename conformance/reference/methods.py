"""The methods of both eras, as a table: which revisions and features each belongs to, and what it answers."""

from __future__ import annotations

from conformance.reference import resources, task_extension, tasks
from conformance.reference.identity import INSTRUCTIONS
from conformance.reference.shape import LEVELS
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from conformance.reference.call import Call

_STRING: Message = {"type": "string"}
_STRINGS: Message = {"type": "object", "additionalProperties": _STRING}
_MORE: Message = {"inputResponses": {"type": "object"}, "requestState": _STRING}


def _params(*required: str, **properties: Message) -> Message:
    return {"type": "object", "required": list(required), "properties": {**properties, "_meta": {"type": "object"}}}


_LIST = _params(cursor=_STRING)
_TASK = _params("taskId", taskId=_STRING)
PARAMS: dict[str, Message] = {
    "initialize": _params(
        "protocolVersion",
        "capabilities",
        "clientInfo",
        protocolVersion=_STRING,
        capabilities={"type": "object"},
        clientInfo=_params("name", "version", name=_STRING, version=_STRING),
    ),
    "ping": _params(),
    "tools/list": _LIST,
    "tools/call": _params("name", name=_STRING, arguments={"type": "object"}, **_MORE),
    "resources/list": _LIST,
    "resources/templates/list": _LIST,
    "resources/read": _params("uri", uri=_STRING, **_MORE),
    "resources/subscribe": _params("uri", uri=_STRING),
    "resources/unsubscribe": _params("uri", uri=_STRING),
    "prompts/list": _LIST,
    "prompts/get": _params("name", name=_STRING, arguments=_STRINGS, **_MORE),
    "logging/setLevel": _params("level", level={"type": "string", "enum": list(LEVELS)}),
    "completion/complete": _params(
        "ref",
        "argument",
        ref=_params("type", type={"type": "string", "enum": ["ref/prompt", "ref/resource"]}, name=_STRING, uri=_STRING),
        argument=_params("name", "value", name=_STRING, value=_STRING),
        context={"type": "object", "properties": {"arguments": _STRINGS}},
    ),
    "tasks/get": _TASK,
    "tasks/result": _TASK,
    "tasks/cancel": _TASK,
    "tasks/list": _LIST,
    "tasks/update": _params("taskId", "inputResponses", taskId=_STRING, inputResponses={"type": "object"}),
    "subscriptions/listen": _params(
        "notifications",
        notifications={
            "type": "object",
            "properties": {
                "toolsListChanged": {"type": "boolean"},
                "promptsListChanged": {"type": "boolean"},
                "resourcesListChanged": {"type": "boolean"},
                "resourceSubscriptions": {"type": "array", "items": _STRING},
                "taskIds": {"type": "array", "items": _STRING},
            },
        },
    ),
}


class Method:
    """A method: `run` makes its result, `feature` is the capability it needs, if any."""

    __slots__ = ("feature", "run", "since", "until")

    def __init__(
        self, run: Callable[[Call], Message | None], feature: str = "", since: str = "", until: str = "9999"
    ) -> None:
        self.run = run
        self.feature = feature
        self.since = since
        self.until = until

    def serves(self, revision: str) -> bool:
        return self.since <= revision <= self.until


def _page(call: Call, kind: str, items: Iterable[Any]) -> Message:
    """One page of a list, with the cursor of the next one if there is one."""
    server = call.server
    given = call.params.get("cursor")
    start = 0 if given is None else server.offset(kind, given)
    listed = list(items)
    end = start + server.page_size
    result: Message = {kind: [item.described() for item in listed[start:end]]}
    if end < len(listed):
        result["nextCursor"] = server.cursor(kind, end)
    return result


def _read(call: Call) -> Message:
    return {"contents": resources.contents(call, call.params["uri"])}


def _get_prompt(call: Call) -> Message:
    prompt = call.server.prompts.get(call.params["name"])
    if prompt is None:
        raise RpcError(INVALID_PARAMS, f"Unknown prompt: {call.params['name']}")
    given = call.params.get("arguments", {})
    for argument in prompt.arguments:
        if argument["required"] and argument["name"] not in given:
            raise RpcError(INVALID_PARAMS, f"Missing argument: {argument['name']}")
    return {"description": prompt.description, "messages": prompt.messages(call, given)}


def _complete(call: Call) -> Message:
    server, ref, argument = call.server, call.params["ref"], call.params["argument"]["name"]
    if ref["type"] == "ref/prompt":
        prompt = server.prompts.get(ref.get("name", ""))
        names = [each["name"] for each in prompt.arguments] if prompt else []
        completions = prompt.completions if prompt else {}
    else:
        template = server.templates.get(ref.get("uri", ""))
        names = [argument] if template and argument in template.uri_template else []
        completions = template.completions if template else {}
    if argument not in names:
        raise RpcError(INVALID_PARAMS, f"Invalid params: nothing to complete for {argument!r} of this reference")
    if ref.get("name") == "broken":
        raise RpcError(INTERNAL_ERROR, "Internal error: this completion always fails")
    return {"completion": resources.values(completions.get(argument, []), call.params["argument"]["value"])}


def _discover(call: Call) -> Message:
    server = call.server
    return {
        "supportedVersions": list(server.stateless_revisions),
        "capabilities": server.capabilities(),
        "instructions": INSTRUCTIONS,
    }


def _initialize(call: Call) -> Message:
    return call.peer.initialize(call)


def _set_level(call: Call) -> Message:
    call.peer.level = call.params["level"]
    return {}


def _subscribe(call: Call) -> Message:
    if not resources.known(call.server, call.params["uri"]):
        raise resources.not_found(call, call.params["uri"])
    call.peer.subscribed.add(call.params["uri"])
    return {}


def _unsubscribe(call: Call) -> Message:
    call.peer.subscribed.discard(call.params["uri"])
    return {}


def _listen(call: Call) -> Message | None:
    return call.peer.listen(call)


def _list_tasks(call: Call) -> Message:
    return _page(call, "tasks", call.peer.tasks.values())


_OLD, _NEW = "2025-11-25", "2026-07-28"
METHODS: dict[str, Method] = {
    "initialize": Method(_initialize, until=_OLD),
    "ping": Method(lambda call: {}, until=_OLD),
    "server/discover": Method(_discover, since=_NEW),
    "tools/list": Method(lambda call: _page(call, "tools", call.server.tools.values()), "tools"),
    "tools/call": Method(tasks.call_tool, "tools"),
    "resources/list": Method(lambda call: _page(call, "resources", call.server.resources.values()), "resources"),
    "resources/templates/list": Method(
        lambda call: _page(call, "resourceTemplates", call.server.templates.values()), "resources"
    ),
    "resources/read": Method(_read, "resources"),
    "resources/subscribe": Method(_subscribe, "resources", until=_OLD),
    "resources/unsubscribe": Method(_unsubscribe, "resources", until=_OLD),
    "prompts/list": Method(lambda call: _page(call, "prompts", call.server.prompts.values()), "prompts"),
    "prompts/get": Method(_get_prompt, "prompts"),
    "completion/complete": Method(_complete, "completions"),
    "logging/setLevel": Method(_set_level, "logging", until=_OLD),
    "tasks/get": Method(tasks.get, "tasks", _OLD),
    "tasks/result": Method(tasks.result, "tasks", _OLD, _OLD),
    "tasks/cancel": Method(tasks.cancel, "tasks", _OLD),
    "tasks/list": Method(_list_tasks, "tasks", _OLD, _OLD),
    "tasks/update": Method(task_extension.update, "tasks", _NEW),
    "subscriptions/listen": Method(_listen, since=_NEW),
}
