"""Faults in how the headers of 2026-07-28 are checked that only some requests show."""

from __future__ import annotations

import re
from urllib.parse import unquote

from conformance.reference.fault import modern_only, several
from conformance.reference.http_fault import handling, over_http
from conformance.reference.wire import HEADER_MISMATCH, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server

NEW = "2026-07-28"
OF_TASKS = ("tasks/get", "tasks/update", "tasks/cancel")


def _unless(header: str, which: Callable[[Any, Any], bool], word: str = "") -> Apply:
    """Do not reject requests that `which` says where what is wrong with the header has that word in its message."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        try:
            proceed(message)
        except RpcError as error:
            named = header in error.message and word in error.message
            if not (named and which(handler.endpoint.server, message)):
                raise

    return handling(check_headers=check)


def _lenient(header: str, word: str, methods: tuple[str, ...]) -> Apply:
    """The same for requests of these methods."""
    return _unless(header, lambda server, message: message["method"] in methods, word)


def _is_retry(server: Any, message: Any) -> bool:
    return message["method"] == "tools/call" and "inputResponses" in message["params"]


def _is_unlisted(server: Any, message: Any) -> bool:
    return message["method"] == "resources/read" and message["params"].get("uri") not in server.resources


def _name_if(alike: Callable[[str, str], bool]) -> Apply:
    """Mcp-Name is taken for the name in the body if it is like that."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        params, given = message.get("params"), handler.headers.get("Mcp-Name")
        name = params.get("name", params.get("uri")) if isinstance(params, dict) else None
        if isinstance(name, str) and given and alike(given, name):
            handler.headers.replace_header("Mcp-Name", name)
        proceed(message)

    return handling(check_headers=check)


def _argument_if(alike: Callable[[str, Any], bool]) -> Apply:
    """An Mcp-Param header is taken for the argument if it is like that."""

    def apply(server: Server) -> None:
        from conformance.reference import headers as mirrored

        compare = mirrored._compare

        def leniently(headers: Any, header: str, value: Any, decode: bool = False) -> None:
            given = headers.get(header)
            readable = isinstance(given, str) and given.isascii() and given.isprintable()
            if not (header.startswith("Mcp-Param-") and readable and alike(given, value)):
                compare(headers, header, value, decode)

        mirrored._compare = leniently

    return apply


