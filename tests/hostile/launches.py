"""Targets that start only once, or one at a time: what each session that has a process of its own meets."""

from __future__ import annotations

import os
import sys

from hostile import bounds
from hostile.base import Refused, in_turn
from hostile.modern import modern
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hostile.base import Message, Server

AGAIN = "could not be reached again"
LOCKS: list[int] = []


def _lock(wait: bool) -> Callable[[], None]:
    """Hold a lock file of the working directory for as long as this process lives, or end."""

    def start() -> None:
        import fcntl

        LOCKS.append(os.open("server.lock", os.O_CREAT | os.O_RDWR))
        try:
            fcntl.flock(LOCKS[-1], fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            sys.exit("another one is running")

    return start


def _is_first(times: int = 1) -> bool:
    """Whether this is one of the first processes of that number in the working directory."""
    for number in range(times):
        try:
            os.close(os.open(f"start-{number}", os.O_CREAT | os.O_EXCL))
        except OSError:
            continue
        return True
    return False


@target(statuses=(0,), says=AGAIN)
def runs_one_at_a_time(server: Server) -> None:
    """Ends with an error while another process of it runs."""
    server.after["start"] = _lock(wait=False)


@target(statuses=(0,))
def waits_for_the_other_one(server: Server) -> None:
    """Waits at its start until no other process of it runs."""
    server.after["start"] = _lock(wait=True)


@target(statuses=(0,))
def waits_for_the_other_one_in_2026(server: Server) -> None:
    """Waits at its start until no other process of it runs, and speaks 2026-07-28."""
    modern(server)
    server.after["start"] = _lock(wait=True)


@target(statuses=(0,), says=AGAIN)
def runs_one_at_a_time_in_2026(server: Server) -> None:
    """Ends with an error while another process of it runs, and speaks 2026-07-28 only."""
    modern(server)
    server.after["start"] = _lock(wait=False)


@target(statuses=(0,))
def only_its_first_process_answers(server: Server) -> None:
    """Hangs from the start in every process but the first."""
    server.after["start"] = lambda: None if _is_first() else bounds.wait()


@target(statuses=(0, 3))
def runs_twice_only(server: Server) -> None:
    """Starts twice, and then never again."""
    server.after["start"] = lambda: None if _is_first(2) else sys.exit("the licence is used up")


@target(statuses=(0, 1))
def serves_its_first_client_only(server: Server) -> None:
    """Refuses initialize in every process but the first."""
    plain = server.methods["initialize"]

    def initialize(params: Message) -> Message:
        if not _is_first():
            raise Refused(-32600, "Server already initialized")
        return dict(plain(params))

    server.methods["initialize"] = initialize


@target()
def another_server_each_time(server: Server) -> None:
    """Lists no tools in any process but the first, and knows none."""

    def start() -> None:
        def call(_params: Message) -> Message:
            raise Refused(-32602, "Unknown tool")

        if not _is_first():
            server.tools = []
            server.methods["tools/call"] = call

    server.after["start"] = start


def _inner(name: str, command: str) -> Callable[[Server], None]:
    """A shell runs `command`, in which "$@" is the server itself."""
    mark = f"MCP_CONFORM_INNER_{name.upper().replace('-', '_')}"

    def play(server: Server) -> None:
        def start() -> None:
            if mark not in os.environ:
                os.environ[mark] = "1"
                os.execv("/bin/sh", ["sh", "-c", command, "sh", sys.executable, *sys.argv])

        server.after["start"] = start

    return play


add("wrapped-in-a-shell", "Is the child of a shell.", _inner("shell", '"$@"; exit $?'), statuses=(0,))
add("wrapped-in-tee", "Stands between two tees.", _inner("tee", 'tee in.log | "$@" | tee out.log'), statuses=(0,))
add(
    "wrapped-in-a-loop",
    "Is started anew by a shell when it ends with an error, as it does whenever a tool is called.",
    lambda server: in_turn(
        lambda: _inner("loop", 'for n in 1 2 3 4 5; do "$@" && exit; done')(server),
        lambda: server.before.update({"tools/call": lambda: os._exit(9)}),
    )(),
)
vary("launches", "runs-one-at-a-time only-its-first-process-answers serves-its-first-client-only wrapped-in-tee")
