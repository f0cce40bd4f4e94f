"""A server on stdio that is far away: `far_away.py SECONDS COMMAND…` passes on what it says that much later."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time


def main(seconds: float, command: list[str]) -> int:
    """Run the command until its input ends; its exit status."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stdin, stdout = server.stdin, server.stdout
    assert stdin is not None
    assert stdout is not None
    under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def hear() -> None:
        for line in iter(stdout.readline, b""):
            under_way.put((time.monotonic() + seconds, line))
        under_way.put((0.0, b""))

    def pass_on() -> None:
        while (each := under_way.get())[1]:
            time.sleep(max(0.0, each[0] - time.monotonic()))
            sys.stdout.buffer.write(each[1])
            sys.stdout.buffer.flush()

    threads = [threading.Thread(target=hear), threading.Thread(target=pass_on)]
    for thread in threads:
        thread.start()
    for line in iter(sys.stdin.buffer.readline, b""):
        stdin.write(line)
        stdin.flush()
    stdin.close()
    for thread in threads:
        thread.join()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
