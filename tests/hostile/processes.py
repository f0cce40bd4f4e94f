"""Targets that start processes and leave them behind."""

from __future__ import annotations

import os
import signal
import sys
import time

from hostile import bounds
from hostile.base import in_turn
from hostile.registry import target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hostile.base import Server

LEFT = "(?i)leaves? (a )?process|process(es)? (was|were) left|left behind"
"""What is said of a server that leaves processes behind."""


def _let_go(*numbers: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in numbers:
        os.dup2(nothing, number)


def start_daemon(
    work: Callable[[], None] = bounds.wait, *, forks: int = 2, session: bool = True, pipes: bool = False
) -> None:
    """Have `work` done by a process of its own session that holds the pipes only if it is told to."""
    child = os.fork()
    if child:
        if forks > 1:
            os.waitpid(child, 0)
        return
    if session:
        os.setsid()
    if forks > 1 and os.fork():
        os._exit(0)
    bounds.keep(bounds.DAEMON_LIFE, alone=True)
    if not pipes:
        _let_go(0, 1, 2)
    work()
    os._exit(0)


def _a_few_times(start: Callable[[], None]) -> Callable[[], None]:
    """`start`, but only as often as a target may start a process."""
    started = [0]

    def limited() -> None:
        if started[0] < bounds.MOST_CHILDREN:
            started[0] += 1
            start()

    return limited


def _become_another() -> None:
    """Be another program with an empty environment."""
    os.execve(sys.executable, [sys.executable, "-c", f"import time; time.sleep({bounds.DAEMON_LIFE})"], {})


def _deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    bounds.wait()


@target(statuses=(0, 1), says=LEFT)
def daemon(server: Server) -> None:
    """Leaves a daemon (fork, setsid, fork) that holds none of the pipes."""
    server.after["start"] = start_daemon


@target(statuses=(0, 1), says=LEFT)
def daemon_with_pipes(server: Server) -> None:
    """Leaves a daemon that holds all three pipes."""
    server.after["start"] = lambda: start_daemon(pipes=True)


@target(statuses=(0, 1), says=LEFT)
def daemon_that_ignores_signals(server: Server) -> None:
    """Leaves a daemon that ignores SIGTERM, SIGHUP and SIGINT and holds the pipes."""
    server.after["start"] = lambda: start_daemon(_deaf, pipes=True)


@target(statuses=(0, 1), says=LEFT)
def child_in_session_of_its_own(server: Server) -> None:
    """Leaves a child in a session of its own."""
    server.after["start"] = lambda: start_daemon(forks=1)


@target(statuses=(0, 1), says=LEFT)
def child_in_the_group(server: Server) -> None:
    """Leaves a child in its own group that holds the pipes and ignores SIGTERM."""
    server.after["start"] = lambda: start_daemon(_deaf, forks=1, session=False, pipes=True)


@target(statuses=(0, 1), says=LEFT)
def daemon_for_each_request(server: Server) -> None:
    """Leaves a daemon for each of its first requests."""
    start, plain = _a_few_times(start_daemon), server.take
    server.take = lambda line: in_turn(start, lambda: plain(line))()


@target(statuses=(0, 1), says=LEFT)
def daemon_for_each_call(server: Server) -> None:
    """Leaves a daemon for each of the first calls of a tool."""
    server.before["tools/call"] = _a_few_times(lambda: start_daemon(pipes=True))


@target(statuses=(0, 1), says=LEFT)
def daemon_at_the_end(server: Server) -> None:
    """Starts a daemon when its input has ended, and goes."""
    server.after["end"] = start_daemon


@target(statuses=(0, 1), says=LEFT)
def daemon_at_sigterm(server: Server) -> None:
    """Stays when its input ends and starts a daemon when it gets a SIGTERM."""
    _at_sigterm(server, start_daemon)


def _at_sigterm(server: Server, start: Callable[[], None]) -> None:
    """Stay when the input ends; at a SIGTERM `start` and go."""

    def hand_over(_number: int, _frame: object) -> None:
        start()
        os._exit(0)

    def stay() -> None:
        signal.signal(signal.SIGTERM, hand_over)
        bounds.wait()

    server.after["end"] = stay


@target(statuses=(0, 1), says=LEFT)
def daemon_without_environment(server: Server) -> None:
    """Leaves a daemon that is another program, with an empty environment."""
    server.after["start"] = lambda: start_daemon(_become_another)


@target(statuses=(0, 1), says=LEFT)
def daemon_without_environment_at_sigterm(server: Server) -> None:
    """Starts such a daemon when it gets a SIGTERM."""

    _at_sigterm(server, lambda: start_daemon(_become_another))


@target(statuses=(0, 1), says=LEFT)
def daemon_at_exit(server: Server) -> None:
    """Starts a daemon that holds the pipes while its run-time goes down."""
    import atexit

    atexit.register(lambda: start_daemon(pipes=True))


@target(statuses=(0, 1), says=LEFT)
def daemon_that_is_never_the_same(server: Server) -> None:
    """Leaves a daemon that hands over to a child of its own ten times a second, for a minute."""

    def hand_over() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.1)
            if os.fork():
                os._exit(0)
            os.setsid()
            bounds.keep(bounds.DAEMON_LIFE, alone=True)

    server.after["start"] = lambda: start_daemon(hand_over)


