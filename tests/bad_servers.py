"""Bad servers, one for each way to start this file: `python bad_servers.py NAME [PORT]`; `--list` names them all.

The servers themselves are in `hostile/`, by kind.
"""

from __future__ import annotations

import json
import os
import sys

from hostile import bounds
from hostile.base import Server
from hostile.registry import load


def main(words: list[str]) -> None:
    """Be the target that is asked for, or list them as JSON lines."""
    if words[:1] == ["--list"]:
        for each in load().values():
            print(json.dumps(each.as_json()))
        return
    targets = load(words[0]) if words else {}
    if not words or words[0] not in targets:
        sys.exit("usage: bad_servers.py NAME [PORT] | --list")
    chosen = targets[words[0]]
    os.environ[bounds.MARK] = chosen.name
    bounds.keep()
    server = Server()
    chosen.play(server)
    if not chosen.whole:
        server.run()


if __name__ == "__main__":
    main(sys.argv[1:])
