"""Targets whose numbers no float and no usual integer holds."""

from __future__ import annotations

from hostile.base import HERE, change
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hostile.base import Message, Server

VALUES = {
    "400-digits": ("an integer of 400 digits", "7" * 400),
    "5000-digits": ("an integer of 5000 digits", "7" * 5000),
    "100000-digits": ("an integer of 100 000 digits", "7" * 100_000),
    "overflow": ("1e999", "1e999"),
    "huge-exponent": ("1e1000000000", "1e1000000000"),
    "tiny": ("1e-5000", "1e-5000"),
    "long-fraction": ("a fraction of 5000 digits", "0." + "3" * 5000),
    "nan": ("NaN", "NaN"),
    "infinity": ("Infinity", "Infinity"),
    "minus-infinity": ("-Infinity", "-Infinity"),
    "minus-zero": ("-0.0", "-0.0"),
}
LEGAL = ("400-digits", "5000-digits", "100000-digits", "overflow", "huge-exponent", "tiny", "long-fraction")
NO_JSON = ("nan", "infinity", "minus-infinity")
PLACES = {
    "sum": ("structuredContent of a tool", "tools/call", "structuredContent.sum"),
    "meta": ("_meta of ping", "ping", "_meta.x"),
    "capability": ("an experimental capability", "initialize", "capabilities.experimental.x.y"),
    "minimum": ("minimum of an argument", "tools/list", "tools.1.inputSchema.properties.a.minimum"),
    "maximum": ("maximum of an output", "tools/list", "tools.1.outputSchema.properties.sum.maximum"),
    "multiple-of": ("multipleOf of an argument", "tools/list", "tools.1.inputSchema.properties.a.multipleOf"),
    "const": ("const of an argument", "tools/list", "tools.0.inputSchema.properties.text.const"),
    "min-length": ("minLength of an argument", "tools/list", "tools.0.inputSchema.properties.text.minLength"),
    "size": ("size of a resource", "resources/list", "resources.0.size"),
    "priority": ("priority of a resource", "resources/list", "resources.0.annotations.priority"),
    "total": ("total of a completion", "completion/complete", "completion.total"),
    "version": ("protocolVersion", "initialize", "protocolVersion"),
}
CHOSEN = {
    "sum": "400-digits 5000-digits 100000-digits overflow huge-exponent nan infinity minus-zero",
    "meta": "5000-digits overflow nan minus-infinity",
    "capability": "5000-digits overflow",
    "minimum": "400-digits 5000-digits overflow nan minus-infinity",
    "maximum": "400-digits minus-infinity tiny",
    "multiple-of": "400-digits tiny long-fraction nan",
    "const": "5000-digits infinity",
    "min-length": "400-digits overflow",
    "size": "5000-digits overflow long-fraction",
    "priority": "400-digits tiny nan",
    "total": "5000-digits huge-exponent",
    "version": "400-digits nan",
}


def with_value(method: str, path: str, text: str) -> Callable[[Server], None]:
    """A play that has `text` stand at `path` of the result of `method`."""

    def play(server: Server) -> None:
        change(server, method, path, HERE)
        server.here = text

    return play


for _place, _values in CHOSEN.items():
    _where, _method, _path = PLACES[_place]
    for _value in _values.split():
        add(
            f"{_value}-in-{_place}",
            f"Says {VALUES[_value][0]} as {_where}.",
            with_value(_method, _path, VALUES[_value][1]),
            statuses=(1, 3) if _value in NO_JSON and _place != "sum" else (0, 1, 3),
        )


def _multiple(text: str) -> Callable[[Server], None]:
    return with_value("tools/list", "tools.1.inputSchema.properties.a.multipleOf", text)


