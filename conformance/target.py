"""Starts the process of a target, and ends it with everything that it started."""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from conformance.model import Limits, Target

STDERR_TAIL = 64 * 1024


class StartError(Exception):
    """The target could not be started or reached. The text names the cause and what to do."""


def parse_command(text: str) -> tuple[str, ...]:
    """The words of a command line, split as a POSIX shell would. Raises StartError if a quote is left open."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise StartError(f"the command {text!r} cannot be split into words: {error}") from None


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class ServerProcess:
    """A running target: its own process group, pipes unbuffered, stderr drained by a thread.

    Raises StartError from the constructor.
    """

    def __init__(self, target: Target, limits: Limits, *, pipes: bool = True) -> None:
        self._limits = limits
        self._tail = bytearray()
        self._lock = threading.Lock()
        self._closing = 0.0
        stdin = subprocess.PIPE if pipes else subprocess.DEVNULL
        stdout = subprocess.PIPE if pipes else subprocess.DEVNULL
        try:
            self.popen = subprocess.Popen(
                target.command,
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={**os.environ, **target.env},
                cwd=target.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise StartError(_why_not(target, error)) from None
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    @property
    def running(self) -> bool:
        """Whether the process itself has not ended."""
        return self.popen.poll() is None

    def stderr(self) -> str:
        """The last 64 KiB of stderr."""
        if not self.running:
            self._drain.join(0.5)
        with self._lock:
            return bytes(self._tail).decode("utf-8", "replace")

    def fate(self) -> str:
        """How it ended, for people, with the last lines of stderr; "" while it runs."""
        code = self.popen.poll()
        if code is None:
            return ""
        how = f"the server was killed by {_signal_name(-code)}" if code < 0 else f"the server exited with code {code}"
        last = [line for line in self.stderr().splitlines() if line.strip()][-3:]
        return how + (f"; its stderr ends with: {' | '.join(last)[-600:]}" if last else "")

    def wait(self, seconds: float) -> bool:
        """Whether the process ends within `seconds`."""
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, waited: float = 0.0) -> tuple[str, tuple[str, ...]]:
        """End the process, its group and all its descendants; `closed`, `terminated` or `killed`, and the orphans.

        Its input must be closed already, `waited` seconds ago. Orphans are command lines of processes that
        still ran when the process itself was gone.
        """
        family = _descendants(self.popen.pid)
        how = "closed"
        if not self.wait(max(0.0, self._limits.shutdown - waited)):
            family |= _descendants(self.popen.pid)
            how = "terminated"
            self._signal(signal.SIGTERM)
            if not self.wait(self._limits.shutdown):
                how = "killed"
                family |= _descendants(self.popen.pid)
                self._signal(signal.SIGKILL)
                self.popen.wait()
        left = [process for process in family | _group(self.popen.pid) if process.pid != self.popen.pid]
        orphans = tuple(_end_all(left))
        for pipe in (self.popen.stdout, self.popen.stdin):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._drain.join(1.0)
        return how, orphans

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, number)

    def _drain_stderr(self) -> None:
        assert self.popen.stderr is not None
        with contextlib.suppress(OSError, ValueError), self.popen.stderr as pipe:
            while part := os.read(pipe.fileno(), 65536):
                with self._lock:
                    self._tail += part
                    if len(self._tail) > 2 * STDERR_TAIL:
                        del self._tail[:-STDERR_TAIL]


class RunningServer:
    """A target that serves a URL, started by us: `url` has the real port in it.

    `start` waits until the URL is answered at all, at most `limits.start` seconds.
    """

    def __init__(self, target: Target, limits: Limits) -> None:
        port = str(free_port())
        self.url = target.url.replace("{port}", port)
        self._target = Target(
            tuple(word.replace("{port}", port) for word in target.command), self.url, target.env, target.cwd
        )
        self._limits = limits
        self._process: ServerProcess | None = None

    @property
    def running(self) -> bool:
        """Whether the server has been started and has not ended."""
        return self._process is not None and self._process.running

    def start(self) -> None:
        """Start it and wait until it accepts connections. Raises StartError."""
        self._process = process = ServerProcess(self._target, self._limits, pipes=False)
        deadline = time.monotonic() + self._limits.start
        host, port = _address(self.url)
        while not _accepts(host, port):
            if process.wait(0.02):
                raise StartError(f"{process.fate()} before it answered at {self.url}")
            if time.monotonic() > deadline:
                self.end()
                raise StartError(f"nothing answers at {self.url} {self._limits.start:g} s after the server was started")

    def fate(self) -> str:
        """How the process ended, "" while it runs."""
        return self._process.fate() if self._process is not None else ""

    def stderr(self) -> str:
        """The last 64 KiB of stderr."""
        return self._process.stderr() if self._process is not None else ""

    def end(self) -> None:
        """Terminate it; nothing is left behind. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process._signal(signal.SIGTERM)
            process.end()


def reach(url: str) -> None:
    """Check that somebody listens at `url`. Raises StartError."""
    host, port = _address(url)
    if not _accepts(host, port):
        raise StartError(f"connection refused at {host}:{port}; is the server running?")


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise StartError(f"{url!r} has no valid port") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise StartError(f"{url!r} is no http or https URL")
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)


def _accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False


def _why_not(target: Target, error: OSError) -> str:
    program = target.command[0] if target.command else ""
    if target.cwd is not None and not Path(target.cwd).is_dir():
        return f"the working directory {target.cwd!r} does not exist"
    if isinstance(error, FileNotFoundError):
        return f"the command {program!r} was not found{_nearest(program)}; check the name and PATH"
    if isinstance(error, PermissionError):
        return f"{program!r} is not executable; make it so (chmod +x) or name the program that runs it"
    return f"{program!r} could not be started: {error.strerror or error}"


def _nearest(program: str) -> str:
    if os.sep in program:
        return ""
    known = (name for name in ("python3", "python", "node", "npx", "uvx", "uv", "docker", "deno", "bun"))
    near = difflib.get_close_matches(program, [name for name in known if shutil.which(name)], n=1, cutoff=0.7)
    return f" (is it {near[0]!r}?)" if near else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _descendants(pid: int) -> set[psutil.Process]:
    try:
        return set(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return set()


def _group(pid: int) -> set[psutil.Process]:
    """Processes of the group that `pid` leads; only asked for when the group still exists."""
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return set()
    members = set()
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getpgid(process.pid) == pid:
                members.add(process)
    return members


def _end_all(processes: Iterable[psutil.Process]) -> list[str]:
    """Kill those that still run; their command lines."""
    ended = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                ended.append(" ".join(process.cmdline()) or process.name())
                process.kill()
    return ended
