"""Starts the process of a target, and ends it with everything that it started."""

from __future__ import annotations

import contextlib
import difflib
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from conformance.model import Limits, Target
from conformance.secrets import CANARY

STDERR_TAIL = 64 * 1024
PORTS = range(20_000, 32_000)
"""Below the ports that systems give to outgoing connections, so that none of those takes a chosen port meanwhile."""


ORIGINS = {
    "npx": "npx comes with Node.js, https://nodejs.org",
    "node": "node is Node.js, https://nodejs.org",
    "uvx": "uvx comes with uv, https://docs.astral.sh/uv",
    "uv": "uv is at https://docs.astral.sh/uv",
    "docker": "docker is at https://docs.docker.com/get-started/get-docker",
    "cmd": "cmd is the shell of Windows: on this system name the program that it runs",
}
"""Where programs that often start servers come from."""


class StartError(Exception):
    """The target could not be started or reached. The text names the cause and what to do."""


def parse_command(text: str) -> tuple[str, ...]:
    """The words of a command line, split as a POSIX shell would.

    Raises StartError if there are none or a quote is left open.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise StartError(f"the command line {text!r} cannot be split into words: {error}") from None
    if not words:
        raise StartError("the command line is empty")
    return words


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on. Raises StartError if there is none."""
    for port in random.sample(PORTS, 200):
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise StartError("no free TCP port was found for {port}")


