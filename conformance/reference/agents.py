"""The tools that need more of the client than one answer: a model with tools, a URL opened first, its files."""

from __future__ import annotations

from conformance.reference.asking import gracefully
from conformance.reference.call import NoAnswer
from conformance.reference.shape import text
from conformance.reference.tool import Tool, answer, arguments, failure
from conformance.reference.wire import RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.wire import Message

    Arguments = dict[str, Any]

URL_REQUIRED = -32042
MOST = 65536

WEATHER: Message = {
    "name": "get_weather",
    "description": "Tell the weather of a city.",
    "inputSchema": arguments(city={"type": "string"}),
    "outputSchema": {"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]},
    "annotations": {"readOnlyHint": True},
}


def _weather(call: Call, given: Arguments) -> Message:
    """Let the model call get_weather, in the last round no more."""
    if call.revision < "2025-11-25":
        return failure("Models that call tools exist since 2025-11-25.")
    messages: list[Message] = [{"role": "user", "content": text("Where is it warmer, in Paris or in London?")}]
    for turn in range(1, call.server.rounds + 1):
        last = turn == call.server.rounds
        params = {
            "messages": list(messages),
            "tools": [WEATHER],
            "toolChoice": {"mode": "none" if last else "auto"},
            "maxTokens": 200,
        }
        content = call.ask(f"turn-{turn}", "sampling/createMessage", params)["content"]
        blocks = [block for block in (content if isinstance(content, list) else [content]) if isinstance(block, dict)]
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        if not uses:
            words = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
            return answer(*words) if words else failure("The model said nothing in words.")
        messages.append({"role": "assistant", "content": blocks})
        messages.append({"role": "user", "content": [_weather_of(use) for use in uses]})
    return failure("The model calls tools without end.")


def _weather_of(use: Message) -> Message:
    """The result of one use of get_weather, or of a tool that the model made up."""
    result: Message = {"type": "tool_result", "toolUseId": str(use.get("id"))}
    if use.get("name") != WEATHER["name"]:
        return {**result, "content": [text("There is no such tool.")], "isError": True}
    return {**result, "content": [text("18 degrees")], "structuredContent": {"degrees": 18}}


def _account(call: Call, given: Arguments) -> Message:
    """Want a URL opened before all else: by an error where there is one for that, else by asking."""
    params = {"mode": "url", "message": "Please connect an account.", "url": "https://example.com/connect"}
    request: Message = {"method": "elicitation/create", "params": params}
    if call.revision != "2025-11-25":
        reply = call.ask("account", **request)
        return answer(f"The user chose {reply['action']}.")
    missing = call.server.missing_capability(call, request)
    if missing:
        raise call.peer.refusal(missing)
    required = {**params, "elicitationId": f"account-{call.id}"}
    raise RpcError(URL_REQUIRED, "This tool needs an account to be connected", {"elicitations": [required]})


def _note(call: Call, given: Arguments) -> Message:
    """Read a text file, if it is in one of the client's roots."""
    from pathlib import Path

    roots = call.peer.roots
    if roots is None:
        roots = call.ask("roots", "roots/list")["roots"]
        call.peer.keep_roots(call, roots)
    try:
        path = Path(given["path"]).resolve()
        if not any(path.is_relative_to(place) for place in map(place_of, roots) if place is not None):
            return failure(f"{given['path']} is in none of the roots.")
        if not path.is_file():
            return failure(f"{given['path']} is no file.")
        return answer(path.read_text(errors="replace")[:MOST])
    except (OSError, ValueError) as reason:
        raise NoAnswer(f"{given['path']} cannot be read: {type(reason).__name__}") from None


def place_of(root: Any) -> Any:
    """The folder of a root, None if it has none."""
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    uri = root.get("uri") if isinstance(root, dict) else None
    parts = urlsplit(uri) if isinstance(uri, str) else None
    return Path(unquote(parts.path)).resolve() if parts is not None and parts.scheme == "file" else None


TOOLS = (
    Tool("ask_weather", "Let the client's model find out the weather, by a tool", gracefully(_weather), waits=True),
    Tool("ask_account", "Do something that needs an account, connected at a URL", gracefully(_account), waits=True),
    Tool(
        "read_note",
        "Read a text file in the client's roots",
        gracefully(_note),
        input=arguments(path={"type": "string", "description": "Where it is"}),
        waits=True,
    ),
)
