"""Where the test of a server runs: as it is, inside bubblewrap, or in a container."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.files.places import CASES, SCHEMAS
from conformance.fleet.limits import Limits

KINDS = ("none", "bwrap", "docker")
IMAGE = "mcp-conform"
"""The image that the Dockerfile of the project makes."""
WORK = "/work"
"""Where the scratch folder is in a container."""
PLACES = ("PATH", "HOME", "TMPDIR", "DOCKER_HOST")
PATIENCE = 10.0
"""Seconds in which a sandbox is tried."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One of KINDS; containers are of `image`."""

    kind: str = "none"
    image: str = IMAGE

    def why_not_usable(self) -> str:
        """Why servers cannot be tested in it on this machine, in one sentence; "" if they can."""
        if self.kind == "none":
            return ""
        if self.kind == "bwrap":
            if not shutil.which("bwrap"):
                return "--sandbox bwrap: the command bwrap was not found; install bubblewrap"
            said = _try(*_bwrap(Path(tempfile.gettempdir())), "true")
            return f"--sandbox bwrap: bubblewrap does not work here: {said}" if said else ""
        if not shutil.which("docker"):
            return "--sandbox docker: the command docker was not found; install Docker"
        if not docker_answers():
            return "--sandbox docker: no Docker daemon answers; start it, or set DOCKER_HOST"
        if _try("docker", "image", "inspect", self.image):
            made = f"docker build --tag {self.image} . makes it of the project's Dockerfile"
            return f"--sandbox docker: there is no image {self.image!r}; {made}"
        return ""

    def wrapped(
        self, words: Sequence[str], scratch: Path, environment: Mapping[str, str], limits: Limits
    ) -> tuple[str, ...]:
        """The command that runs `mcp-conform` with `words` in it, of all files only the folder `scratch` writable."""
        if self.kind == "docker":
            return (*_docker(scratch, environment, limits), self.image, *words)
        command = (sys.executable, "-m", "conformance", *words)
        return (*_bwrap(scratch), "--chdir", f"{scratch}/work", *command) if self.kind == "bwrap" else command

    def seen(self, scratch: Path) -> Path:
        """Where the folder `scratch` is for what runs inside."""
        return Path(WORK) if self.kind == "docker" else scratch

    def end(self, scratch: Path) -> None:
        """End what does not end with the process that was started: a container is the daemon's."""
        if self.kind == "docker":
            _try("docker", "rm", "--force", scratch.name)


def docker_answers() -> bool:
    """Whether containers can be started on this machine."""
    return bool(shutil.which("docker")) and not _try("docker", "version", "--format", "{{.Server.Version}}")


def _try(*command: str) -> str:
    """The last line of what a command says about why it failed; "" if it did not fail."""
    try:
        tried = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error).splitlines()[0]
    said = tried.stderr.strip().splitlines()
    return (said[-1] if said else f"exit status {tried.returncode}") if tried.returncode else ""


def _docker(scratch: Path, environment: Mapping[str, str], limits: Limits) -> tuple[str, ...]:
    """A container with the same limits, named like the scratch folder. It gets no variable that names a place here."""
    given = [f"--env={name}" for name in environment if name not in PLACES]
    bounds = [f"--memory={limits.memory}", f"--pids-limit={limits.processes}"]
    user = f"--user={os.getuid()}:{os.getgid()}"
    places = [f"--volume={scratch}:{WORK}", f"--workdir={WORK}/work", f"--env=HOME={WORK}/home"]
    return ("docker", "run", "--rm", "--init", f"--name={scratch.name}", user, *bounds, *places, *given)


def _bwrap(scratch: Path) -> list[str]:
    """Nothing can be written but the scratch folder, homes cannot be seen, nor what other processes there are."""
    words = ["bwrap", "--die-with-parent", "--new-session", "--unshare-all", "--share-net"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for home in sorted({"/home", "/root", str(Path.home())}):
        if Path(home).is_dir() and home != "/":
            words += ["--tmpfs", home]
    # What may be in one of those: Python, the suite, and what it reads.
    package = Path(__file__).resolve().parent.parent.parent
    needed = {Path(sys.prefix), Path(sys.base_prefix), package, CASES, SCHEMAS}
    for place in sorted(map(str, needed)):
        words += ["--ro-bind", place, place]
    return [*words, "--bind", str(scratch), str(scratch)]
