"""Servers at URLs: starting one on a free port, and whether somebody listens."""

from __future__ import annotations

import contextlib
import random
import re
import socket
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from conformance.model import Limits, Target
from conformance.target.process import ServerProcess, StartError, left_behind
from conformance.target.urls import address, flaw, is_loopback

PORTS = range(20_000, 32_000)
"""Below the ports that systems give to outgoing connections, so that none of those takes a chosen port meanwhile."""

TRIES = 3
"""Ports that are tried, should somebody else take the chosen one meanwhile."""

GRACE = 2.0
"""Seconds in which a server whose port somebody else has is expected to end."""

TAKEN = re.compile(r"address already in use|EADDRINUSE|only one usage of each socket address|port .{0,20}in use", re.I)
"""What a server says that cannot have its port."""

_handed_out: set[int] = set()


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on, each time another. Raises StartError without one."""
    for port in random.sample(PORTS, 200):
        if port in _handed_out:  # another server is about to listen there
            continue
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            _handed_out.add(port)
            return port
    raise StartError("no free TCP port was found for {port}")


class RunningServer:
    """A target that serves a URL, started by us: `url` has the real port in it."""

    def __init__(self, target: Target, limits: Limits) -> None:
        self._given = target
        self._limits = limits
        self._process: ServerProcess | None = None
        self.left = ""
        """What it left behind when it was ended, for people."""
        self.url = ""
        self._choose()

    def _choose(self) -> None:
        """A port of its own, if the command leaves the choice to us."""
        port = str(free_port())
        self.url = self._given.url.replace("{port}", port)
        command = tuple(word.replace("{port}", port) for word in self._given.command)
        self._target = Target(command, self.url, self._given.env, self._given.cwd)

    @property
    def running(self) -> bool:
        """Whether the server has been started and has not ended."""
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int:
        """The number of its process, 0 if it does not run."""
        return self._process.popen.pid if self._process is not None else 0

    def start(self) -> None:
        """Start it and wait until it answers HTTP, with any status, at most `limits.start` seconds.

        If somebody else took the port that was chosen, another one is. Raises StartError, at once if the process ends.
        """
        for _ in range(TRIES if self._target.command != self._given.command else 1):
            reason = self._start()
            if not reason:
                return
            self._choose()
        raise StartError(reason)

    def _start(self) -> str:
        """Why it does not listen, if somebody else has the port; "" if it does. Raises StartError."""
        _, port = _address(self.url)
        self._process = process = ServerProcess(self._target, self._limits, stdio=False)
        deadline = time.monotonic() + self._limits.start
        while reason := _silence(self.url):
            if process.wait(0.02):
                taken = bool(TAKEN.search(process.stderr()))
                self.end()
                reason = f"before anything answered at {self.url}, {process.fate()}"
                if taken:
                    return reason
                raise StartError(reason)
            if time.monotonic() > deadline:
                self.end()
                waited = f"{self._limits.start:g} s after the server was started"
                raise StartError(f"{waited}, {reason}{process.last_words()}")
        # What answers may be somebody else, who was quicker: then the server ends. Of one in a container, where its
        # ports cannot be seen, that is waited for in vain.
        if not process.listens_at(port) and process.wait(GRACE):
            self.end()
            return f"something else answers at {self.url}, and {process.fate()}"
        return ""

    def refuses(self) -> bool:
        """Whether it runs and nobody listens at its URL."""
        if self.running:
            try:
                socket.create_connection(_address(self.url), timeout=5).close()
            except ConnectionRefusedError:
                return self.running
            except OSError:
                pass  # it may be busy
        return False

    def listens_at(self) -> tuple[str, ...]:
        """The addresses at which it listens at the port of its URL, as far as can be told."""
        return self._process.addresses(_address(self.url)[1]) if self._process is not None else ()

    def held_up(self) -> float:
        """Seconds that it was ready to run and waited for a core, as far as is known."""
        return self._process.held_up() if self._process is not None else 0.0

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
            how, orphans = process.end(0.0)
            self.left = left_behind(orphans) if how == "terminated" else ""


def reach(url: str) -> None:
    """Check that somebody listens at `url`, or at the proxy that the environment names for it. Raises StartError."""
    host, port = _address(url)
    proxy = _proxy(url, host)
    if proxy:
        try:
            socket.create_connection(_address(proxy), timeout=5).close()
        except OSError as error:
            # Without user and password, which may stand before the host.
            at = "{}:{}".format(*_address(proxy))
            raise StartError(
                f"cannot connect to the proxy {at}, which the environment names for {url.partition(':')[0]}: "
                f"{error.strerror or error}; with NO_PROXY={host} it is not used"
            ) from None
        return
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionRefusedError:
        raise StartError(f"connection refused at {host}:{port}; is the server running?") from None
    except OSError as error:
        raise StartError(f"cannot connect to {host}:{port}: {error.strerror or error}") from None


def _proxy(url: str, host: str) -> str:
    """The http or https proxy that the HTTP client uses for `url`, "" if none."""
    import urllib.request

    if is_loopback(host) or urllib.request.proxy_bypass(host):
        return ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(urlsplit(url).scheme) or proxies.get("all") or ""
    proxy = proxy if "://" in proxy or not proxy else f"http://{proxy}"
    return proxy if proxy.startswith(("http://", "https://")) else ""


def _address(url: str) -> tuple[str, int]:
    if wrong := flaw(url):
        raise StartError(f"{url!r} {wrong}")
    return address(url)


def _silence(url: str) -> str:
    """Why nothing answers HTTP at `url`, "" if something does. Asks for the root, so as not to touch MCP's own path."""
    import http.client
    import ssl

    host, port = _address(url)
    if url.startswith(("https:", "wss:")):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=2, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.connect()
    except OSError as error:
        return f"nothing listens at {host}:{port} ({error.strerror or error})"
    if url.startswith("ws"):  # it need not understand other requests
        connection.close()
        return ""
    try:
        connection.request("HEAD", "/")
        connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        return f"{host}:{port} accepts connections but does not answer HTTP ({str(error) or type(error).__name__})"
    finally:
        connection.close()
    return ""
