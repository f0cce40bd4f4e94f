"""The small correct server with one thing that takes long, or for ever: `python waiting.py MODE FOLDER`.

What is asked for by name is written into FOLDER/asked, a line for each request.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hostile import bounds
from hostile.base import Server

Message = dict[str, Any]

MODE, FOLDER = sys.argv[1], Path(sys.argv[2])
NEVER = {
    "tool": ("tools/call", "echo"),
    "resource": ("resources/read", "note://first"),
    "prompt": ("prompts/get", "greet"),
    "completion": ("completion/complete", "note://{name}"),
}
"""Mode → the method and a text of the params of what is never answered."""
LATE = {"everything-late": 1.5, "first-late": 8.0, "tool-late": 5.0, "tool-reports": 6.0}


def named(params: Message) -> str:
    """What a request asks for."""
    return str(params.get("name") or params.get("uri") or params.get("ref"))


def report(server: Server, params: Message) -> None:
    """Tell of the progress while the tool works, to who wants to know."""
    token = (params.get("_meta") or {}).get("progressToken")
    for step in range(20):
        time.sleep(LATE[MODE] / 20)
        if token is not None:
            server.tell("notifications/progress", {"progressToken": token, "progress": step, "total": 20})


def edit(request: Message, reply: Message) -> Any:
    """What is answered, and when."""
    method, params = request["method"], request.get("params")
    params = params if isinstance(params, dict) else {}
    with (FOLDER / "asked").open("a") as file:
        file.write(json.dumps([method, named(params)]) + "\n")
    if MODE in NEVER:
        asked, text = NEVER[MODE]
        return None if method == asked and text in named(params) and "result" in reply else reply
    echoes = method == "tools/call" and named(params) == "echo"
    if MODE == "tool-reports" and echoes:
        report(server, params)
    elif MODE == "everything-late" or (MODE == "first-late" and server.heard == 1) or (MODE == "tool-late" and echoes):
        time.sleep(LATE[MODE])
    return reply


bounds.keep()
server = Server()
server.progress = lambda params: None
server.edit = edit
server.run()
