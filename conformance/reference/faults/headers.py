"""Faults in how the headers of 2026-07-28 are checked."""

from __future__ import annotations

from conformance.reference.fault import Fault, code, modern_only, several
from conformance.reference.http_fault import handling, over_http, status
from conformance.reference.tool import Tool, answer
from conformance.reference.wire import HEADER_MISMATCH, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server

NEW = "2026-07-28"
REJECTED = "http-headers/header-rejection-400-32020"


def _lenient(*words: str) -> Apply:
    """Do not reject requests for header faults whose message contains all of the words."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        try:
            proceed(message)
        except RpcError as error:
            if not all(word in error.message for word in words):
                raise

    return handling(check_headers=check)


def _any_case(handler: Any, proceed: Any, message: Any) -> None:
    given = handler.headers.get("Mcp-Method")
    if given and given.lower() == message["method"].lower():
        handler.headers.replace_header("Mcp-Method", message["method"])
    proceed(message)


def _exact_names(handler: Any, proceed: Any, message: Any) -> None:
    if "Mcp-Method" not in list(handler.headers.keys()):
        raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Method is missing")
    proceed(message)


def _name_demanded(handler: Any, proceed: Any, message: Any) -> None:
    if "Mcp-Name" not in handler.headers:
        raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Name is missing")
    proceed(message)


def _name_demanded_of(method: str) -> Apply:
    def check(handler: Any, proceed: Any, message: Any) -> None:
        if message["method"] == method:
            _name_demanded(handler, proceed, message)
        proceed(message)

    return handling(check_headers=check)


def _known_params_only(handler: Any, proceed: Any, message: Any) -> None:
    if message["method"] != "tools/call" and any(n.lower().startswith("mcp-param-") for n in handler.headers):
        raise RpcError(HEADER_MISMATCH, "Header mismatch: unknown Mcp-Param header")
    proceed(message)


def _encoded_name_trusted(handler: Any, proceed: Any, message: Any) -> None:
    if handler.headers.get("Mcp-Name", "").startswith("=?base64?"):
        params = message["params"]
        handler.headers.replace_header("Mcp-Name", params.get("name", params.get("uri")))
    proceed(message)


def _ascii_only(handler: Any, proceed: Any, message: Any) -> None:
    for name in ("Mcp-Method", "Mcp-Name"):
        if name in handler.headers:
            handler.headers.replace_header(name, handler.headers[name].encode("ascii", "ignore").decode())
    proceed(message)


def _demanded(test: Callable[[Any], bool]) -> Apply:
    """Demand Mcp-Param-Region of calls whose arguments are such, whatever else they are."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        params = message.get("params", {})
        wanted = params.get("name") == "lookup_region" and test(params.get("arguments", {}))
        if wanted and "Mcp-Param-Region" not in handler.headers:
            raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Param-Region is missing")
        proceed(message)

    return handling(check_headers=check)


def _compared_as_text(server: Server) -> None:
    from conformance.reference import headers

    headers._equal = lambda given, value: given == (str(value).lower() if isinstance(value, bool) else str(value))


def _latin_1(handler: Any, proceed: Any, message: Any) -> None:
    try:
        proceed(message)
    except RpcError as error:
        given = [value for name, value in handler.headers.items() if name.lower().startswith("mcp-param-")]
        if "invalid character" not in error.message or not all(value.isprintable() for value in given):
            raise


