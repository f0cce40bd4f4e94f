"""The command line of the reference server: `python -m conformance.reference --help`."""

from __future__ import annotations

import sys

from conformance.reference.identity import FEATURES, REVISIONS
from conformance.reference.server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

USAGE = f"""\
usage: python -m conformance.reference [option]…

A correct MCP server with every feature, and named faults.

  --transport stdio|http|sse
                           the transport (stdio); sse is HTTP+SSE, as of 2024-11-05
  --host HOST              where HTTP listens (127.0.0.1)
  --port PORT              the port of HTTP; 0, the default, takes a free one, which stderr tells
  --path PATH              the path of the HTTP endpoint (/mcp; of HTTP+SSE /sse)
  --revisions DATE,…       the revisions to serve ({",".join(REVISIONS)})
  --without FEATURE,…      neither declare nor serve these: {", ".join(FEATURES)}
  --authorization          ask for a token over HTTP, and be the authorization server
  --fixtures               offer also what the official conformance suite asks for by name
  --fault NAME             have this fault; may be repeated
  --load-fault NAME        have this fault, which shows under load and breaks no rule; may be repeated
  --list-faults            print the faults, one JSON object a line, and exit
  --list-tokens            print a token of each kind, as a JSON object, and exit
  --help                   print this, and exit
"""
VALUES = {
    "--transport": "stdio",
    "--host": "127.0.0.1",
    "--port": "0",
    "--path": "",
    "--revisions": "",
    "--without": "",
}
SWITCHES = ("--authorization", "--fixtures")


def main(arguments: list[str]) -> None:
    """Serve as the arguments say. Wrong use ends the process with status 2 and a line on stderr."""
    given, faults, load_faults = _parse(arguments)
    revisions = _several(given["--revisions"], REVISIONS) or REVISIONS
    server = Server(revisions, _several(given["--without"], FEATURES))
    server.protected = bool(given["--authorization"])
    if given["--fixtures"]:
        from conformance.reference.fixtures import install

        install(server)
    if faults:
        from conformance.reference.faults import apply

        try:
            apply(server, faults)
        except KeyError as error:
            _wrong(f"no fault is named {error.args[0]}; see --list-faults")
    if load_faults:
        from conformance.reference.faults import under_load

        try:
            under_load.apply(server, load_faults)
        except KeyError as error:
            _wrong(f"no fault is named {error.args[0]}; there are {', '.join(each.name for each in under_load.FAULTS)}")
    if given["--transport"] == "stdio":
        from conformance.reference.stdio import serve

        serve(server)
    elif given["--transport"] == "http":
        from conformance.reference.http import serve as serve_http

        serve_http(server, (given["--host"], int(given["--port"])), given["--path"] or "/mcp")
    elif given["--transport"] == "sse":
        from conformance.reference.http import serve as serve_http
        from conformance.reference.http_sse import SseHandler

        serve_http(server, (given["--host"], int(given["--port"])), given["--path"] or "/sse", SseHandler)
    else:
        _wrong(f"no transport is named {given['--transport']}")


def _parse(arguments: list[str]) -> tuple[dict[str, str], list[str], list[str]]:
    # Importing argparse takes as long as starting this server without it.
    given, faults, rest = {**VALUES, **dict.fromkeys(SWITCHES, "")}, list[str](), list(arguments)
    load_faults: list[str] = []
    while rest:
        name, _, value = rest.pop(0).partition("=")
        if name == "--help":
            print(USAGE, end="")
            sys.exit()
        if name == "--list-faults":
            from conformance.reference.faults import listing

            print(listing())
            sys.exit()
        if name == "--list-tokens":
            import json

            from conformance.reference.authorization import tokens

            print(json.dumps(tokens()))
            sys.exit()
        if name in SWITCHES:
            given[name] = "on"
            continue
        if name not in ("--fault", "--load-fault") and name not in VALUES:
            _wrong(f"unknown argument {name}")
        if not value and not rest:
            _wrong(f"{name} needs a value")
        value = value or rest.pop(0)
        if name == "--fault":
            faults.append(value)
        elif name == "--load-fault":
            load_faults.append(value)
        else:
            given[name] = value
    if not given["--port"].isdecimal():
        _wrong("--port needs a number")
    return given, faults, load_faults


def _several(text: str, allowed: tuple[str, ...]) -> list[str]:
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in allowed:
            _wrong(f"{name} is none of {', '.join(allowed)}")
    return names


def _wrong(why: str) -> NoReturn:
    print(f"{why}\n\n{USAGE}", end="", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
