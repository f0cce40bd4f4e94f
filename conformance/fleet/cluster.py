"""The Dask cluster: one of this machine's own, or one that is running. Only what is imported here imports Dask."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

import dask
from distributed import Client, LocalCluster, get_worker
from distributed.security import Security

from conformance import __version__
from conformance.fleet.choice import programs_in
from conformance.fleet.trial import Job, Tried, sweep, try_server
from conformance.model import UsageError

PREFIX = "mcp-conform-dask"
ANSWER = 10
"""Seconds in which a scheduler has to answer."""
JOIN = 60
"""Seconds in which a worker has to be there."""
QUIET = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.profile.enabled": False,
    "distributed.diagnostics.computations.max-history": 1,
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.preload": ["conformance.fleet.worker"],
    "distributed.comm.timeouts.connect": "30s",
}
"""We count ourselves how many workers die of a server, and bound the memory of its processes. What Dask notes of each
task for its dashboard would only take memory, and to look at itself 50 times a second takes 3 % of a core."""


@contextlib.contextmanager
def local(workers: int) -> Iterator[Client]:
    """A cluster of processes of this machine; it is gone at the end.

    Only its own processes can talk to it: servers that are tested share the network with it, even inside a sandbox.
    """
    logging.disable()  # what Dask logs is told by us, if it matters
    sweep(PREFIX)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix=f"{PREFIX}-{os.getpid()}-", ignore_cleanup_errors=True)
        )
        stack.enter_context(dask.config.set({**QUIET, "temporary-directory": folder}))
        security = Security.temporary()
        with _uninterrupted():
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                protocol="tls",
                security=security,
                dashboard_address="127.0.0.1:0",  # with None it takes port 8787, and warns if another run has it
                scheduler_kwargs={"dashboard": False},
                worker_dashboard_address=None,
                memory_limit=None,
                silence_logs=logging.CRITICAL + 1,
                local_directory=folder,
            )
        stack.callback(_close, cluster)
        client = Client(cluster, set_as_default=False)
        stack.callback(_close, client)
        yield client


def _close(what: Client | LocalCluster) -> None:
    """That it cannot be closed in time changes nothing: all results are on disk, and its processes end with ours."""
    with contextlib.suppress(Exception):
        what.close()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """What is started meanwhile does not mind the Ctrl-C of a terminal, which goes to all processes; nor do we."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def remote(address: str) -> Iterator[Client]:
    """A cluster that is running. Raises UsageError if it cannot be used."""
    logging.disable()  # what Dask logs is told by us, if it matters
    try:
        client = Client(address, timeout=f"{ANSWER}s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--scheduler: nobody answers at {address}: {str(error).splitlines()[0]}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=JOIN)
        except (TimeoutError, OSError):
            raise UsageError(f"--scheduler: no worker has joined {address}") from None
        yield client


def programs_at(address: str) -> frozenset[str]:
    """The programs for packages that each worker of a cluster can run. Raises UsageError."""
    with remote(address) as client:
        return frozenset.intersection(*on_all(client, programs_in, "none"))


def on_all(client: Client, what: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What a function returns on each worker. Raises UsageError if a worker has another version of the suite."""
    try:
        versions = set(client.run(_version).values())
    except Exception as error:
        raise UsageError(
            f"the workers cannot use mcp-conform: {str(error).splitlines()[0]}; install it there"
        ) from None
    if wrong := versions - {__version__}:
        raise UsageError(f"the workers have mcp-conform {', '.join(wrong)}, not {__version__}: install the same there")
    return list(client.run(what, *arguments).values())


def _version() -> str:
    return __version__


def attempt(job: Job) -> Tried | None:
    """What a worker does: test a server, unless nobody wants to know any more."""
    worker = get_worker()
    key = worker.get_current_task()

    def unwanted() -> bool:
        if worker.status.name not in ("running", "paused", "init"):
            return True
        task = worker.state.tasks.get(key)
        return task is None or task.state not in ("executing", "long-running")

    return try_server(job, unwanted)