def _refused_without_error(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    proceed(status, b"" if b"-32020" in body else body, headers)


def _annotating(**properties: Any) -> Apply:
    """Have a tool with these properties; none is required."""

    def apply(server: Server) -> None:
        schema: Message = {"type": "object", "properties": properties}
        server.tools["annotated"] = Tool("annotated", "Do nothing", lambda call, given: answer("Done."), input=schema)

    return apply


def _params_not_decoded(server: Server) -> None:
    from conformance.reference import headers

    correct = headers.decoded
    headers.decoded = lambda given, header: given if header.startswith("Mcp-Param") else correct(given, header)


def _not_decoded(server: Server) -> None:
    from conformance.reference import headers

    headers.decoded = lambda given, header: given


_ROWS: tuple[Row, ...] = (
    (
        "header-mismatch-200",
        f"{REJECTED} http-headers/method-header-mismatch-refused http-headers/missing-method-header-refused"
        " http-headers/name-header-mismatch-refused http-headers/missing-name-header-refused"
        " http-headers/values-case-sensitive http-headers/version-header-mismatch-refused",
        "a header mismatch has status 200",
        status(400, 200, b"-32020"),
        {"since": NEW},
    ),
    (
        "header-mismatch-code",
        f"{REJECTED} http-headers/method-header-mismatch-refused http-headers/missing-method-header-refused"
        " http-headers/name-header-mismatch-refused http-headers/missing-name-header-refused"
        " http-headers/values-case-sensitive http-headers/version-header-mismatch-refused",
        "a header mismatch gives -32600",
        code("Header mismatch", -32600),
        {"since": NEW},
    ),
    (
        "version-header-unchecked",
        "http-headers/version-header-mismatch-refused",
        "MCP-Protocol-Version is not compared with the body",
        _lenient("MCP-Protocol-Version", "differs"),
        {"since": NEW},
    ),
    (
        "version-header-not-needed",
        "http-headers/missing-version-header-refused",
        "the server is modern only, and needs no MCP-Protocol-Version",
        several(modern_only, _lenient("MCP-Protocol-Version", "missing")),
        {"since": NEW},
    ),
    (
        "method-header-not-needed",
        f"http-headers/missing-method-header-refused {REJECTED}",
        "Mcp-Method may be missing",
        _lenient("Mcp-Method", "missing"),
        {"since": NEW},
    ),
    (
        "method-header-unchecked",
        f"http-headers/method-header-mismatch-refused http-headers/values-case-sensitive {REJECTED}",
        "Mcp-Method is not compared with the body",
        _lenient("Mcp-Method", "differs"),
        {"since": NEW},
    ),
    (
        "method-header-any-case",
        "http-headers/values-case-sensitive",
        "Mcp-Method is compared whatever its case",
        handling(check_headers=_any_case),
        {"since": NEW},
    ),
    (
        "header-names-exact",
        "http-headers/names-case-insensitive",
        "header names are matched case-sensitively",
        handling(check_headers=_exact_names),
        {"since": NEW},
    ),
    (
        "name-header-not-needed",
        "http-headers/missing-name-header-refused",
        "Mcp-Name may be missing",
        _lenient("Mcp-Name", "missing"),
        {"since": NEW},
    ),
    (
        "name-header-unchecked",
        "http-headers/name-header-mismatch-refused http-headers/name-header-base64-decoded",
        "Mcp-Name is not compared with the body",
        _lenient("Mcp-Name", "differs"),
        {"since": NEW},
    ),
    (
        "name-header-demanded",
        "http-headers/name-header-not-demanded-elsewhere",
        "every request needs Mcp-Name",
        handling(check_headers=_name_demanded),
        {"since": NEW},
    ),
    (
        "name-header-not-decoded",
        "http-headers/name-header-base64-decoded http-headers/param-header-base64-decoded",
        "header values in base64 are not decoded",
        _not_decoded,
        {"since": NEW},
    ),
    (
        "param-header-unchecked",
        "http-headers/param-header-mismatch-refused",
        "Mcp-Param headers are not compared with the arguments",
        _lenient("Mcp-Param", "differs"),
        {"since": NEW},
    ),
    (
        "param-header-not-needed",
        "http-headers/missing-param-header-refused",
        "Mcp-Param headers may be missing",
        _lenient("Mcp-Param", "missing"),
        {"since": NEW},
    ),
    (
        "method-header-missing-400-alone",
        REJECTED,
        "a header mismatch has status 400 and no body",
        handling(answer=_refused_without_error),
        {"since": NEW},
    ),
    (
        "name-header-demanded-of-templates",
        "http-headers/name-header-not-demanded-elsewhere resources/templates-list-available",
        "the list of templates needs Mcp-Name",
        _name_demanded_of("resources/templates/list"),
        {"since": NEW},
    ),
    (
        "name-header-demanded-of-completions",
        "http-headers/name-header-not-demanded-elsewhere completion/internal-error-32603"
        " completion/unknown-prompt-refused completion/missing-arguments-refused",
        "completion/complete needs Mcp-Name",
        _name_demanded_of("completion/complete"),
        {"since": NEW},
    ),
    (
        "name-header-demanded-of-listen",
        "http-headers/name-header-not-demanded-elsewhere subscriptions/filter-required",
        "subscriptions/listen needs Mcp-Name",
        _name_demanded_of("subscriptions/listen"),
        {"since": NEW},
    ),
    (
        "encoded-name-trusted",
        "http-headers/name-header-mismatch-refused http-headers/name-header-base64-decoded",
        "Mcp-Name in base64 is not compared with the body",
        handling(check_headers=_encoded_name_trusted),
        {"since": NEW},
    ),
    (
        "header-characters-dropped",
        "http-headers/invalid-characters-refused",
        "characters that a header cannot have are dropped from Mcp-Method and Mcp-Name",
        handling(check_headers=_ascii_only),
        {"since": NEW},
    ),
    (
        "header-characters-unchecked",
        "http-headers/invalid-characters-refused http-headers/param-header-invalid-characters-refused",
        "headers with invalid characters are accepted",
        _lenient("invalid character"),
        {"since": NEW},
    ),
    (
        "param-header-characters-unchecked",
        "http-headers/param-header-invalid-characters-refused",
        "Mcp-Param headers with invalid characters are accepted",
        _lenient("Mcp-Param", "invalid character"),
        {"since": NEW},
    ),
    (
        "param-header-latin-1",
        "http-headers/param-header-invalid-characters-refused http-headers/invalid-characters-refused",
        "headers are read as Latin-1",
        handling(check_headers=_latin_1),
        {"since": NEW},
    ),
    (
        "param-header-not-decoded",
        "http-headers/param-header-base64-decoded",
        "Mcp-Param headers in base64 are not decoded",
        _params_not_decoded,
        {"since": NEW},
    ),
    (
        "param-header-of-null",
        "http-headers/param-header-not-expected-for-null",
        "an argument that is null needs a header",
        _demanded(lambda given: given.get("region", "") is None),
        {"since": NEW},
    ),
    (
        "param-header-of-nothing",
        "http-headers/param-header-not-expected-when-absent tools/input-errors-as-result",
        "an argument that is missing needs a header",
        _demanded(lambda given: "region" not in given),
        {"since": NEW},
    ),
    (
        "param-header-compared-as-text",
        "http-headers/param-header-integers-compared-numerically",
        "integers in headers are compared as text",
        _compared_as_text,
        {"since": NEW},
    ),
    (
        "unknown-param-header-refused",
        "http-headers/unknown-param-header-ignored",
        "an Mcp-Param header that nothing needs is refused",
        handling(check_headers=_known_params_only),
        {"since": NEW},
    ),
)

ANYWHERE = "http-headers/annotation-statically-reachable"
TEXT: Message = {"type": "string", "x-mcp-header": "Colour"}
LARGE = 2**53
_ANNOTATIONS: tuple[tuple[str, str, str, Apply], ...] = (
    (
        "annotation-empty",
        "http-headers/annotation-not-empty",
        "an x-mcp-header is empty",
        _annotating(colour={"type": "string", "x-mcp-header": ""}),
    ),
    (
        "annotation-with-blank",
        "http-headers/annotation-is-token",
        "an x-mcp-header has a blank",
        _annotating(colour={"type": "string", "x-mcp-header": "My Colour"}),
    ),
    (
        "annotation-of-two-lines",
        "http-headers/annotation-is-token",
        "an x-mcp-header has a line feed",
        _annotating(colour={"type": "string", "x-mcp-header": "Colour\n"}),
    ),
    (
        "annotation-true",
        "http-headers/annotation-is-token",
        "an x-mcp-header is no string",
        _annotating(colour={"type": "string", "x-mcp-header": True}),
    ),
    (
        "annotation-twice",
        "http-headers/annotation-unique",
        "two arguments have x-mcp-headers that differ in the case of letters only",
        _annotating(colour=TEXT, other={"type": "string", "x-mcp-header": "cOLOUR"}),
    ),
    (
        "annotation-on-number",
        "http-headers/annotation-on-primitives-only",
        "an argument of type number has an x-mcp-header",
        _annotating(size={"type": "number", "x-mcp-header": "Size"}),
    ),
    (
        "annotation-on-array",
        "http-headers/annotation-on-primitives-only",
        "an argument of type array has an x-mcp-header",
        _annotating(sizes={"type": "array", "items": {"type": "integer"}, "x-mcp-header": "Sizes"}),
    ),
    (
        "annotation-on-union",
        "http-headers/annotation-on-primitives-only",
        "an argument that may be null has an x-mcp-header",
        _annotating(colour={"anyOf": [{"type": "string"}, {"type": "null"}], "x-mcp-header": "Colour"}),
    ),
    (
        "annotated-integer-too-large",
        "http-headers/annotated-integers-in-safe-range",
        "the default of an argument with x-mcp-header is 2^53",
        _annotating(size={"type": "integer", "default": LARGE, "x-mcp-header": "Size"}),
    ),
    (
        "annotated-integer-of-64-bits",
        "http-headers/annotated-integers-in-safe-range",
        "the maximum of an argument with x-mcp-header is 2^63 - 1",
        _annotating(size={"type": "integer", "maximum": 2**63 - 1, "x-mcp-header": "Size"}),
    ),
    (
        "annotation-in-items",
        ANYWHERE,
        "the items of an array have an x-mcp-header",
        _annotating(colours={"type": "array", "items": TEXT}),
    ),
    (
        "annotation-in-alternative",
        ANYWHERE,
        "an alternative has an x-mcp-header",
        _annotating(colour={"oneOf": [TEXT, {"type": "null"}]}),
    ),
    (
        "annotation-on-secret",
        "http-headers/annotation-not-on-sensitive-parameters",
        "a password has an x-mcp-header",
        _annotating(password={"type": "string", "x-mcp-header": "Password"}),
    ),
)

FAULTS = (
    *over_http(_ROWS),
    *(Fault(name, broken, summary, apply, since=NEW) for name, broken, summary, apply in _ANNOTATIONS),
)
