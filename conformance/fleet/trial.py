"""The test of one server, on a worker: a run of `mcp-conform` in a scratch folder, held to its limits.

The run is a process of its own, so that nothing of it can hurt the worker: neither a server, nor our own engine.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from jsonschema_rs import Draft202012Validator

from conformance import __version__
from conformance.files.places import SCHEMAS
from conformance.fleet.bundles import Bundle, Unusable, unpacked
from conformance.fleet.limits import Limits, Used, Watch, size_of
from conformance.fleet.sandbox import Sandbox
from conformance.model import Json
from conformance.reporters.json_report import readable
from conformance.system.processes import Family
from conformance.target.inherited import WITHHELD
from conformance.target.mask import Mask

LOOK = 0.25
"""Seconds between two looks at what the run uses."""
LEAVE = 5.0
"""Seconds in which a run that was told to end may write what it learned."""
GRACE = 20.0
"""Seconds beyond its own time limit after which a run is told to end."""

KEPT = ("PATH", "LANG", "LANGUAGE", "TZ", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "DOCKER_HOST")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
PREFIX = "mcp-conform-fleet"
SCRATCH = "/scratch"
"""What reports say instead of the scratch folder, whose name is another one each time."""
MOST = 32 * 1024 * 1024
"""Bytes of a report that is kept."""
REPORTS = "reports"

SAID = {
    "server",
    "url",
    "transport",
    "env",
    "headers",
    "token-env",
    "other-tokens",
    "timeout",
    "call-tools",
    "profiles",
}
"""Settings that the command which shows a finding again repeats."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to know. `settings` are a target file, `words` go to the command line.

    `keep` are names of variables that the run gets from the worker's environment, besides KEPT; `environment` is added.
    `bundle` is fetched first, and says how it is started.
    """

    key: str
    settings: Mapping[str, Json]
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    sandbox: Sandbox = field(default_factory=Sandbox)
    pages: bool = True
    bundle: Bundle | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a job. `report` is the JSON report, None without one; `reason` says then why there is none.

    `stopped` says how a limit ended the run, and `limit` which one. `page` and `badge` are files, None without one.
    `used` is as in Used.
    """

    key: str
    report: Json
    reason: str
    stopped: str
    seconds: float
    used: Mapping[str, int]
    page: bytes | None = None
    badge: bytes | None = None
    version: str = __version__
    limit: str = ""


def try_server(job: Job, cancelled: Callable[[], bool] = lambda: False) -> Tried | None:
    """Run the job; None if `cancelled` came to be true. Whatever happens, no process and no file is left."""
    sweep(PREFIX)
    began = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix=f"{PREFIX}-{os.getpid()}-")).resolve()
    try:
        for name in ("home", "work", "tmp", REPORTS):
            (scratch / name).mkdir()
        settings = job.settings
        if job.bundle is not None:
            try:
                made = unpacked(job.bundle, scratch, job.sandbox.seen(scratch))
            except Unusable as error:
                return Tried(job.key, None, str(error), "", time.monotonic() - began, asdict(Used()))
            settings = {**made, **settings, "env": {**made.get("env", {}), **settings.get("env", {})}}
        (scratch / "work" / "mcp-conform.yaml").write_text(json.dumps(settings, ensure_ascii=False), "utf-8")
        with _Run(replace(job, words=(*job.words, *_naming(job))), scratch) as run:
            stopped = run.play(cancelled)
            return None if stopped is None else run.result(stopped, time.monotonic() - began)
    finally:
        remove(scratch)


def _naming(job: Job) -> list[str]:
    """The server as words of the command line, which findings repeat: whoever reads them does not have the file.

    Nothing where more must be known of it than that, or where it is a secret.
    """
    server, url = job.settings.get("server", ()), job.settings.get("url", "")
    server = server if isinstance(server, str) else shlex.join(server)
    hidden = any(value in server or value in url for value in job.secrets)
    if job.bundle is not None or hidden or not job.settings.keys() <= SAID:
        return []
    return [*(["--server", server] if server else []), *(["--url", url] if url else [])]


def environment_of(job: Job, scratch: Path) -> dict[str, str]:
    """The environment of a run: of this process only what says how programs are found and how the network is reached.

    `scratch` is the scratch folder as the run sees it. What the entry refers to is for the run: the server gets it only
    as its entry says.
    """
    wanted = {*KEPT, *job.keep}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in wanted or name.lower() in PROXIES or name.startswith("LC_")
    }
    places = {"HOME": f"{scratch}/home", "TMPDIR": f"{scratch}/tmp", "PWD": f"{scratch}/work"}
    kept |= {name: place for name, place in places.items() if name not in job.keep}
    withheld = " ".join(sorted(job.environment.keys() - kept.keys() - wanted))
    return {**kept, **job.environment, **({WITHHELD: withheld} if withheld else {})}


