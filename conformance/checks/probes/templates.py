"""The probe of what is behind resource templates."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from urllib.parse import quote

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.outcome import uris_of
from conformance.model import Json, elements, members
from conformance.survey.survey import Unavailable

MOST = 8
"""Templates that are looked at."""
LONGEST = 200
"""Characters of a value."""
SECONDS = 5.0
"""After that no further one is looked at."""

POSITIONS = (0, -1, 1, 2)
"""Which of the values that are completed are taken."""

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.]+(?:,[A-Za-z0-9_.]+)*)\}")
_FORMS = {
    "": ("", ","),
    "+": ("", ","),
    "#": ("#", ","),
    ".": (".", "."),
    "/": ("/", "/"),
    ";": (";", ";"),
    "?": ("?", "&"),
    "&": ("&", "&"),
}
"""Operator of RFC 6570 → what its expansion begins with, and what separates the values."""
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\[\]_a-z~]*")
_NAMED = ";?&"
_UNRESERVED = "~"
_RESERVED = "~:/?#[]@!$&'()*+,;="
"""What `quote` leaves as it is, beside letters, digits and `_.-`."""


def templates(bench: Bench) -> Iterator[Observation]:
    """What is behind the first templates of whose variables the server completes enough to make a URI.

    It makes that of the first value of each, then of the last and of others, and compares the URIs of what comes with
    those that it has read before. Invariants judge what is read.
    """
    session, began = bench.session, time.monotonic()
    found = False
    listed = [item["uriTemplate"] for item in bench.survey.templates if isinstance(item.get("uriTemplate"), str)]
    for template in listed[:MOST]:
        if not session.alive or time.monotonic() - began > SECONDS:
            break
        read: list[str] = []
        for position in POSITIONS:
            uri = expanded(template, _values(bench, template, position))
            if uri in read:
                continue
            if not uri or session.patience.features.avoids("resources/read", {"uri": uri}):
                break
            found = True
            call = session.request("resources/read", {"uri": uri})
            facts: dict[str, Json] = {"name": template, "uri": uri}
            uris = uris_of(call)
            other = [each for each in read if uris and all(said == each for said in uris)]
            if other:
                facts["other"] = other[0]
            yield Observation(facts, call)
            read.append(uri)
    if not found:
        raise Unavailable("no variables of a template are completed so that they make a URI")


def _values(bench: Bench, template: str, position: int) -> dict[str, str]:
    """The first completion of each variable, or another one by its position, those before it being given."""
    values: dict[str, str] = {}
    for _, names in _EXPRESSION.findall(template):
        for name in names.split(","):
            argument = {"name": name, "value": ""}
            params: dict[str, Json] = {"ref": {"type": "ref/resource", "uri": template}, "argument": argument}
            if values:
                params["context"] = {"arguments": dict(values)}
            call = bench.session.request("completion/complete", params)
            offered = elements(members(members(call.result).get("completion")).get("values"))
            value = offered[position if position < len(offered) else 0] if offered else None
            if isinstance(value, str) and 0 < len(value) <= LONGEST:
                values[name] = value
    return values


def expanded(template: str, values: dict[str, str]) -> str:
    """The URI that RFC 6570 makes of a template; "" if a value is missing that is no parameter, or it has modifiers."""
    lacking = False

    def expansion(found: re.Match[str]) -> str:
        nonlocal lacking
        operator, names = found[1], found[2].split(",")
        given = [name for name in names if name in values]
        lacking |= len(given) < len(names) and operator not in ("?", "&")
        safe = _RESERVED if operator in ("+", "#") else _UNRESERVED
        first, separator = _FORMS[operator]
        texts = [quote(values[name], safe, errors="replace") for name in given]
        if operator and operator in _NAMED:
            texts = [f"{name}={text}" for name, text in zip(given, texts, strict=True)]
        return first + separator.join(texts) if texts else ""

    uri = _EXPRESSION.sub(expansion, template)
    return "" if lacking or uri == template or not _URI.fullmatch(uri) else uri
