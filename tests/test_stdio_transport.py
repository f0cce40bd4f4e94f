"""The stdio transport against real processes, most of which misbehave."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator

import psutil
import pytest

from conformance.model import Limits, Target
from conformance.transports import Arrival, Ended, Ending, Inbox, Transport
from conformance.transports.memory import MemoryTransport
from conformance.transports.stdio import MAX_LINE, StdioTransport

PATIENCE = 120.0
"""Seconds; reached only if something is wrong."""
MIB = 1024 * 1024

LIMITS = Limits(shutdown=20.0)
HASTY = Limits(shutdown=0.3, quiet=0.2)
ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
DEAF = "import signal, sys; print('ready', flush=True)\nwhile True: signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + DEAF
SLEEPER = "import time; time.sleep(600)"

Start = Callable[..., StdioTransport]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a Python script, or a whole command, behind a transport that is closed at the end."""
    started: list[StdioTransport] = []

    def begin(script: str = "", *, command: tuple[str, ...] = (), limits: Limits = LIMITS) -> StdioTransport:
        transport = StdioTransport(Target(command or (sys.executable, "-c", script)), limits)
        transport.start()
        started.append(transport)
        return transport

    yield begin
    for transport in started:
        transport.close()


def line(transport: Transport) -> bytes:
    """The next line; anything else fails."""
    event = transport.receive(PATIENCE)
    assert isinstance(event, Arrival), event
    return event.data


def end(transport: Transport) -> Ended:
    """The end, which must be the next event."""
    event = transport.receive(PATIENCE)
    assert isinstance(event, Ended), event
    return event


def within_patience(action: Callable[[], object]) -> None:
    """Fail instead of hanging if `action` blocks."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it blocks"


def lives(pid: int) -> bool:
    """Whether the process still runs."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_lines_arrive_in_order_without_their_newline(start: Start) -> None:
    transport = start(ECHO)
    transport.send(b"one")
    transport.send(b"two\r\n")
    transport.write(b"thr")
    transport.write(b"ee\n\n")
    assert [line(transport) for _ in range(4)] == [b"one", b"two\r", b"three", b""]


def test_nothing_within_the_time_given_is_none(start: Start) -> None:
    assert start(ECHO).receive(0.01) is None


def test_a_transport_started_in_one_thread_is_used_in_another() -> None:
    transport = StdioTransport(Target((sys.executable, "-c", ECHO)), LIMITS)
    starter = threading.Thread(target=transport.start)
    starter.start()
    starter.join(PATIENCE)
    transport.send(b"hello")
    assert line(transport) == b"hello"
    transport.close()


def test_closing_input_ends_a_good_server_by_itself(start: Start) -> None:
    transport = start(ECHO)
    transport.send(b"last")
    transport.end_input()
    assert line(transport) == b"last"
    assert end(transport).reason == "the server exited with code 0"
    ending = transport.close()
    assert (ending.how, ending.code, ending.orphans) == ("closed", 0, ())
    assert transport.close() is ending


def test_input_is_closed_only_after_all_that_was_queued_is_written(start: Start) -> None:
    transport = start("import sys; print(len(sys.stdin.buffer.read()))")
    for _ in range(3):
        transport.send(b"x" * MIB)
    transport.end_input()
    assert line(transport) == b"%d" % (3 * (MIB + 1))


def test_nothing_is_sent_after_input_was_closed(start: Start) -> None:
    transport = start(ECHO)
    transport.end_input()
    transport.send(b"too late")
    assert end(transport).reason == "the server exited with code 0"


def test_a_server_that_exits_at_once_is_reported_with_its_traceback(start: Start) -> None:
    transport = start("raise RuntimeError('no token given')")
    ended = end(transport)
    assert ended.reason.startswith("the server exited with code 1; its stderr ends with: ")
    assert "RuntimeError: no token given" in ended.reason
    assert "Traceback (most recent call last)" in transport.stderr()
    assert transport.close().how == "died"


