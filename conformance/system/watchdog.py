"""Ends what this process has started, should this process end without doing so: killed outright, out of memory.

A shell waits at the other end of a pipe that only we hold: it starts in a millisecond wherever there is POSIX. A signal
at a parent's death would be Linux's alone, would belong to the thread that started the server, and would make each
start slower.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading

SCRIPT = r"""
trap '' HUP INT QUIT TERM
all=' '
while read -r word name; do
    case $all in
        *" $name "*) all="${all%% $name *} ${all#* $name }" ;;
    esac
    [ "$word" = leave ] || all="$all$name "
done
for name in $all; do
    kill -s KILL -- "$name"
done
looks=2
[ "$all" = ' ' ] && looks=1
for round in 1 2 3 4 5 6; do
    files=$(grep -slaF -- "$0" /proc/[0-9]*/environ)
    if [ ! "$files" ]; then
        looks=$((looks - 1))
        [ $looks -gt 0 ] || break
        sleep 1
    fi
    for file in $files; do
        read -r line <"${file%environ}stat" && line=${line##*) } && set -- $line && kill -s KILL -- "-$3"
    done
done
"""
"""Kills what it was told to guard and not to leave, and on Linux the groups of all that has `$0` in its environment.

Unless we have taken leave of everything it looks a second time: what we were just starting had no environment yet.
"""


class Watchdog:
    """Kills at our end, however it comes, the groups that it guards and all that has `mark` in its environment.

    Started when there is something to guard. Where there is no shell, nothing is guarded.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._lock = threading.Lock()
        self._shell: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    @property
    def pid(self) -> int | None:
        """The process of the shell, if it has been started."""
        return self._shell.pid if self._shell is not None else None

    def guard(self, group: int) -> None:
        """Kill this process group at our end."""
        with self._lock, contextlib.suppress(OSError):
            if self._shell is None:
                self._start()
        self._tell("guard", group)

    def leave(self, group: int) -> None:
        """The group is gone, its number may come to stand for another one."""
        self._tell("leave", group)

    def _start(self) -> None:
        self._shell = subprocess.Popen(
            ("/bin/sh", "-c", SCRIPT, self._mark),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,  # or what interrupts us would end it too
        )
        assert self._shell.stdin is not None
        self._pipe = self._shell.stdin.fileno()
        # A process that is forked off without a program of its own would hold the pipe open for us.
        os.register_at_fork(after_in_child=lambda: os.close(self._pipe))

    def _tell(self, word: str, group: int) -> None:
        if self._pipe >= 0:
            with contextlib.suppress(OSError):
                os.write(self._pipe, b"%s -%d\n" % (word.encode(), group))
