"""Values at the edges of the types of JSON."""

from __future__ import annotations

from conformance.model import Json

PLAIN = "ab1 "
ODD = "é世😀\u0000\u2028\ud7ff\\\"'<&%\u202e\ufeff\n\t"
SHAPES: tuple[str, ...] = (
    *(
        "",
        "x",
        "\u0000",
        "😀",
        "é世",
        '"\\',
        "\n\r\t",
        "\u2028\u2029",
        "%s%n{0}$",
        "<&'>`",
        "\ufeff\ufffd",
        "\u202e",
        " ",
        "-1",
    ),
    *("x" * length for length in (255, 256, 4_096, 65_536, 70_000)),
)
"""Texts that are tried as they are; beside them made-up ones."""
INTEGERS = (
    *(0, 1, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**32, 2**53 - 1, 2**53 + 1),
    *(2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30),
)
NUMBERS = (0.5, -0.5, 0.1, 1e-7, 1e21, 1.7e308, -1.7e308)
FORMATS: dict[str, tuple[str, ...]] = {
    "date": ("2025-01-01", "2024-02-29"),
    "date-time": ("2025-01-01T00:00:00Z", "2024-02-29T23:59:59.123+14:00"),
    "time": ("00:00:00Z",),
    "email": ("a@example.com",),
    "uuid": ("00000000-0000-4000-8000-000000000000",),
    "uri": ("mcp-conform:x",),
    "uri-template": ("mcp-conform:{x}",),
    "byte": ("", "AAAA"),
}
OF_TYPE: dict[str, tuple[Json, ...]] = {
    "object": ({}, {"a": 1}),
    "array": ([], ["x"], [[]]),
    "string": ("", "x"),
    "integer": (0, 7),
    "number": (0.5, -1.5),
    "boolean": (True, False),
    "null": (None,),
}
ARTICLES = {"array": "an array", "object": "an object", "integer": "an integer", "null": "null"}
