"""A small server on the official Python SDK 1.x (PyPI mcp 1.30): HTTP+SSE with --sse PORT, or --websocket PORT."""

import argparse

import uvicorn
from mcp.server.fastmcp import FastMCP
from mcp.server.websocket import websocket_server
from mcp.types import ToolAnnotations
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

NOTES = {"first": "Buy milk.", "second": "Read RFC 3986."}

server = FastMCP("sdk1-server", instructions="Keeps a few notes.", host="127.0.0.1", log_level="ERROR")


@server.tool(title="Add", annotations=ToolAnnotations(readOnlyHint=True))
def add(terms: list[float]) -> float:
    """Add numbers."""
    return sum(terms)


@server.tool(annotations=ToolAnnotations(readOnlyHint=True, openWorldHint=False))
def read_note(name: str) -> str:
    """Return a note."""
    if name not in NOTES:
        raise ValueError(f"no note is called {name}")
    return NOTES[name]


@server.resource("note://index", mime_type="text/plain")
def index() -> str:
    """The names of all notes."""
    return "\n".join(NOTES)


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


async def converse(socket: WebSocket) -> None:
    """Serve one client over WebSocket."""
    inner = server._mcp_server
    async with websocket_server(socket.scope, socket.receive, socket.send) as (heard, said):
        await inner.run(heard, said, inner.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sse", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/sse")
    parser.add_argument("--websocket", type=int, metavar="PORT", help="serve ws://127.0.0.1:PORT/ws")
    given = parser.parse_args()
    if given.sse:
        server.settings.port = given.sse
        server.run("sse")
    else:
        app = Starlette(routes=[WebSocketRoute("/ws", converse)])
        uvicorn.run(app, host="127.0.0.1", port=given.websocket, log_level="error")


if __name__ == "__main__":
    main()
