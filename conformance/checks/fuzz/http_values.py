"""What the campaign of HTTP requests puts into their heads and bodies; `@` is the path of the endpoint."""

from __future__ import annotations

BOTH = b"application/json, text/event-stream"
ACCEPTS: tuple[bytes, ...] = (
    b"text/event-stream, application/json",
    b"application/json,text/event-stream",
    b"application/json, text/event-stream, */*;q=0.1",
    b"application/json;q=0.9, text/event-stream;q=0.8",
    b"application/json ; q=1.0 , text/event-stream ; q=1.0",
    b"text/html;q=0.1, application/json, text/event-stream",
)
CAPITALS: tuple[bytes, ...] = (
    b"Content-Type: Application/JSON",
    b"Accept: Application/JSON, Text/Event-Stream",
)
"""Media types are the same in capitals (RFC 9110, 8.3.1), which hardly a client writes."""
TYPES: tuple[bytes, ...] = (
    b"application/json; charset=utf-8",
    b"application/json;charset=UTF-8",
    b'application/json; charset="utf-8"',
    b"application/json ;charset=utf-8",
)
UNKNOWN: tuple[bytes, ...] = (
    b"X-Request-Id: 1",
    b"X-Empty:",
    b"Cache-Control: no-cache",
    b"Accept-Language: de, en;q=0.5",
    b"Cookie: a=b; c=d",
    b"X-Long: " + b"x" * 2000,
    b"DNT: 1",
    b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    b'X-Quoted: "a\\"b", \'c\'',
    b"X-Tab: a\tb",
)
NAMES: tuple[bytes, ...] = (
    b"CONTENT-TYPE",
    b"content-type",
    b"ACCEPT",
    b"accept",
    b"MCP-SESSION-ID",
    b"mcp-protocol-version",
    b"aCCept",
)
WRONG_TYPES: tuple[bytes, ...] = (
    b"text/plain",
    b"application/xml",
    b"application/jsonp",
    b"json",
    b"/",
    b"application/json/x",
    b";",
    b"",
    b"multipart/form-data",
    b"application/x-www-form-urlencoded",
    b"application/json; charset=utf-16",
    b"\xff",
)
WRONG_ACCEPTS: tuple[bytes, ...] = (
    b"text/html",
    b"",
    b"application/json;q=0",
    b"*",
    b"/",
    b",",
    b";q=1",
    b"a" * 5000,
    b"\xff",
    b"*/json",
)
METHODS: tuple[bytes, ...] = (
    b"PUT",
    b"PATCH",
    b"HEAD",
    b"OPTIONS",
    b"TRACE",
    b"post",
    b"FOO",
    b"P" * 3000,
    b"G\x00T",
)
VALUES: tuple[bytes, ...] = (
    b"\xff",
    b"\x00",
    b"\x01",
    b"\xc3\xa9",
    b"\x7f",
    b"a\rb",
    b"%00",
    b"\xed\xa0\x80",
    b"=?base64?x?=",
    b"{}",
    b"${x}",
    b"=?base64?4pyT?=",
    b"'; --",
    b"../..",
    b"a" * 9000,
    b"a" * 70000,
    b"\x1b[0m",
    b"\t",
    b"0" * 400,
    b"-1",
    b"null",
)
FIELDS: tuple[bytes, ...] = (
    b"X-Odd",
    b"Origin",
    b"Mcp-Session-Id",
    b"Last-Event-ID",
    b"Host",
    b"Mcp-Name",
    b"Cookie",
    b"Authorization",
    b"Content-Encoding",
    b"Transfer-Encoding",
    b"Expect",
    b"Connection",
    b"Upgrade",
    b"Range",
    b"If-None-Match",
)
LENGTHS: tuple[bytes, ...] = (
    b"-1",
    b"x",
    b"",
    b"1.5",
    b"0x10",
    b"99999999999999999999",
    b"+5",
    b"1e3",
    b" ",
    b"1, 2",
    b"\xff",
    b"00000000001",
)
CHUNKS: tuple[bytes, ...] = (
    b"zz\r\n",
    b"-1\r\nx\r\n",
    b"FFFFFFFFFFFFFFFF\r\nx\r\n",
    b"5\r\nabc",
    b"\r\n",
    b"1;a=\r\n",
    b"0x5\r\nabcde\r\n",
    b"\xff\r\n",
)
LINES: tuple[bytes, ...] = (
    b"POST",
    b"POST  HTTP/1.1",
    b"POST @ HTTP/9.9",
    b"POST @ http/1.1",
    b"",
    b"\x16\x03\x01\x02\x00\x01",
    b"POST\t@\tHTTP/1.1",
    b"POST @ HTTP/1.1\x00",
    b"HTTP/1.1 200 OK",
)
PATHS: tuple[bytes, ...] = (
    b"/",
    b"@/",
    b"@/..@",
    b"@?a=b&a[]=c",
    b"@/" + b"a" * 9000,
    b"@\xff",
    b"http://mcp-conform.invalid@",
    b"@%zz",
    b"@" * 200,
)
FLOODS = (200, 1000, 5000)
"""Numbers of headers."""
NO_VERSIONS: tuple[bytes, ...] = (
    b"1900-01-01",
    b"2025-13-45",
    b"v1",
    b"latest",
    b"DRAFT-2026",
    b"0",
)
BAD_LINES: tuple[bytes, ...] = (
    b"X",
    b": x",
    b"X Y: z",
    b" X: folded",
    b"X\x00: y",
    b"\xff: x",
    b"X : y",
    b"X: a\nY: b",
    b"=",
    b"\x00",
)
OTHER_LENGTHS: tuple[bytes, ...] = (
    b"Content-Length: 1",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: x",
    b"Content-Length: x",
)
