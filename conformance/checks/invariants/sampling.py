"""Sampling: what the messages of a request to the client's model say, and whether they may."""

from __future__ import annotations

from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.questions import questions
from conformance.model import Frame, Json
from conformance.session.session import Call

CONTEXT = "sampling/include-context-avoided"
ANSWERED = "sampling/every-tool-use-answered"
ALONE = "sampling/tool-results-stand-alone"


class Sampling(Watcher):
    """See the module. Shapes are judged in `wire.py`."""

    name = "sampling"
    requirements: ClassVar[tuple[str, ...]] = (CONTEXT, ANSWERED, ALONE)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the requests to the model."""
        for method, params in questions(frame, call):
            if method == "sampling/createMessage":
                proof = (frame,) if call is None else (call.sent, frame)
                self._context(params, proof)
                self._messages(params.get("messages"), proof)

    def _context(self, params: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        sampling = self.session.client.get("sampling")
        if isinstance(sampling, dict) and "context" in sampling:
            return
        if params.get("includeContext", "none") == "none":
            self.ledger.held(CONTEXT)
        elif params["includeContext"] in ("thisServer", "allServers"):
            what = "a request to the model includes context, although the client did not declare sampling.context"
            self.breach(CONTEXT, what, "no includeContext, or none", params["includeContext"], proof, None)

    def _messages(self, messages: Json, proof: tuple[Frame, ...]) -> None:
        listed = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
        for number, message in enumerate(listed):
            kinds = [block.get("type") for block in blocks(message)]
            if "tool_result" in kinds and message.get("role") == "user":
                self._alone(message, kinds, proof)
            uses = [block.get("id") for block in blocks(message) if block.get("type") == "tool_use"]
            if uses and message.get("role") == "assistant":
                self._answered(uses, listed[number + 1] if number + 1 < len(listed) else {}, proof)

    def _alone(self, message: Json, kinds: list[Json], proof: tuple[Frame, ...]) -> None:
        if set(kinds) == {"tool_result"}:
            self.ledger.held(ALONE)
            return
        what = "a message with tool results holds something else as well"
        self.breach(ALONE, what, "nothing but tool results", message, proof, None)

    def _answered(self, uses: list[Json], following: Json, proof: tuple[Frame, ...]) -> None:
        given = [block.get("toolUseId") for block in blocks(following) if block.get("type") == "tool_result"]
        lacking = [use for use in uses if use not in given]
        if not lacking and following.get("role") == "user":
            self.ledger.held(ANSWERED)
            return
        what = "a tool use of the model is not followed by its result in the next message"
        expected = "a user message with a tool_result for each tool_use"
        self.breach(ANSWERED, what, expected, {"unanswered": lacking, "next": following}, proof, None)


def blocks(message: Json) -> list[Json]:
    """The content blocks of a message; one block may stand alone."""
    content = message.get("content")
    return [block for block in (content if isinstance(content, list) else [content]) if isinstance(block, dict)]