def any_task(*methods: str, written: str = "") -> Apply:
    """Requests of these methods are served whatever task Mcp-Name names, if it begins so."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        given = handler.headers.get("Mcp-Name")
        if message["method"] in methods and given is not None and given.startswith(written):
            handler.headers.replace_header("Mcp-Name", str(message.get("params", {}).get("taskId")))
        proceed(message)

    return handling(check_headers=check)


def _plain_tasks(handler: Any, proceed: Any, message: Any) -> None:
    """Take Mcp-Name of tasks as it is written, and refuse one in base64."""
    if message["method"].startswith("tasks/") and handler.headers.get("Mcp-Name", "").startswith("=?"):
        raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Name differs from the body")
    proceed(message)


def _name_spelled(handler: Any, proceed: Any, message: Any) -> None:
    """Know Mcp-Name only where its name is written so."""
    if "Mcp-Name" not in list(handler.headers):
        del handler.headers["Mcp-Name"]
    proceed(message)


def _unchecked_by(names: tuple[str, str, str], *methods: str) -> tuple[Row, ...]:
    """Faults of requests of some methods: a header may be missing, or say something else.

    The names are given in full: a fault is found by the module whose text has its name.
    """
    what = " and ".join(methods)
    rows = (
        ("missing-method-header-refused", "Mcp-Method", "missing", "may be missing with"),
        ("method-header-mismatch-refused", "Mcp-Method", "differs", "is not compared with the body of"),
        ("version-header-mismatch-refused", "MCP-Protocol-Version", "differs", "is not compared with the body of"),
    )
    return tuple(
        (name, f"http-headers/{rule}", f"{header} {lack} {what}", _lenient(header, word, methods), {"since": NEW})
        for name, (rule, header, word, lack) in zip(names, rows, strict=True)
    )


_ROWS: tuple[Row, ...] = (
    (
        "name-header-spelled-one-way",
        "http-headers/names-case-insensitive",
        "the name of Mcp-Name must be written so",
        handling(check_headers=_name_spelled),
        {"since": NEW},
    ),
    (
        "name-header-any-case",
        "http-headers/values-case-sensitive",
        "Mcp-Name is compared whatever its case",
        _name_if(lambda given, name: given.lower() == name.lower()),
        {"since": NEW},
    ),
    (
        "name-header-prefix",
        "http-headers/name-header-mismatch-refused",
        "Mcp-Name may be the beginning of the name",
        _name_if(lambda given, name: name.startswith(given)),
        {"since": NEW},
    ),
    (
        "param-header-prefix",
        "http-headers/param-header-mismatch-refused",
        "an Mcp-Param header may be the beginning of the argument",
        _argument_if(lambda given, value: isinstance(value, str) and value.startswith(given)),
        {"since": NEW},
    ),
    (
        "param-header-any-case",
        "http-headers/param-header-mismatch-refused",
        "Mcp-Param headers are compared whatever their case",
        _argument_if(lambda given, value: isinstance(value, str) and value.lower() == given.lower()),
        {"since": NEW},
    ),
    (
        "name-header-percent-decoded",
        "http-headers/name-header-mismatch-refused",
        "Mcp-Name may be percent-encoded",
        _name_if(lambda given, name: unquote(given) == name),
        {"since": NEW},
    ),
    (
        "param-header-percent-decoded",
        "http-headers/param-header-mismatch-refused",
        "Mcp-Param headers may be percent-encoded",
        _argument_if(lambda given, value: unquote(given) == (str(value).lower() if value is True else str(value))),
        {"since": NEW},
    ),
    (
        "param-header-boolean-any-case",
        "http-headers/param-header-mismatch-refused",
        "Mcp-Param headers for booleans are compared whatever their case",
        _argument_if(lambda given, value: isinstance(value, bool) and given.lower() == str(value).lower()),
        {"since": NEW},
    ),
    (
        "param-header-number-with-letters",
        "http-headers/param-header-mismatch-refused",
        "an Mcp-Param header may begin with the number in the argument",
        _argument_if(lambda given, value: type(value) is int and re.match(rf"{value}(?![0-9.])", given) is not None),
        {"since": NEW},
    ),
    (
        "param-header-number-truncated",
        "http-headers/param-header-mismatch-refused",
        "a fraction in an Mcp-Param header is cut off",
        _argument_if(lambda given, value: type(value) is int and given.partition(".")[0] == str(value)),
        {"since": NEW},
    ),
    (
        "param-header-number-for-boolean",
        "http-headers/param-header-mismatch-refused",
        "1 and 0 are taken for true and false in Mcp-Param headers",
        _argument_if(lambda given, value: isinstance(value, bool) and given == str(int(value))),
        {"since": NEW},
    ),
    (
        "name-header-slash",
        "http-headers/name-header-mismatch-refused",
        "a slash at the end of Mcp-Name makes no difference",
        _name_if(lambda given, name: given.rstrip("/") == name.rstrip("/")),
        {"since": NEW},
    ),
    (
        "task-name-header-ignored-by-cancel",
        "tasks/name-header-validated",
        "tasks/update and tasks/cancel are served whatever Mcp-Name says",
        any_task("tasks/update", "tasks/cancel"),
        {"since": NEW},
    ),
    (
        "task-name-header-not-decoded",
        "http-headers/name-header-base64-decoded",
        "requests about tasks are refused with Mcp-Name in base64",
        handling(check_headers=_plain_tasks),
        {"since": NEW},
    ),
    (
        "task-name-header-in-base64-trusted",
        "tasks/name-header-validated",
        "requests about tasks are served whatever Mcp-Name says in base64",
        any_task(*OF_TASKS, written="=?base64?"),
        {"since": NEW},
    ),
    (
        "version-header-unchecked-by-completion",
        "http-headers/version-header-mismatch-refused",
        "completion/complete does not compare MCP-Protocol-Version with the body",
        _lenient("MCP-Protocol-Version", "differs", ("completion/complete",)),
        {"since": NEW},
    ),
    (
        "method-header-not-needed-by-reads",
        "http-headers/missing-method-header-refused",
        "resources/read and prompts/get are served without Mcp-Method",
        _lenient("Mcp-Method", "missing", ("resources/read", "prompts/get")),
        {"since": NEW},
    ),
    (
        "method-header-unchecked-by-calls",
        "http-headers/method-header-mismatch-refused",
        "tools/call does not compare Mcp-Method with the body",
        _lenient("Mcp-Method", "differs", ("tools/call",)),
        {"since": NEW},
    ),
    *_unchecked_by(
        (
            "method-header-not-needed-by-tasks",
            "method-header-unchecked-by-tasks",
            "version-header-unchecked-by-tasks",
        ),
        "tasks/get",
        "tasks/update",
    ),
    (
        "name-header-unchecked-by-retries",
        "http-headers/name-header-mismatch-refused",
        "Mcp-Name is not compared with the body of a call that brings answers",
        _unless("Mcp-Name", _is_retry),
        {"since": NEW},
    ),
    (
        "method-header-unchecked-by-retries",
        "http-headers/method-header-mismatch-refused",
        "Mcp-Method is not compared with the body of a call that brings answers",
        _unless("Mcp-Method", _is_retry),
        {"since": NEW},
    ),
    (
        "name-header-unchecked-by-template-reads",
        "http-headers/name-header-mismatch-refused http-headers/missing-name-header-refused "
        "http-headers/values-case-sensitive http-headers/invalid-characters-refused",
        "Mcp-Name is not compared with the URI of a resource that is not listed",
        _unless("Mcp-Name", _is_unlisted),
        {"since": NEW},
    ),
    *_unchecked_by(
        (
            "method-header-not-needed-by-listen",
            "method-header-unchecked-by-listen",
            "version-header-unchecked-by-listen",
        ),
        "subscriptions/listen",
    ),
    *_unchecked_by(
        (
            "method-header-not-needed-by-task-cancel",
            "method-header-unchecked-by-task-cancel",
            "version-header-unchecked-by-task-cancel",
        ),
        "tasks/cancel",
    ),
    (
        "version-header-not-needed-by-reads",
        "http-headers/missing-version-header-refused",
        "the server is modern only, and resources/read needs no MCP-Protocol-Version",
        several(modern_only, _lenient("MCP-Protocol-Version", "missing", ("resources/read",))),
        {"since": NEW},
    ),
    (
        "nested-param-header-unchecked",
        "http-headers/param-header-mismatch-refused",
        "a text within an object is not compared with its Mcp-Param header",
        _lenient("Mcp-Param-Wing", "differs", ("tools/call",)),
        {"since": NEW},
    ),
    (
        "nested-param-header-not-needed",
        "http-headers/missing-param-header-refused",
        "the Mcp-Param header of a text within an object may be missing",
        _lenient("Mcp-Param-Wing", "missing", ("tools/call",)),
        {"since": NEW},
    ),
)

FAULTS = over_http(_ROWS)