class _Run:
    """One run of `mcp-conform` in a scratch folder.

    A server may put links in place of what is in that folder. So what is read from it later is opened before it runs.
    """

    def __init__(self, job: Job, scratch: Path) -> None:
        self._job = job
        self._scratch = scratch
        self._seen = job.sandbox.seen(scratch)
        self._status: int | None = None
        self._limit = ""
        self._used = Used()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._reports = os.open(scratch / REPORTS, os.O_RDONLY)

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._said.close()
        os.close(self._reports)

    def play(self, cancelled: Callable[[], bool]) -> str | None:
        """Run to the end; which limit ended it, "" if none did, None if it was cancelled."""
        job, reports = self._job, self._seen / REPORTS
        words = [*job.words, "--quiet", "--format", "text", "--time-limit", f"{job.limits.seconds:g}"]
        words += ["--json", f"{reports}/report.json"]
        if job.pages:
            words += ["--html", f"{reports}/report.html", "--badge", f"{reports}/badge.svg"]
        environment = environment_of(job, self._seen)
        command = job.sandbox.wrapped(words, self._scratch, environment, job.limits)
        family = Family(
            lambda marked: subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=subprocess.STDOUT,
                cwd=self._scratch / "work",
                env={**environment, **marked},
                start_new_session=True,
            )
        )
        try:
            return self._follow(family, cancelled)
        finally:
            if family.popen.poll() is None:
                _end(family.popen)
            job.sandbox.end(self._scratch)
            family.wait()
            family.end(0.0, LEAVE)
            self._status = family.popen.returncode

    def _follow(self, family: Family, cancelled: Callable[[], bool]) -> str | None:
        limits = self._job.limits
        later = Limits(limits.seconds + GRACE, limits.memory, limits.disk, limits.processes)
        watch = Watch(later, family.popen.pid, self._scratch)
        self._used = watch.used
        while True:
            try:
                family.popen.wait(LOOK)
                return ""
            except subprocess.TimeoutExpired:
                if cancelled():
                    return None
                if exceeded := watch.exceeded():
                    self._limit = watch.limit
                    return exceeded

    def result(self, stopped: str, seconds: float) -> Tried:
        """What the run left in its folder, without its secrets and the name of the folder."""
        report = _valid(self._file("report.json"))
        reason = "" if report is not None else self._reason(stopped)
        self._used.disk = max(self._used.disk, size_of(self._scratch))
        page, badge = self._file("report.html"), self._file("badge.svg")
        used = asdict(self._used)
        return Tried(self._job.key, report, reason, stopped, seconds, used, page, badge, limit=self._limit)

    def _reason(self, stopped: str) -> str:
        """Why there is no report."""
        if stopped:
            return f"its test was ended: {stopped}"
        self._said.seek(max(0, os.fstat(self._said.fileno()).st_size - 4096))
        said = self._clean(self._said.read()).decode("utf-8", "replace").strip().splitlines()
        last = next((line for line in reversed(said) if line.strip()), "it said nothing")
        return f"mcp-conform ended with exit status {self._status}: {last.removeprefix('mcp-conform: ')}"

    def _file(self, name: str) -> bytes | None:
        """A report; None if it was not written, or if it is too large."""
        try:
            opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._reports)
        except OSError:
            return None
        with open(opened, "rb") as file:  # noqa: PTH123 - a descriptor
            found = os.fstat(opened)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > MOST:
                return None
            return self._clean(file.read(MOST))

    def _clean(self, data: bytes) -> bytes:
        data = data.replace(os.fsencode(self._seen), SCRATCH.encode())
        if not self._job.secrets:
            return data
        return Mask(self._job.secrets).text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


@cache
def _validator() -> Any:
    return Draft202012Validator(json.loads((SCHEMAS / "report.json").read_text("utf-8")))


def _valid(text: bytes | None) -> Json:
    """The JSON report in a file; None if it is none: a server may have written it."""
    if text is None:
        return None
    try:
        report = json.loads(text)
        return readable(report) if _validator().is_valid(report) else None
    except (ValueError, RecursionError):
        return None


def remove(folder: Path) -> None:
    """Remove a folder, and what nobody may write in it."""
    for place, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(place) / name
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have it end: it writes what it learned, unless that takes too long."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(LEAVE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def sweep(prefix: str) -> None:
    """Remove temporary folders that processes have left which were killed: those named PREFIX-NUMBER-…, by process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}-*"):
        number = folder.name.removeprefix(f"{prefix}-").partition("-")[0]
        if number.isdigit() and not psutil.pid_exists(int(number)):
            remove(folder)
