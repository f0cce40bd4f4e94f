"""A small server on FastMCP (PyPI fastmcp 4.1): stdio, or Streamable HTTP with --http PORT."""

import argparse
import base64
from dataclasses import dataclass

from fastmcp import FastMCP

# The smallest GIF: one transparent pixel.
PIXEL = base64.b64decode("R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==")
STOCK = {"bolt": 120, "nut": 80}

server = FastMCP("fastmcp-server", version="1.0.0", instructions="Counts the parts in a store.")


@dataclass
class Level:
    part: str
    count: int


@server.tool(annotations={"readOnlyHint": True, "title": "Stock level"})
def level(part: str) -> Level:
    """How many of a part are there?"""
    return Level(part, STOCK.get(part, 0))


@server.tool(annotations={"readOnlyHint": True})
def parts() -> list[str]:
    """The names of all parts."""
    return sorted(STOCK)


@server.tool
def put(part: str, count: int) -> str:
    """Put parts into the store."""
    STOCK[part] = STOCK.get(part, 0) + count
    return f"{STOCK[part]} {part}"


@server.resource("stock://all", mime_type="text/plain")
def stock() -> str:
    """Every part and its count."""
    return "\n".join(f"{part} {count}" for part, count in sorted(STOCK.items()))


@server.resource("image://pixel", mime_type="image/gif")
def pixel() -> bytes:
    """One transparent pixel."""
    return PIXEL


@server.resource("stock://part/{part}", mime_type="text/plain")
def part_stock(part: str) -> str:
    """The count of one part."""
    return str(STOCK.get(part, 0))


@server.prompt
def review() -> str:
    """Ask for a review of the stock."""
    return "Which parts run low?"


@server.prompt
def order(part: str, count: str = "100") -> str:
    """Ask for an order of a part."""
    return f"Write an order for {count} pieces of {part}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp instead of stdio")
    parser.add_argument("--sse", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/sse instead of stdio")
    given = parser.parse_args()
    if given.http:
        server.run("http", host="127.0.0.1", port=given.http, show_banner=False)
    elif given.sse:
        server.run("sse", host="127.0.0.1", port=given.sse, show_banner=False)
    else:
        server.run(show_banner=False)


if __name__ == "__main__":
    main()