add("multiple-of-almost-nothing", "Admits multiples of 1e-300.", _multiple("1e-300"), statuses=(0, 1))
add("multiple-of-zero", "Admits multiples of 0, which no schema may.", _multiple("0"))
add("multiple-of-less-than-zero", "Admits multiples of -1, which no schema may.", _multiple("-1"))
add(
    "minimum-1e308",
    "Admits no number below 1e308.",
    with_value("tools/list", "tools.1.inputSchema.properties.a", '{"type": "number", "minimum": 1e308}'),
)
add(
    "range-of-nothing",
    "Admits numbers between 1 and 1 + 1e-30, exclusively.",
    with_value(
        "tools/list",
        "tools.1.inputSchema.properties.a",
        '{"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1.000000000000000000000000000001}',
    ),
)
add(
    "integers-beyond-64-bits",
    "Admits integers of 2^70 and above.",
    with_value(
        "tools/list", "tools.1.inputSchema.properties.a", '{"type": "integer", "minimum": 1180591620717411303424}'
    ),
)
add(
    "integers-of-400-digits",
    "Admits integers of 400 digits only.",
    with_value("tools/list", "tools.1.inputSchema.properties.a", '{"type": "integer", "minimum": 1%s}' % ("0" * 399)),
)
add(
    "output-multiple-of-almost-nothing",
    "Promises multiples of 1e-300.",
    with_value("tools/list", "tools.1.outputSchema.properties.sum.multipleOf", "1e-300"),
)


def _asking(text: str) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        server.here = text
        server.after["initialized"] = lambda: server.send({"jsonrpc": "2.0", "id": HERE, "method": "ping"})

    return play


for _value in ("400-digits", "5000-digits", "overflow", "nan", "long-fraction"):
    add(f"{_value}-as-id", f"Pings with {VALUES[_value][0]} as id.", _asking(VALUES[_value][1]))


def _answering(text: str) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        server.here = text

        def edit(request: Message, reply: Message) -> Message:
            return reply if request["method"] == "initialize" else {**reply, "id": HERE}

        server.edit = edit

    return play


for _value in ("5000-digits", "overflow", "nan"):
    add(
        f"{_value}-as-id-of-answers",
        f"Answers with {VALUES[_value][0]} as id.",
        _answering(VALUES[_value][1]),
        statuses=(1, 3),
    )


def _code(text: str) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        server.here = text

        def edit(_request: Message, reply: Message) -> Message:
            if "error" in reply:
                reply["error"]["code"] = HERE
            return reply

        server.edit = edit

    return play


for _value in ("400-digits", "5000-digits", "overflow", "nan"):
    add(f"{_value}-as-code", f"Refuses with {VALUES[_value][0]} as code.", _code(VALUES[_value][1]))


@target()
def progress_of_5000_digits(server: Server) -> None:
    """Tells progress in integers of 5000 digits."""
    server.here = "8" * 5000

    def progress(params: Message) -> None:
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            server.tell("notifications/progress", {"progressToken": token, "progress": HERE, "total": HERE})

    server.progress = progress


@target()
def progress_of_infinity(server: Server) -> None:
    """Tells progress in 1e999."""
    progress_of_5000_digits(server)
    server.here = "1e999"


@target()
def progress_of_nan(server: Server) -> None:
    """Tells progress in NaN."""
    progress_of_5000_digits(server)
    server.here = "NaN"


@target()
def log_of_5000_digits(server: Server) -> None:
    """Logs integers of 5000 digits."""
    server.here = "8" * 5000
    server.after["initialized"] = lambda: server.tell("notifications/message", {"level": "info", "data": HERE})


vary(
    "numbers",
    """
    400-digits-in-sum 5000-digits-in-sum overflow-in-sum nan-in-sum huge-exponent-in-sum 5000-digits-in-meta
    nan-in-meta 400-digits-in-minimum 5000-digits-in-minimum tiny-in-multiple-of overflow-in-min-length
    5000-digits-in-size nan-in-priority multiple-of-almost-nothing minimum-1e308 integers-of-400-digits
    5000-digits-as-id overflow-as-id-of-answers 5000-digits-as-code progress-of-5000-digits progress-of-infinity
    """,
)
