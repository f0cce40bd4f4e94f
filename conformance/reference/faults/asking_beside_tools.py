"""Faults of prompts and resources that ask for input."""

from __future__ import annotations

from conformance.reference.fault import Fault, instead, on_response, on_result, several
from conformance.reference.fixtures import AskingPrompt
from conformance.reference.prompts import user
from conformance.reference.resources import Resource
from conformance.reference.shape import form, text
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.call import Call
    from conformance.reference.fault import Proceed
    from conformance.reference.server import Server

NEW = "2026-07-28"
LETTER = "reference://sealed/letter"


def _asking_prompt(server: Server) -> None:
    """Have a prompt that asks the user."""
    server.prompts["consult"] = AskingPrompt("consult", "Ask the user first", lambda values: [user(text("Nobody."))])


def _asking_resource(server: Server) -> None:
    """Have a resource that asks the user."""
    server.resources[LETTER] = Resource(LETTER, "A sealed letter", "text/plain", lambda server: [{"text": "Open."}])

    def read(call: Call, proceed: Proceed) -> Message | None:
        if call.params.get("uri") == LETTER:
            call.ask("seal", **form("Who opens it?", ("name",), name={"type": "string"}))
        return proceed(call)

    instead("resources/read", read)(server)


def _retried(result: Message, call: Call) -> bool:
    return "inputResponses" in call.params and result.get("resultType") != "input_required"


def _contents_in_arrays(result: Message, call: Call) -> None:
    for message in result["messages"] if _retried(result, call) else ():
        message["content"] = [message["content"]]


def _no_hints(result: Message, call: Call) -> None:
    for name in ("ttlMs", "cacheScope") if _retried(result, call) else ():
        result.pop(name, None)


def _none_asked_again(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("inputResponses") == {}:
        raise RpcError(INVALID_PARAMS, "Invalid params: inputResponses lacks an answer")
    return proceed(call)


def _other_code(message: Message, call: Call) -> None:
    if message.get("error", {}).get("message", "").startswith("The client lacks"):
        message["error"]["code"] = INTERNAL_ERROR


FAULTS = (
    Fault(
        "answered-prompt-content-array",
        "prompts/get-shape",
        "the messages of a prompt that has asked for input have arrays as content",
        several(_asking_prompt, on_result(("prompts/get",), _contents_in_arrays)),
        since=NEW,
    ),
    Fault(
        "answered-read-without-hints",
        "caching/hints-present resources/read-shape",
        "what is read after it was asked for input has no caching hints",
        several(_asking_resource, on_result(("resources/read",), _no_hints)),
        since=NEW,
    ),
    Fault(
        "missing-answers-refused-by-prompts",
        "input-required/missing-responses-asked-again",
        "prompts/get without the answers that it needs is an error instead of another question",
        several(_asking_prompt, instead("prompts/get", _none_asked_again)),
        since=NEW,
    ),
    Fault(
        "missing-capability-code-of-prompts",
        "meta/missing-capability-refused",
        "prompts/get of a client without the capability that it needs gives -32603",
        several(_asking_prompt, on_response(("prompts/get",), _other_code)),
        since=NEW,
    ),
    Fault(
        "missing-capability-code-of-reads",
        "meta/missing-capability-refused",
        "resources/read of a client without the capability that it needs gives -32603",
        several(_asking_resource, on_response(("resources/read",), _other_code)),
        since=NEW,
    ),
)
