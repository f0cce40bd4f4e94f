"""Servers in bundles (mcpb): fetched, checked, unpacked, started; from a server of files on this machine."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fleets import LITTLE
from fronts import conform

from conformance.fleet.bundles import Unusable, settings_of

MAIN = "import runpy, sys; sys.argv = ['reference']; runpy.run_module('conformance.reference', run_name='__main__')"
SEEN = Path("/seen")


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing on stderr."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the URL at which its files are."""
    folder = tmp_path / "files"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def bundle(members: dict[str, str]) -> bytes:
    """A zip of these files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return data.getvalue()


def manifest(**server: Any) -> str:
    """A manifest."""
    return json.dumps({"manifest_version": "0.3", "name": "x", "version": "1.0.0", "server": server})


def test_a_server_in_a_bundle_is_fetched_unpacked_and_tested(files: tuple[Path, str], tmp_path: Path) -> None:
    folder, url = files
    config = {"command": sys.executable, "args": ["${__dirname}/main.py"], "env": {"PRICE": "$5"}}
    good = bundle({"manifest.json": manifest(type="python", entry_point="main.py", mcp_config=config), "main.py": MAIN})
    contents = {"good": good, "other": good, "broken": b"no zip", "empty": bundle({"../../manifest.json": "{}"})}
    servers: list[Any] = []
    for name, data in contents.items():
        (folder / f"{name}.mcpb").write_bytes(data)
        digest = hashlib.sha256(data).hexdigest() if name != "other" else "0" * 64
        package = {"registryType": "mcpb", "identifier": f"{url}/{name}.mcpb", "fileSha256": digest}
        servers.append({"name": f"a/{name}", "description": "", "version": "1.0.0", "packages": [package]})
    missing = {**servers[0]["packages"][0], "identifier": f"{url}/missing.mcpb"}
    servers.append({**servers[0], "name": "a/missing", "packages": [missing]})
    (tmp_path / "list.json").write_text(json.dumps({"servers": servers}))
    done = conform("fleet", "list.json", "--out", "out", "--workers", "2", *LITTLE, cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    told = {row["name"]: row for row in json.loads((tmp_path / "out" / "summary.json").read_text())["servers"]}
    assert told["a/good"]["outcome"] == "passed"
    assert "its bundle is another file: its SHA-256 is " in told["a/other"]["reason"]
    assert "its bundle cannot be unpacked: " in told["a/broken"]["reason"]
    assert "its bundle does not say how the server is started" in told["a/empty"]["reason"]
    assert "its bundle cannot be fetched: " in told["a/missing"]["reason"] and "404" in told["a/missing"]["reason"]


MANIFESTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "node": ({"type": "node", "entry_point": "server/index.js"}, {"server": ["node", "/seen/bundle/server/index.js"]}),
    "python": ({"type": "python", "entry_point": "main.py"}, {"server": ["python3", "/seen/bundle/main.py"]}),
    "binary": ({"type": "binary", "entry_point": "bin/x"}, {"server": ["/seen/bundle/bin/x"]}),
    "a command of its own": (
        {"type": "node", "mcp_config": {"command": "node", "args": ["${__dirname}/a.js", "--dir", "${HOME}"]}},
        {"server": ["node", "/seen/bundle/a.js", "--dir", "/seen/home"]},
    ),
    "another one on this system": (
        {"type": "node", "mcp_config": {
            "command": "a", "args": ["b"],
            "platform_overrides": {"linux": {"command": "c"}, "darwin": {"command": "c"}},
        }},
        {"server": ["c", "b"]},
    ),
    "what the user configures": (
        {"type": "node", "mcp_config": {
            "command": "x", "args": ["${user_config.dirs}", "--n=${user_config.n}"],
            "env": {"K": "${user_config.key}$"},
        }},
        {"server": ["x", "/a", "/b", "--n=3"], "env": {"K": "sesame$$"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("server, settings", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_comes_to_settings(server: dict[str, Any], settings: dict[str, Any], tmp_path: Path) -> None:
    inputs = {"dirs": {"type": "directory", "multiple": True}, "n": {"type": "number", "default": 3}, "key": {}}
    told = {"server": server, "user_config": inputs}
    assert settings_of(told, {"dirs": ["/a", "/b"], "key": "sesame"}, tmp_path, SEEN) == settings


def test_what_a_bundle_needs_and_nobody_gives_is_named(tmp_path: Path) -> None:
    told = {"server": {"type": "python", "entry_point": "a"}, "user_config": {"key": {"required": True}}}
    with pytest.raises(Unusable, match="the variable key is missing, which --values can give"):
        settings_of(told, {}, tmp_path, SEEN)
