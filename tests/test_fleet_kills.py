"""`mcp-conform fleet` when something is killed: nothing is lost, nothing is tested twice that was finished."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from distributed.comm import connect
from distributed.security import Security
from fleets import Lists, dask, lines_of
from fronts import conform

from conformance.fleet.cluster import local

PATIENCE = 60
"""Seconds in which what was killed, and all that came of it, has to be gone."""


@pytest.fixture
def lists(tmp_path: Path) -> Lists:
    """Three sound servers."""
    made = Lists(tmp_path)
    for number in range(3):
        made.add(f"server-{number}")
    return made


def until_first(run: subprocess.Popen[str]) -> list[str]:
    """What a run says up to its first result."""
    assert run.stdout is not None
    told = []
    for line in run.stdout:
        told.append(line)
        if line.startswith("1/"):
            return told
    raise AssertionError("".join(told))


def finished(lists: Lists) -> dict[str, bytes]:
    """The results that there are, which must be whole."""
    found = {path.stem: path.read_bytes() for path in (lists.out / "results").glob("*.json")}
    for data in found.values():
        json.loads(data)
    return found


def assert_all_tested_once(lists: Lists, before: dict[str, bytes], started: dict[str, int]) -> None:
    """All servers have one result; those that were finished have the same one, and were not started again."""
    summary = lists.summary()
    assert [row["name"] for row in summary["servers"]] == sorted(server["name"] for server in lists.servers)
    assert summary["counts"]["passed"] == len(lists.servers) and summary["complete"]
    assert len(finished(lists)) == len(lists.servers)
    for key, data in before.items():
        assert finished(lists)[key] == data
        assert lines_of(lists.journal)[key] == started[key]


def family_of(process: int) -> list[psutil.Process]:
    """A process and all that came of it."""
    parent = psutil.Process(process)
    return [parent, *parent.children(recursive=True)]


def assert_gone(processes: list[psutil.Process]) -> None:
    """They end, and nobody had to end them."""
    left = psutil.wait_procs(processes, timeout=PATIENCE)[1]
    assert [process.cmdline() for process in left if process.status() != psutil.STATUS_ZOMBIE] == []


@contextmanager
def ended(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> Iterator[None]:
    """Whatever happens, the process does not outlive the block."""
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_a_run_whose_driver_is_killed_leaves_no_process_and_goes_on_where_it_was(lists: Lists) -> None:
    run = lists.begin("--workers", "2")
    with ended(run):
        until_first(run)
        family = family_of(run.pid)
        run.kill()
    assert_gone(family)
    before, started = finished(lists), lines_of(lists.journal)
    assert 0 < len(before) < len(lists.servers)
    again = conform(*lists.words("--workers", "2"))
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"{len(before)} finished before" in again.stdout
    assert_all_tested_once(lists, before, started)


def test_a_server_whose_worker_was_killed_is_tested_by_another_one(lists: Lists) -> None:
    run = lists.begin("--workers", "1")
    with ended(run):
        until_first(run)
        before, started = finished(lists), lines_of(lists.journal)
        worker = next(p for p in psutil.Process(run.pid).children() if "spawn_main" in " ".join(p.cmdline()))
        worker.kill()
        rest = run.stdout.read() if run.stdout else ""
        assert run.wait(PATIENCE) == 0, rest
    assert "a worker died while it was tested (once)" in rest
    assert_all_tested_once(lists, before, started)


def test_a_server_that_kills_its_worker_three_times_is_not_tested_and_the_others_are(lists: Lists) -> None:
    lists.add("deadly", script="deadly.py")
    done = conform(*lists.words("--workers", "2"), timeout=240)
    assert done.returncode == 3, done.stdout + done.stderr
    assert lists.row("deadly")["outcome"] == "not tested"
    assert lists.row("deadly")["reason"] == "its worker died 3 times while it was tested"
    assert lists.summary()["counts"] == {"passed": 3, "failed": 0, "incomplete": 0, "not tested": 1}
    assert lists.result("deadly")["attempts"] == 3
    started = lines_of(lists.journal)["deadly"]  # it ends at once, so that an attempt may start it once more
    again = conform(*lists.words())
    assert "4 finished before" in again.stdout
    assert lines_of(lists.journal)["deadly"] == started >= 3


@contextmanager
def cluster() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler, and its address; it has a worker."""
    scheduler = dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    with ended(scheduler):
        assert scheduler.stderr is not None
        said = ""
        for line in scheduler.stderr:
            said += line
            if found := re.search(r"Scheduler at: *(tcp://\S+)", line):
                break
        else:
            raise AssertionError(said)
        worker = dask("worker", found[1], "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
        with ended(worker):
            yield scheduler, found[1]


def test_a_run_whose_scheduler_is_killed_says_so_and_goes_on_with_another_one(lists: Lists) -> None:
    with cluster() as (scheduler, address):
        run = lists.begin("--scheduler", address)
        with ended(run):
            until_first(run)
            before, started = finished(lists), lines_of(lists.journal)
            scheduler.kill()
            rest = run.stdout.read() if run.stdout else ""
            assert run.wait(PATIENCE) == 3
        assert "the scheduler does not answer any more; the same command goes on where this run was" in rest
        assert "Traceback" not in rest
        assert lists.summary()["complete"] is False
    with cluster() as (_, address):
        again = conform(*lists.words("--scheduler", address))
        assert again.returncode == 0, again.stdout + again.stderr
    assert_all_tested_once(lists, before, started)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_writes_what_was_learned_and_leaves_no_process(lists: Lists, number: signal.Signals) -> None:
    run = lists.begin("--workers", "2")
    with ended(run):
        until_first(run)
        family = family_of(run.pid)
        os.killpg(run.pid, number) if number is signal.SIGINT else run.send_signal(number)
        rest = run.stdout.read() if run.stdout else ""
        assert run.wait(PATIENCE) == 3, rest
    assert_gone(family[1:])
    assert "Traceback" not in rest and "Interrupted: this is what was learned until then." in rest
    summary = lists.summary()
    assert summary["complete"] is False
    assert summary["counts"]["passed"] == len(finished(lists)) > 0
    assert "the run was interrupted before it was tested" in {row["reason"] for row in summary["servers"]}
    assert "Interrupted" in (lists.out / "index.html").read_text()


def test_nobody_else_can_talk_to_the_cluster_of_a_run() -> None:
    with local(1) as client:
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        stranger = Security.temporary().get_connection_args("client")
        stranger["ssl_context"].verify_mode = ssl.CERT_NONE  # so that it is the cluster that refuses
        for other, credentials in ((address, stranger), (address.replace("tls:", "tcp:"), {})):
            with pytest.raises(OSError):
                client.sync(connect, other, timeout=3, **credentials)
        client.sync(connect, address, timeout=30, **client.security.get_connection_args("client")).abort()
        assert client.submit(sum, [1, 2]).result() == 3


def test_two_runs_at_the_same_time_do_not_take_each_others_port() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with local(1), local(1) as client:
            assert client.submit(sum, [1, 2]).result() == 3
