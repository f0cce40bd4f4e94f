"""The prompts."""

from __future__ import annotations

from conformance.reference.shape import ICON, text
from conformance.reference.wire import INTERNAL_ERROR, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.reference.call import Call
    from conformance.reference.wire import Message

# A grey pixel, and two samples of silence.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=="


class Prompt:
    """A prompt; `arguments` are PromptArgument objects, `fill` makes the messages from their values."""

    __slots__ = ("arguments", "completions", "description", "fill", "name", "title")

    def __init__(
        self,
        name: str,
        title: str,
        fill: Callable[[dict[str, str]], list[Message]],
        arguments: Sequence[Message] = (),
        completions: dict[str, list[str]] | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.description = f"{title}."
        self.fill = fill
        self.arguments = list(arguments)
        self.completions = completions or {}

    def messages(self, call: Call, given: dict[str, str]) -> list[Message]:
        """The messages of `prompts/get` with these arguments. Raises RpcError, or whatever ends this attempt."""
        return self.fill(given)

    def described(self) -> Message:
        """The Prompt object of `prompts/list`."""
        value: Message = {"name": self.name, "title": self.title, "description": self.description, "icons": [ICON]}
        if self.arguments:
            value["arguments"] = self.arguments
        return value


def argument(name: str, description: str, required: bool) -> Message:
    return {"name": name, "title": name.capitalize(), "description": description, "required": required}


def user(block: Message) -> Message:
    return {"role": "user", "content": block}


def _conversation(values: dict[str, str]) -> list[Message]:
    return [
        user(text("What is the capital of France?")),
        {"role": "assistant", "content": text("Paris.")},
        user({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
        user(text("And of Côte d'Ivoire?\nAnswer in one word.")),
    ]


def _review(values: dict[str, str]) -> list[Message]:
    resource = {"uri": "reference://text/readme", "mimeType": "text/plain", "text": "Read me first."}
    return [user(text("Review this text.")), user({"type": "resource", "resource": resource})]


def _broken(values: dict[str, str]) -> list[Message]:
    raise RpcError(INTERNAL_ERROR, "Internal error: this prompt always fails")


PROMPTS = (
    Prompt("hello", "Say hello", lambda values: [user(text("Say hello."))]),
    Prompt(
        "greet",
        "Greet somebody by name",
        lambda values: [user(text(f"Greet {values['name']}."))],
        [argument("name", "Whom to greet", True)],
        {"name": ["Ada", "Alan", "Grace", "José"]},
    ),
    Prompt(
        "summarize",
        "Summarize a text",
        lambda values: [user(text(f"Summarize, {values.get('style', 'briefly')}: {values['text']}"))],
        [argument("text", "What to summarize", True), argument("style", "How to say it", False)],
        {"style": ["briefly", "formally", "in verse"]},
    ),
    Prompt(
        "brainstorm",
        "Collect ideas",
        lambda values: [user(text(f"Collect ideas about {values.get('topic', 'anything')}."))],
        [argument("topic", "What the ideas are about", False)],
        {"topic": [f"topic {number:03}" for number in range(1, 151)]},
    ),
    Prompt("review", "Review an embedded resource", _review),
    Prompt(
        "describe_image",
        "Describe an image",
        lambda values: [user({"type": "image", "data": PNG, "mimeType": "image/png"})],
    ),
    Prompt("conversation", "Continue a conversation", _conversation),
    Prompt("broken", "Always fails", _broken, [argument("cause", "Why it should fail", False)]),
)

EXTRA = Prompt("extra_prompt", "Comes and goes", lambda values: [user(text("I may be gone soon."))])
