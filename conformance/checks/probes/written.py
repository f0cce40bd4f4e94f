"""The probe of requests that are written in another way and are the same JSON. Part of the area jsonrpc."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.outcome import behind_gateway
from conformance.model import Json
from conformance.session.session import Call, Session, encode
from conformance.survey.survey import Unavailable

PLAIN = "its parts in the usual order, without blanks"
AROUND = "blanks before and after it"
SEPARATED = "line separators in a text (U+0085, U+2028, U+2029)"
SEPARATORS = "\x85\u2028\u2029"
"""What JSON allows in a text as it is, and some libraries take for the end of a line."""
KEY = "com.example/mcp-conform"


def _reversed(message: Json) -> bytes:
    return encode(dict(reversed(message.items())))


def _spaced(message: Json) -> bytes:
    return json.dumps(message, separators=(" ,\t", " : ")).replace("{", "{ ").encode()


def _escaped(message: Json) -> bytes:
    """The method with its first letter as an escape and with escaped slashes, and the name of the member likewise."""
    method = f"\\u{ord(message['method'][0]):04x}" + message["method"][1:].replace("/", "\\/")
    rest = encode({name: value for name, value in message.items() if name != "method"})
    return rest[:-1] + f',"m\\u0065thod":"{method}"}}'.encode()


def _surrounded(message: Json) -> bytes:
    return b" \t" + encode(message) + b" \t"


def _separated(message: Json) -> bytes:
    params = message.get("params", {})
    meta = {**params.get("_meta", {}), KEY: f"one{SEPARATORS}line"}
    return json.dumps({**message, "params": {**params, "_meta": meta}}, ensure_ascii=False).encode()


def _separated_by_escapes(message: Json) -> bytes:
    return json.dumps(json.loads(_separated(message))).encode()


WAYS: dict[str, Callable[[Json], bytes]] = {
    PLAIN: encode,
    "its members in another order": _reversed,
    "blanks between its parts": _spaced,
    "escapes in its texts": _escaped,
    AROUND: _surrounded,
    SEPARATED: _separated,
}


def written_otherwise(bench: Bench) -> Iterator[Observation]:
    """The sentinel, written in several ways, as long as it is served: what matters in JSON are the values alone."""
    session = bench.session
    for way, write in WAYS.items():
        call = _asked(session, write)
        if way == PLAIN:
            if not isinstance(call.result, dict):
                raise Unavailable("the same request is not served either when it is written as usual")
            continue
        if behind_gateway(call):
            raise Unavailable(call.lost)
        if way == SEPARATED and call.result is None and _asked(session, _separated_by_escapes).result is None:
            return
        served = isinstance(call.result, dict)
        became = "served" if served else "refused" if call.answers else "not answered"
        yield Observation({"way": way, "became": became}, frames=call.proof, actual=call.lost)
        if not served:
            return


def _asked(session: Session, write: Callable[[Json], bytes]) -> Call:
    method, params = session.sentinel()
    message = {"jsonrpc": "2.0", "id": session.new_id(), "method": method}
    dressed = session.era.dress(session, params)
    if dressed:
        message["params"] = dressed
    (call,) = session.raw(write(message), illegal=False)
    call.excused = True  # the case tells of silence
    session.wait(call)
    return call
