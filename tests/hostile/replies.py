"""Targets that give one odd reply to whatever they are asked, but to what opens a session, or to lists and ping too.

What campaigns send gets it, too: it is told in findings, with frames of ours that hold anything.
"""

from __future__ import annotations

from hostile.registry import add, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

REPLIES: dict[str, tuple[str, Any]] = {
    "error-code-object": ("an error whose code is an object", {"error": {"code": {"a": 1}, "message": "m"}}),
    "error-code-list": ("an error whose code is a list", {"error": {"code": [[1]], "message": "m"}}),
    "error-code-text": ("an error whose code is text", {"error": {"code": "x", "message": ["m"]}}),
    "error-code-fraction": ("an error whose code is 1.5", {"error": {"code": 1.5, "message": {"a": []}}}),
    "error-of-nulls": ("an error that is all null", {"error": {"code": None, "message": None}}),
    "error-text": ("an error that is text", {"error": "boom"}),
    "error-list": ("an error that is a list", {"error": []}),
    "error-empty": ("an empty error", {"error": {}}),
    "error-data": ("an error with data", {"error": {"code": -32000, "message": "m", "data": {"a": [{}]}}}),
    "error-unknown-method": ("that there is no such method", {"error": {"code": -32601, "message": "m"}}),
    "error-elicitations": ("that odd URLs are needed", {"error": {"code": -32042, "message": "m",
                           "data": {"elicitations": [[], {"elicitationId": {}}]}}}),
    "error-versions": ("that odd versions are supported", {"error": {"code": -32022, "message": "m",
                       "data": {"supported": [{}]}}}),
    "result-list": ("a list as the result", {"result": []}),
    "result-null": ("null as the result", {"result": None}),
    "result-text": ("text as the result", {"result": "x"}),
    "result-empty": ("an empty result", {"result": {}}),
    "result-of-numbers": ("numbers in place of contents", {"result": {"content": 7, "isError": [], "contents": 7}}),
    "result-of-lists": ("lists in place of contents", {"result": {"content": [[]], "structuredContent": [],
                        "isError": "x", "messages": [[]], "completion": []}}),
    "result-of-objects": ("objects where texts belong", {"result": {
        "tools": [[], {"name": []}], "resources": [{"uri": []}, 7], "prompts": [{"name": {}}],
        "contents": [{"uri": {}}], "messages": [{"role": [], "content": 7}], "completion": {"values": [{}]},
        "nextCursor": {}}}),
}  # fmt: skip
"""Name → what it is, and the members of the response."""


def _replying(members: Message, spared: tuple[str, ...]) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        def edit(request: Message, reply: Message) -> Message:
            return reply if request["method"].endswith(spared) else {"jsonrpc": "2.0", "id": reply["id"], **members}

        server.edit = edit

    return play


for _name, (_what, _members) in REPLIES.items():
    add(f"answers-all-with-{_name}", f"Answers everything with {_what}.", _replying(_members, ("initialize",)))
    add(
        f"answers-calls-with-{_name}",
        f"Answers everything but lists and ping with {_what}.",
        _replying(_members, ("initialize", "list", "ping")),
    )

vary(
    "replies",
    """
    answers-all-with-error-code-object answers-calls-with-error-code-list answers-all-with-result-list
    answers-calls-with-result-null answers-calls-with-result-of-objects answers-calls-with-error-text
    """,
)