@target(statuses=(0, 1), says=LEFT)
def daemon_that_writes(server: Server) -> None:
    """Leaves a daemon that writes log messages to stdout ten times a second, also when the server is gone."""

    def tell() -> None:
        for _ in range(10 * bounds.DAEMON_LIFE):
            time.sleep(0.1)
            server.tell("notifications/message", {"level": "info", "data": "still here"})

    server.after["start"] = lambda: start_daemon(tell, pipes=True)


@target()
def serves_from_a_daemon(server: Server) -> None:
    """Goes into the background: a daemon serves, and the process that was started ends at once."""

    def go() -> None:
        if os.fork():
            os._exit(0)
        os.setsid()
        if os.fork():
            os._exit(0)
        bounds.keep(bounds.DAEMON_LIFE, alone=True)

    server.after["start"] = go


@target()
def serves_from_a_deaf_daemon(server: Server) -> None:
    """Goes into the background, ignores signals, and stays when its input has ended."""
    serves_from_a_daemon(server)
    server.after["end"] = _deaf


@target()
def serves_from_a_child(server: Server) -> None:
    """Has a child in a session of its own serve, and waits for it."""

    def go() -> None:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            os._exit(0)
        os.setsid()
        bounds.keep()

    server.after["start"] = go


@target()
def starts_anew_what_is_killed(server: Server) -> None:
    """Has a child serve, and starts another one whenever that ends, up to five times."""

    def go() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for _ in range(bounds.MOST_CHILDREN):
            child = os.fork()
            if not child:
                bounds.keep()
                return
            os.waitpid(child, 0)
        os._exit(0)

    server.after["start"] = go


@target(statuses=(0, 1), says=LEFT)
def twenty_children(server: Server) -> None:
    """Leaves twenty processes, each in a session of its own, children of each other."""

    def breed() -> None:
        for _ in range(19):
            if os.fork():
                break
            os.setsid()
            bounds.keep(bounds.DAEMON_LIFE, alone=True)
        bounds.wait()

    server.after["start"] = lambda: start_daemon(breed)


@target(statuses=(0, 1))
def zombies(server: Server) -> None:
    """Starts fifty children that end at once, and waits for none of them."""

    def breed() -> None:
        for _ in range(50):
            if not os.fork():
                os._exit(0)

    server.after["start"] = breed


@target(statuses=(0, 1))
def daemon_that_ends(server: Server) -> None:
    """Leaves a daemon that ends by itself a second later."""
    server.after["start"] = lambda: start_daemon(lambda: time.sleep(1))


@target(statuses=(0, 1), says=LEFT)
def busy_daemon(server: Server) -> None:
    """Leaves a daemon that keeps a core busy."""

    def work() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pass

    server.after["start"] = lambda: start_daemon(work)


@target(statuses=(0, 1), says=LEFT)
def stopped_daemon(server: Server) -> None:
    """Leaves a daemon that has stopped itself (SIGSTOP) and holds the pipes."""

    def stop() -> None:
        signal.signal(signal.SIGCONT, lambda _number, _frame: os._exit(0))
        bounds.stop(bounds.DAEMON_LIFE)
        bounds.wait()

    server.after["start"] = lambda: start_daemon(stop, pipes=True)


vary(
    "processes",
    """
    daemon daemon-that-ignores-signals daemon-for-each-request daemon-at-sigterm daemon-without-environment
    daemon-that-is-never-the-same serves-from-a-daemon serves-from-a-deaf-daemon starts-anew-what-is-killed
    twenty-children
    """,
)
