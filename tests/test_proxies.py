"""A proxy in the environment: whether somebody listens is asked of it, since the server may be out of reach."""

from __future__ import annotations

import socket

import pytest

from conformance.target.listening import reach
from conformance.transports import StartError

NAMES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the user's."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def proxy() -> tuple[socket.socket, str]:
    """Somebody who listens."""
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
def test_a_server_behind_a_proxy_need_not_be_known_here(
    name: str, proxy: tuple[socket.socket, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listener, at = proxy
    monkeypatch.setenv(name, f"http://{at}")
    with listener:
        reach("http://server.invalid/mcp")


def test_a_proxy_that_is_not_there_is_named_without_its_password(
    proxy: tuple[socket.socket, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listener, at = proxy
    listener.close()
    monkeypatch.setenv("http_proxy", f"http://me:secret@{at}")
    with pytest.raises(StartError) as refused:
        reach("http://server.invalid/mcp")
    assert f"cannot connect to the proxy {at}, which the environment names for http" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_host_that_the_environment_excepts_is_reached_itself(
    proxy: tuple[socket.socket, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listener, at = proxy
    monkeypatch.setenv("http_proxy", f"http://{at}")
    monkeypatch.setenv("no_proxy", "server.invalid")
    with listener, pytest.raises(StartError, match=r"cannot connect to server\.invalid:80"):
        reach("http://server.invalid/mcp")