def test_a_signal_that_killed_the_server_is_named(start: Start) -> None:
    transport = start("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert end(transport).reason == "the server was killed by SIGSEGV"
    ending = transport.close()
    assert (ending.how, ending.code) == ("died", -signal.SIGSEGV)


def test_a_line_without_newline_is_kept_until_the_process_ends(start: Start) -> None:
    transport = start("import sys; sys.stdout.write('whole\\nhalf'); sys.stdout.flush(); sys.exit(7)")
    assert line(transport) == b"whole"
    ended = end(transport)
    assert ended.partial == b"half"
    assert ended.reason == "the server exited with code 7"


def test_a_server_that_closes_its_stdout_and_runs_on_is_told_from_one_that_exits(start: Start) -> None:
    transport = start("import os, sys; os.close(1); sys.stdin.read()", limits=Limits(quiet=0.05))
    assert end(transport).reason == "the server closed its stdout and still runs"


def test_writing_to_a_dead_server_is_no_error(start: Start) -> None:
    transport = start("")
    assert end(transport).reason == "the server exited with code 0"
    transport.send(b"x" * MIB)
    transport.end_input()
    assert transport.close().how == "died"


def test_a_line_of_200_mb_is_cut_and_memory_stays_bounded(start: Start) -> None:
    tracemalloc.start()
    try:
        transport = start(
            f"import os, sys\nfor _ in range(200): sys.stdout.buffer.write(b'x' * {MIB})\nprint('\\nnext', flush=True)"
        )
        event = transport.receive(PATIENCE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(event, Arrival)
    assert (len(event.data), event.omitted) == (MAX_LINE, 200 * MIB - MAX_LINE)
    assert line(transport) == b"next"
    assert peak < 40 * MIB


@pytest.mark.parametrize("size", [100 * 1024, 5 * MIB])
def test_megabytes_on_stderr_block_nobody_and_the_last_64_kib_are_kept(start: Start, size: int) -> None:
    transport = start(f"import sys; sys.stderr.write('x' * {size} + ' the end'); print('ready'); sys.exit(1)")
    assert line(transport) == b"ready"
    assert end(transport).reason.endswith("the end")
    assert len(transport.stderr()) == 64 * 1024


def test_a_flood_on_stdout_waits_outside_and_closing_ends_it(start: Start) -> None:
    tracemalloc.start()
    try:
        transport = start("import os\nwhile True: os.write(1, b'x' * 4000 + b'\\n')", limits=HASTY)
        for _ in range(20_000):
            assert len(line(transport)) == 4000
        within_patience(transport.close)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert transport.close().how in ("terminated", "killed")
    assert peak < 64 * MIB


def test_a_server_that_stops_reading_blocks_neither_sending_nor_closing(start: Start) -> None:
    transport = start(DEAF, limits=HASTY)
    assert line(transport) == b"ready"

    def send_and_close() -> None:
        for _ in range(3):
            transport.send(b"x" * MIB)
        transport.end_input()
        transport.close()

    within_patience(send_and_close)
    assert transport.close().how in ("terminated", "killed")


def test_a_server_that_ignores_closed_input_and_sigterm_is_killed(start: Start) -> None:
    transport = start(STUBBORN, limits=HASTY)
    assert line(transport) == b"ready"
    ending = transport.close()
    assert (ending.how, ending.code) == ("killed", -signal.SIGKILL)
    assert ending.seconds >= 2 * HASTY.shutdown


@pytest.mark.parametrize("detached", [False, True], ids=["same group", "own session"])
def test_a_process_left_behind_is_ended_and_named(start: Start, detached: bool) -> None:
    transport = start(
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {SLEEPER!r}], start_new_session={detached})\n"
        "print(child.pid, flush=True); sys.stdin.read()",
        limits=Limits(quiet=0.2),
    )
    pid = int(line(transport))
    transport.end_input()
    assert end(transport).reason == "the server exited with code 0; something that it started still holds its stdout"
    ending = transport.close()
    assert (ending.how, ending.code) == ("closed", 0)
    assert [name.endswith(SLEEPER) for name in ending.orphans] == [True]
    assert not lives(pid)


def test_a_dead_server_is_noticed_though_its_child_holds_stdout(start: Start) -> None:
    transport = start(
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {SLEEPER!r}], stderr=subprocess.DEVNULL)\n"
        "sys.exit('out of luck')",
        limits=HASTY,
    )
    reason = end(transport).reason
    assert reason.startswith("the server exited with code 1; its stderr ends with: out of luck")
    assert reason.endswith("; something that it started still holds its stdout")
    ending = transport.close()
    assert (ending.how, len(ending.orphans)) == ("died", 1)