class ServerProcess:
    """A running target: its own process group, pipes unbuffered, stderr drained by a thread.

    With `stdio` its stdout is the caller's to read and to close; without it stdout goes the way of stderr. The
    constructor raises StartError.
    """

    def __init__(self, target: Target, limits: Limits, *, stdio: bool = True) -> None:
        self._limits = limits
        self._tail = bytearray()
        self._lock = threading.Lock()
        self._family: set[psutil.Process] = set()
        self._gone = threading.Event()
        self._watchers: list[Callable[[str], None]] = []
        self.gone_at = 0.0
        try:
            self.popen = subprocess.Popen(
                target.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if stdio else subprocess.STDOUT,
                bufsize=0,
                env={**CANARY, **os.environ, **target.env},
                cwd=target.cwd,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            raise StartError(_why_not(target, error)) from None
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()
        threading.Thread(target=self._await_end, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether the process itself has not ended; `gone_at` says when it did, as a `time.monotonic()`."""
        return not self._gone.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether the process ends within `seconds`; returns the moment it does."""
        return self._gone.wait(seconds)

    def watch(self, told: Callable[[str], None]) -> None:
        """Call `told` with the fate, in another thread, when the process has ended; at once if it has already."""
        with self._lock:
            if self.running:
                self._watchers.append(told)
                return
        told(self.fate())

    def unwatch(self, told: Callable[[str], None]) -> None:
        """Call `told` no more."""
        with self._lock, contextlib.suppress(ValueError):
            self._watchers.remove(told)

    def stderr(self) -> str:
        """The last 64 KiB of stderr."""
        if not self.running:
            self._drain.join(0.5)
        with self._lock:
            return bytes(self._tail[-STDERR_TAIL:]).decode("utf-8", "replace")

    def fate(self) -> str:
        """How it ended, for people, with the last lines of stderr; "" while it runs."""
        if self.running:
            return ""
        code = self.popen.returncode
        how = f"the server was killed by {_signal_name(-code)}" if code < 0 else f"the server exited with code {code}"
        return how + self.last_words()

    def last_words(self) -> str:
        """The last lines of stderr as the end of a sentence, "" if there are none."""
        last = [line for line in self.stderr().splitlines() if line.strip()][-3:]
        return f"; its stderr ends with: {' | '.join(last)[-600:]}" if last else ""

    def remember_family(self) -> None:
        """Note the descendants while the process lives; once it is gone, those of other groups are not found."""
        with contextlib.suppress(psutil.Error):
            self._family |= set(psutil.Process(self.popen.pid).children(recursive=True))

    def end(self, patience: float) -> tuple[str, tuple[str, ...]]:
        """End the process, its group and all its descendants; nothing is left behind.

        It is given `patience` seconds to go by itself, then a SIGTERM, then a SIGKILL. Returns `closed`, `terminated`
        or `killed`, and the orphans: command lines of what outlived it by `limits.quiet` seconds and was ended.
        """
        how = "closed"
        if not self.wait(patience):
            how = "terminated" if self._ended_by(signal.SIGTERM) else "killed"
            if how == "killed":
                self._ended_by(signal.SIGKILL)
        orphans = self._end_orphans()
        if self.popen.stdin is not None:
            with contextlib.suppress(OSError):
                self.popen.stdin.close()
        self._drain.join(1.0)
        return how, orphans

    # -- inside

    def _ended_by(self, number: signal.Signals) -> bool:
        """Send the group a signal; whether the process ends within `limits.shutdown` seconds."""
        self.remember_family()
        with contextlib.suppress(OSError):
            os.killpg(self.popen.pid, number)
        return self.wait(self._limits.shutdown)

    def _await_end(self) -> None:
        self.popen.wait()
        self.gone_at = time.monotonic()
        with self._lock:
            self._gone.set()
            watchers = tuple(self._watchers)
        for told in watchers:
            told(self.fate())

    def _drain_stderr(self) -> None:
        stream = self.popen.stderr or self.popen.stdout
        assert stream is not None
        with contextlib.suppress(OSError), stream as pipe:
            while part := os.read(pipe.fileno(), 65536):
                with self._lock:
                    self._tail += part
                    if len(self._tail) > 2 * STDERR_TAIL:
                        del self._tail[:-STDERR_TAIL]

    def _end_orphans(self) -> tuple[str, ...]:
        """Kill what is still there after `limits.quiet` seconds, and what that started; the command lines."""
        for process in self._left_behind(self._limits.quiet):
            with contextlib.suppress(psutil.Error):
                self._family |= {process, *process.children(recursive=True)}
        ended = []
        for process in self._left_behind(0.0):
            with contextlib.suppress(psutil.Error):
                name = " ".join(process.cmdline()) or process.name()
                process.kill()
                ended.append(name)
        self._left_behind(self._limits.shutdown)
        return tuple(sorted(ended))

    def _left_behind(self, patience: float) -> list[psutil.Process]:
        """The other processes of the group and the family that live, after at most `patience` seconds to end."""
        deadline = time.monotonic() + patience
        while True:
            others = self._family | _group(self.popen.pid)
            left = [process for process in others if process.pid != self.popen.pid and _lives(process)]
            if not left or time.monotonic() >= deadline:
                return left
            time.sleep(0.01)


class RunningServer:
    """A target that serves a URL, started by us: `url` has the real port in it."""

    def __init__(self, target: Target, limits: Limits) -> None:
        port = str(free_port())
        self.url = target.url.replace("{port}", port)
        command = tuple(word.replace("{port}", port) for word in target.command)
        self._target = Target(command, self.url, target.env, target.cwd)
        self._limits = limits
        self._process: ServerProcess | None = None

    @property
    def running(self) -> bool:
        """Whether the server has been started and has not ended."""
        return self._process is not None and self._process.running

    def start(self) -> None:
        """Start it and wait until it answers HTTP, with any status, at most `limits.start` seconds.

        Raises StartError, at once if the process ends.
        """
        _address(self.url)
        self._process = process = ServerProcess(self._target, self._limits, stdio=False)
        deadline = time.monotonic() + self._limits.start
        while reason := _silence(self.url):
            if process.wait(0.02):
                self.end()
                raise StartError(f"before anything answered at {self.url}, {process.fate()}")
            if time.monotonic() > deadline:
                self.end()
                waited = f"{self._limits.start:g} s after the server was started"
                raise StartError(f"{waited}, {reason}{process.last_words()}")

    def wait(self, seconds: float) -> bool:
        """Whether the process ends within `seconds`, or is not there."""
        return self._process is None or self._process.wait(seconds)

    def watch(self, told: Callable[[str], None]) -> None:
        """Call `told` with its fate, in another thread, when the process ends."""
        if self._process is not None:
            self._process.watch(told)

    def unwatch(self, told: Callable[[str], None]) -> None:
        """Call `told` no more."""
        if self._process is not None:
            self._process.unwatch(told)

    def fate(self) -> str:
        """How the process ended, "" while it runs."""
        return self._process.fate() if self._process is not None else ""

    def stderr(self) -> str:
        """The last 64 KiB of stdout and stderr."""
        return self._process.stderr() if self._process is not None else ""

    def end(self) -> None:
        """Terminate it; nothing is left behind. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.end(0.0)


def reach(url: str) -> None:
    """Check that somebody listens at `url`. Raises StartError."""
    host, port = _address(url)
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionRefusedError:
        raise StartError(f"connection refused at {host}:{port}; is the server running?") from None
    except OSError as error:
        raise StartError(f"cannot connect to {host}:{port}: {error.strerror or error}") from None


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise StartError(f"{url!r} is no http or https URL")
    try:
        port = parts.port
    except ValueError:
        raise StartError(f"{url!r} has no valid port") from None
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)


def _silence(url: str) -> str:
    """Why nothing answers HTTP at `url`, "" if something does. Asks for the root, so as not to touch MCP's own path."""
    import http.client
    import ssl

    host, port = _address(url)
    if url.startswith("https:"):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=2, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.connect()
    except OSError as error:
        return f"nothing listens at {host}:{port} ({error.strerror or error})"
    try:
        connection.request("HEAD", "/")
        connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        return f"{host}:{port} accepts connections but does not answer HTTP ({str(error) or type(error).__name__})"
    finally:
        connection.close()
    return ""


def _why_not(target: Target, error: Exception) -> str:
    if not target.command:
        return "the command line is empty"
    program = target.command[0]
    if target.cwd is not None and not Path(target.cwd).is_dir():
        return f"the working directory {target.cwd!r} does not exist"
    if isinstance(error, FileNotFoundError):
        return _not_found(target, program)
    if isinstance(error, PermissionError):
        return f"{program!r} is not executable; make it so (chmod +x) or name the program that runs it"
    return f"{program!r} could not be started: {getattr(error, 'strerror', None) or error}"


def why_not_runnable(target: Target) -> str:
    """Why the command of a target cannot be run here, "" if it can; nothing is started."""
    program, cwd = target.command[0], Path(target.cwd or ".")
    found: str | Path | None = None
    if "/" not in program:
        found = shutil.which(program, path=target.env.get("PATH"))
    elif (cwd / program).is_file():
        found = cwd / program
    if found is None or not cwd.is_dir():
        return _why_not(target, FileNotFoundError())
    return "" if os.access(found, os.X_OK) else _why_not(target, PermissionError())


def _not_found(target: Target, program: str) -> str:
    cwd = Path(target.cwd or ".")
    if "/" in program and (cwd / program).exists():
        return f"the program that the first line (#!) of {program!r} names was not found"
    if "/" in program:
        folders = [(cwd / program).parent]
    else:
        path = target.env.get("PATH", os.environ.get("PATH", ""))
        folders = [Path(folder) for folder in path.split(os.pathsep) if folder]
    near = difflib.get_close_matches(Path(program).name, _names(folders), n=1, cutoff=0.7)
    hint = f" (is it {near[0]!r}?)" if near else ""
    split = (
        "its arguments belong into args" if target.config else "the command line is split into words as a shell would"
    )
    whole = f" ({split})" if " " in program else ""
    comes = f"; {ORIGINS[program]}" if program in ORIGINS else ""
    where = "" if "/" in program else " and PATH"
    return f"the command {program!r} was not found{hint}{whole}; check the name{where}{comes}"


def _names(folders: Iterable[Path]) -> set[str]:
    names: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            names |= {entry.name for entry in os.scandir(folder)}
    return names


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _group(leader: int) -> set[psutil.Process]:
    """The processes of the group that `leader` led; they are looked for only if the group still exists."""
    try:
        os.killpg(leader, 0)
    except OSError:
        return set()
    members = set()
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getpgid(pid) == leader:
                members.add(psutil.Process(pid))
    return members


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
