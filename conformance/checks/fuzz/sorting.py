"""Which response answers which of the frames that were sent together."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.checks.fuzz.example import Reply
from conformance.checks.fuzz.ids import whole
from conformance.model import Frame
from conformance.session.messages import Call, is_reply


def sort_out(
    replies: list[Reply],
    identifiers: dict[int, int],
    sentinels: list[Call],
    quiet: list[bool],
    heard: Sequence[Frame],
) -> None:
    """Give each response to the example that it answers: by its id, or without one by what was answered before it.

    A response with the id of something else answers something else, even if the id has become text.
    """
    own = {frame.number for reply in replies if reply.call for frame in reply.call.answers}
    for reply in replies:
        reply.answers += reply.call.answers if reply.call else []
    places = {call.sent.number: place for place, call in enumerate(sentinels)}
    answered = {frame.number: places[call.sent.number] for call in sentinels for frame in call.answers}
    nameless = [place for place, is_quiet in enumerate(quiet) if is_quiet] or [0]
    own_place = {str(identifier): at for identifier, at in identifiers.items()}
    place = 0
    for frame in heard:
        message = frame.message
        if frame.origin == "us" or not is_reply(message) or frame.number in own:
            continue
        identifier = message.get("id")
        if frame.number in answered:
            place = min(answered[frame.number] + 1, len(nameless) - 1)
        elif (owner := own_place.get(whole(identifier))) is not None:
            replies[owner].answers.append(frame)
        elif identifier is None:
            replies[nameless[place]].answers.append(frame)
