"""A small server on the official Python SDK (PyPI mcp 2.3): stdio, or Streamable HTTP with --http PORT."""

import argparse
import base64
from dataclasses import dataclass

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

# The smallest PNG: one transparent pixel.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
NOTES = {"first": "Buy milk.", "second": "Read RFC 3986."}

server = MCPServer("sdk-server", version="1.0.0", instructions="Keeps a few notes.")


@dataclass
class Sum:
    total: float
    terms: int


@server.tool(title="Add", annotations=ToolAnnotations(read_only_hint=True))
def add(terms: list[float]) -> Sum:
    """Add numbers."""
    return Sum(total=sum(terms), terms=len(terms))


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def read_note(name: str) -> str:
    """Return a note."""
    if name not in NOTES:
        raise ValueError(f"no note is called {name}")
    return NOTES[name]


@server.tool()
def write_note(name: str, text: str) -> str:
    """Keep a note."""
    NOTES[name] = text
    return f"kept {name}"


@server.resource("note://index", mime_type="text/plain")
def index() -> str:
    """The names of all notes."""
    return "\n".join(NOTES)


@server.resource("image://pixel", mime_type="image/png")
def pixel() -> bytes:
    """One transparent pixel."""
    return PIXEL


@server.resource("note://named/{name}", mime_type="text/plain")
def named_note(name: str) -> str:
    """A note by its name."""
    return NOTES[name]


@server.prompt()
def summarize() -> str:
    """Ask for a summary of all notes."""
    return "Summarize my notes."


@server.prompt()
def rewrite(name: str, tone: str = "plain") -> str:
    """Ask for a note in another tone."""
    return f"Rewrite the note {name} in a {tone} tone."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp instead of stdio")
    port: int | None = parser.parse_args().http
    if port is None:
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
