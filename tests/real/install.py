"""Install the real servers, clients and the official suite into .real/ below the project root.

Run with any Python >= 3.11 (standard library only) where npm is on the PATH:

    python tests/real/install.py

Versions are pinned in NPM and VENVS. Each part is written down in .real/installed.json once it is complete,
so a second run does nothing, and a run after a failure or a new pin redoes only what is missing.
Exit status: 0 when everything is there, 1 with one line that says what failed.
"""

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

REAL = Path(__file__).resolve().parents[2] / ".real"
INSTALLED = REAL / "installed.json"

NPM = {
    "server-everything": "@modelcontextprotocol/server-everything@2026.8.31",
    "server-filesystem": "@modelcontextprotocol/server-filesystem@2026.8.31",
    "server-memory": "@modelcontextprotocol/server-memory@2026.8.31",
    "server-sequential-thinking": "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    "supergateway": "supergateway@4.0.0",
    "context7": "@upstash/context7-mcp@4.1.1",
    "typescript-sdk": "@modelcontextprotocol/sdk@1.32.2",
    "oidc-provider": "oidc-provider@9.13.3",
    # The official suite needs Node 22; the node on the PATH may be older.
    "node": "node@22.23.3",
    "conformance": "official-suite@npm:@modelcontextprotocol/conformance@0.1.16",
    "conformance-alpha": "official-suite-alpha@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
}
"""One npm prefix each (.real/npm/<name>), so that none of them changes what another resolves to."""

VENVS = {
    "time": "mcp-server-time==2026.10.19",
    "grafana": "mcp-grafana==2.1.1",
    "arxiv": "arxiv-mcp-server==0.8.2",
    "git": "mcp-server-git==2026.10.19",
    "fetch": "mcp-server-fetch==2026.10.24",
    "calculator": "mcp-server-calculator==0.2.1",
    "alchemy": "mcp-alchemy==2026.10.15.202659",
    "duckduckgo": "duckduckgo-mcp-server==0.7.0",
    "mcp": "mcp==2.3.0",
    "mcp1": "mcp[ws]==1.30.0",
    "fastmcp": "fastmcp==4.1.2",
}
"""One virtual environment each (.real/venv/<name>)."""


class InstallError(Exception):
    """A part could not be installed; the message says which, by what command, and the end of its output."""


def run(part: str, command: list[str]) -> None:
    """Run a command to its end; raise InstallError with the end of its output if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        tail = "\n  ".join(line[:300] for line in done.stdout.strip().splitlines()[-10:])
        raise InstallError(f"{part}: `{' '.join(command)}` ended with status {done.returncode}\n  {tail}")


def install_npm(name: str, package: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"{name}: npm is not on the PATH")
    prefix = REAL / "npm" / name
    shutil.rmtree(prefix, ignore_errors=True)
    prefix.mkdir(parents=True)
    options = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    run(name, [npm, "install", "--prefix", str(prefix), *options, package])


def install_venv(name: str, package: str) -> None:
    place = REAL / "venv" / name
    venv.EnvBuilder(with_pip=True, clear=True, symlinks=True).create(place)
    python = place / "bin" / "python"
    run(name, [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package])


def main() -> int:
    REAL.mkdir(exist_ok=True)
    installed: dict[str, str] = json.loads(INSTALLED.read_text()) if INSTALLED.exists() else {}
    parts = [(f"npm/{name}", package, install_npm) for name, package in NPM.items()]
    parts += [(f"venv/{name}", package, install_venv) for name, package in VENVS.items()]
    for part, package, install in parts:
        if installed.get(part) == package and (REAL / part).is_dir():
            continue
        print(f"installing {package}", flush=True)
        try:
            install(part.partition("/")[2], package)
        except InstallError as error:
            print(f"cannot install {error}", file=sys.stderr)
            return 1
        installed[part] = package
        INSTALLED.write_text(json.dumps(installed, indent=2) + "\n")
    # The filesystem server is given an empty directory, and arxiv a place for the papers that nobody asks it for.
    for directory in ("empty", "papers"):
        (REAL / directory).mkdir(exist_ok=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