def test_a_launcher_that_leaves_with_0_may_let_another_process_serve(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.transports.stdio.SETTLE", 0.02)
    command = ("sh", "-c", f"exec 3<&0; {shlex.join((sys.executable, '-c', ECHO))} <&3 2>/dev/null & exit 0")
    transport = start(command=command)
    assert transport._process is not None
    assert transport._process.wait(PATIENCE)
    assert transport.receive(0.5) is None
    transport.send(b"still here")
    assert line(transport) == b"still here"
    transport.close()


def test_a_server_behind_a_shell_ends_by_itself_and_leaves_nothing(start: Start) -> None:
    transport = start(command=("sh", "-c", f"{shlex.join((sys.executable, '-c', ECHO))}; exit 0"))
    transport.send(b"hello")
    assert line(transport) == b"hello"
    ending = transport.close()
    assert (ending.how, ending.code, ending.orphans) == ("closed", 0, ())


def test_a_stubborn_server_behind_a_shell_is_ended_too(start: Start) -> None:
    script = STUBBORN.replace("'ready'", "__import__('os').getpid()")
    command = ("sh", "-c", f"{shlex.join((sys.executable, '-c', script))}; exit 0")
    transport = start(command=command, limits=Limits(shutdown=2.0, quiet=0.2))
    pid = int(line(transport))
    ending = transport.close()
    assert ending.how == "terminated"
    assert len(ending.orphans) == 1
    assert not lives(pid)


def test_closing_what_was_never_started_is_allowed() -> None:
    assert StdioTransport(Target(("anything",)), LIMITS).close() == Ending("closed")


def test_a_full_inbox_makes_the_sender_wait_until_there_is_room() -> None:
    inbox = Inbox()
    half = Arrival("stdout", b"", 0.0)
    for _ in range(3):
        inbox.put(half, Inbox.MAX_BYTES // 2)
    sender = threading.Thread(target=inbox.put, args=(half, 1), daemon=True)
    sender.start()
    sender.join(0.05)
    assert sender.is_alive()
    assert [inbox.get(0) for _ in range(3)] == [half] * 3
    assert inbox.get(PATIENCE) is half
    sender.join(PATIENCE)
    assert not sender.is_alive()


def test_an_end_enters_a_full_inbox_at_once() -> None:
    inbox = Inbox()
    for _ in range(2):
        inbox.put(Arrival("stdout", b"", 0.0), Inbox.MAX_BYTES)
    within_patience(lambda: inbox.put(Ended(0.0, "gone")))
    assert [type(inbox.get(0)) for _ in range(3)] == [Arrival, Arrival, Ended]


def test_an_inbox_opened_wide_drops_what_does_not_fit() -> None:
    inbox = Inbox()
    inbox.open_wide()
    for _ in range(4):
        inbox.put(Arrival("stdout", b"", 0.0), Inbox.MAX_BYTES)
    assert [inbox.get(0) is None for _ in range(3)] == [False, False, True]


def test_the_memory_transport_keeps_the_same_contract() -> None:
    transport = MemoryTransport(lambda data: [data.upper(), b"and more"])
    transport.start()
    transport.say(b"unasked")
    transport.send(b"one")
    transport.write(b"tw")
    transport.write(b"o\n")
    expected = [b"unasked", b"ONE", b"and more", b"TWO", b"and more"]
    assert [line(transport) for _ in expected] == expected
    assert transport.receive(0) is None
    transport.end_input()
    transport.send(b"too late")
    assert end(transport).reason == "the server exited with code 0"
    assert transport.close() == Ending("closed", 0)


def test_a_memory_target_may_die() -> None:
    transport = MemoryTransport(lambda data: [])
    transport.die("the server was killed by SIGSEGV")
    assert end(transport).reason == "the server was killed by SIGSEGV"
    assert transport.close() == Ending("died")


def test_the_work_of_a_server_and_of_what_it_started_is_counted(start: Start) -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass\nprint(1, flush=True)"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); print(2, flush=True); input()"
    transport = start(script)
    assert [line(transport), line(transport)] == [b"1", b"2"]
    assert transport.used().seconds >= 0.3
