"""What a reference within a JSON document means."""

from __future__ import annotations

from urllib.parse import unquote

from conformance.model import Json


def pointed(root: Json, reference: str) -> Json:
    """What the local reference, `#` or `#/a/b`, means in `root`; None if that cannot be told."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    place = root
    for step in reference.split("/")[1:]:
        step = unquote(step)  # RFC 6901, section 6: it is the fragment of a URI
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict) and step in place:
            place = place[step]
        elif isinstance(place, list) and step.isdecimal() and len(step) < 10 and int(step) < len(place):
            place = place[int(step)]
        else:
            return None
    return place
