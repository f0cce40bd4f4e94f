"""Starts the process of a target, and ends it with everything that it started."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from conformance.model import Limits, Target
from conformance.system.process_table import held_up
from conformance.system.processes import Family
from conformance.target.inherited import inherited
from conformance.target.secrets import CANARY

STDERR_TAIL = 64 * 1024

ORIGINS = {
    "npx": "npx comes with Node.js, https://nodejs.org",
    "node": "node is Node.js, https://nodejs.org",
    "uvx": "uvx comes with uv, https://docs.astral.sh/uv",
    "uv": "uv is at https://docs.astral.sh/uv",
    "docker": "docker is at https://docs.docker.com/get-started/get-docker",
    "cmd": "cmd is the shell of Windows: on this system name the program that it runs",
}
"""Where programs that often start servers come from."""


class Used(NamedTuple):
    """CPU time in seconds and resident memory in bytes."""

    seconds: float = 0.0
    memory: int = 0


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


_PLACE = re.compile(r"[\w@%+=:,./-]*(\{\w+\}[\w@%+=:,./-]*)+", re.ASCII)
"""A word with places such as {port}, which no shell expands."""


def command_line(words: Iterable[str]) -> str:
    """`words` as one would type them into a POSIX shell: what parse_command splits again."""
    return " ".join(word if _PLACE.fullmatch(word) else shlex.quote(word) for word in words)


INTERPRETERS = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "npx tsx"}
"""What usually runs a script."""
SAID, BETWEEN = "its stderr ends with: ", " | "
"""What stands before the last lines of stderr in a sentence, and between two of them."""


_NAMES_ERROR = re.compile(r"\W*(\w+\W+){0,2}?\w*(error|exception|panic(ked)?|fatal)\b", re.IGNORECASE)
"""How a line begins that says what went wrong."""


def ending(stderr: str) -> str:
    """The last three lines that say something, of about 600 characters the last ones.

    Where none of them names an error, the last one before them that does stands for the first: a stack, advice on
    usage or the version of the runtime often follow it. Cut between words only: half a secret would not be known as
    one.
    """
    lines = [line for line in stderr.splitlines() if line.strip()]
    last = lines[-3:]
    if not any(map(_NAMES_ERROR.match, last)):
        named = next((line for line in reversed(lines[:-3]) if _NAMES_ERROR.match(line)), None)
        last = last if named is None else [named, "…", *last[1:]]
    text = BETWEEN.join(last)
    first, _, rest = text[-600:].partition(" ")
    return text if len(text) <= 600 else f"… {rest or f'[{len(first)} characters without a blank]'}"


LEFT_BEHIND = "the server leaves processes behind"

NAMED = 5
"""Of the processes that a server leaves behind, how many are named."""

LONGEST = 100
"""Characters of a command line that are shown."""


def left_behind(command_lines: tuple[str, ...]) -> str:
    """How many processes there are, and what they are, equal ones once; "" if there are none.

    Each is cut between words: half a secret would not be known as one.
    """
    shown = Counter(_shortened(line) for line in command_lines).most_common(NAMED)
    named = [f"{line} ({times} times)" if times > 1 else line for line, times in shown]
    number = len(command_lines)
    more = number - sum(times for _, times in shown)
    rest = f" and {more} more" if more else ""
    return f"{number} {'process' if number == 1 else 'processes'}: {', '.join(named)}{rest}" if number else ""


def _shortened(line: str) -> str:
    kept = ""
    for word in line.split(" "):
        if len(kept) + len(word) > LONGEST:
            return f"{kept}…" if kept else f"[{len(word)} characters without a blank]"
        kept += f"{word} "
    return kept.rstrip()


class ServerProcess:
    """A running target: its own process group, pipes unbuffered, stderr drained by a thread.

    With `stdio` its stdout is the caller's to read and to close; without it stdout goes the way of stderr. The
    constructor raises StartError.
    """

    def __init__(self, target: Target, limits: Limits, *, stdio: bool = True) -> None:
        self.limits = limits
        self._tail = bytearray()
        self._lock = threading.Lock()
        self._gone = threading.Event()
        self._drained = threading.Event()
        self._drained.set()
        self._watchers: list[Callable[[str], None]] = []
        self.gone_at = 0.0
        try:
            self._family = Family(
                lambda marked: subprocess.Popen(
                    target.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if stdio else subprocess.STDOUT,
                    bufsize=0,
                    env={**CANARY, **inherited(), **target.env, **marked},
                    cwd=target.cwd,
                    start_new_session=True,
                )
            )
        except (OSError, ValueError, IndexError) as error:
            raise StartError(_why_not(target, error)) from None
        self.popen = self._family.popen
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

    @contextlib.contextmanager
    def stderr_unread(self) -> Iterator[None]:
        """Leave what is written to stderr in the pipe meanwhile, but for a first part that may be on its way."""
        self._drained.clear()
        try:
            yield
        finally:
            self._drained.set()

    def stderr_waiting(self) -> int:
        """Bytes of stderr that wait in the pipe; 0 where that cannot be told."""
        stream = self.popen.stderr
        try:
            import fcntl
            import termios

            assert stream is not None
            return int.from_bytes(fcntl.ioctl(stream.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)
        except (ImportError, OSError, ValueError):  # there is none of it on Windows, and the pipe may be closed
            return 0

    def fate(self) -> str:
        """How it ended, for people, with the last lines of stderr; "" while it runs."""
        if self.running:
            return ""
        code = self.popen.returncode
        how = f"the server was killed by {_signal_name(-code)}" if code < 0 else f"the server exited with code {code}"
        return how + self.last_words()

    def listens_at(self, port: int) -> bool:
        """Whether the process or one that it started listens at the TCP port, as far as can be told."""
        return bool(self.addresses(port))

    def addresses(self, port: int) -> tuple[str, ...]:
        """The addresses at which the process or one that it started listens at the TCP port, as far as can be told."""
        found: dict[str, None] = {}
        for process in self._with_descendants():
            with contextlib.suppress(psutil.Error):
                for open_one in process.net_connections("tcp"):
                    if open_one.status == psutil.CONN_LISTEN and open_one.laddr.port == port:
                        found[open_one.laddr.ip] = None
        return tuple(found)

    def last_words(self) -> str:
        """The last lines of stderr as the end of a sentence, "" if there are none."""
        last = ending(self.stderr())
        return f"; {SAID}{last}" if last else ""

    def used(self) -> Used:
        """What the process and its descendants have used so far, as far as can be told."""
        seconds, memory = 0.0, 0
        for process in self._with_descendants():
            with contextlib.suppress(psutil.Error):
                used = process.cpu_times()
                seconds += used.user + used.system + used.children_user + used.children_system
                memory += process.memory_info().rss
        return Used(seconds, memory)

    def held_up(self) -> float:
        """Seconds that the process and its descendants were ready to run and waited for a core, as far as is known."""
        return sum(held_up(process.pid) for process in self._with_descendants())

    def remember_family(self) -> None:
        """Note what came of the process so far: it will be found whatever it does later."""
        self._family.members()

    def end(self, patience: float) -> tuple[str, tuple[str, ...]]:
        """End the process, its group and all that came of it; nothing is left behind.

        It is given `patience` seconds to go by itself, then a SIGTERM, then a SIGKILL. Returns `closed`, `terminated`
        or `killed`, and the orphans: command lines of what outlived it by `limits.quiet` seconds and was ended.
        """
        how = "closed"
        if not self.wait(patience):
            how = "terminated" if self._ended_by(signal.SIGTERM) else "killed"
            if how == "killed":
                self._ended_by(signal.SIGKILL)
        orphans = self._family.end(self.limits.quiet, self.limits.shutdown)
        if self.popen.stdin is not None:
            with contextlib.suppress(OSError):
                self.popen.stdin.close()
        self._drain.join(1.0)
        return how, orphans

    # -- inside

    def _with_descendants(self) -> list[psutil.Process]:
        """The process and what came of it, as far as it lives."""
        found = []
        for pid in (self.popen.pid, *(member.pid for member in self._family.members())):
            with contextlib.suppress(psutil.Error):
                if pid != self.popen.pid or self.running:
                    found.append(psutil.Process(pid))
        return found

    def _ended_by(self, number: signal.Signals) -> bool:
        """Send the group a signal; whether the process ends within `limits.shutdown` seconds."""
        self.remember_family()
        with contextlib.suppress(OSError):
            os.killpg(self.popen.pid, number)
        return self.wait(self.limits.shutdown)

    def _await_end(self) -> None:
        self._family.wait()
        self.gone_at = time.monotonic()
        with self._lock:
            self._gone.set()
            watchers, self._watchers = tuple(self._watchers), []
        for told in watchers:
            told(self.fate())

    def _drain_stderr(self) -> None:
        stream = self.popen.stderr or self.popen.stdout
        assert stream is not None
        with contextlib.suppress(OSError), stream as pipe:
            while part := os.read(pipe.fileno(), 65536):
                self._drained.wait()
                with self._lock:
                    self._tail += part
                    if len(self._tail) > 2 * STDERR_TAIL:
                        del self._tail[:-STDERR_TAIL]


def _why_not(target: Target, error: Exception) -> str:
    if not target.command:
        return "the command line is empty"
    program = target.command[0]
    if target.cwd is not None and not Path(target.cwd).is_dir():
        return f"the working directory {target.cwd!r} does not exist"
    if "/" in program and (Path(target.cwd or ".") / program).is_dir():
        return f"{program!r} is a folder; name a program in it"
    if isinstance(error, FileNotFoundError):
        return _not_found(target, program)
    if not program:
        return "the first word of the command line is empty: it names the program"
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
    if "/" not in program and (cwd / program).is_file() and not target.config:
        return f"the command {program!r} was not found; a program in this folder is ./{program}{_script(program)}"
    near = difflib.get_close_matches(Path(program).name, _names(folders), n=1, cutoff=0.7)
    hint = f" (is it {near[0]!r}?)" if near else ""
    split = (
        "its arguments belong into args" if target.config else "the command line is split into words as a shell would"
    )
    whole = f" ({split})" if " " in program else ""
    comes = f"; {ORIGINS[program]}" if program in ORIGINS else ""
    where = "" if "/" in program else " and PATH"
    return f"the command {program!r} was not found{hint}{whole}; check the name{where}{comes}"


def _script(program: str) -> str:
    """What else may be meant by the name of a script."""
    interpreter = INTERPRETERS.get(Path(program).suffix)
    return f", a script is started by {interpreter} {program}" if interpreter else ""


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
