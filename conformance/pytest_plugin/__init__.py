"""The other front: pytest shows what the one engine finds out, a test for each requirement put to the test.

Public hooks only. Nothing of the suite is imported before a server is named.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from conformance.pytest_plugin.options import active, add
from conformance.pytest_plugin.warning import ConformanceWarning

if TYPE_CHECKING:
    from conformance.pytest_plugin.client import McpServer
    from conformance.pytest_plugin.collection import Plan

__all__ = ["ConformanceWarning"]

FIXTURE = "mcp_server"
UNNAMED = "mcp_server: name the server, with --mcp-server COMMAND or mcp_server in the configuration file"
FOLDER = "mcp_conform_folder"
MARKERS = (
    "mcp_area(name): the requirement is of this area of the specification",
    "mcp_level(name): the requirement is a MUST, MUST NOT, SHOULD or SHOULD NOT",
    "mcp_must: the requirement is a MUST or a MUST NOT",
)

_plan: pytest.StashKey[Plan] = pytest.StashKey()
_folder: pytest.StashKey[str] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and the same in the configuration file."""
    add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and take the ids of our items out of what pytest is to look for in files."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if active(config):
        from conformance.pytest_plugin.ids import take_ids

        take_ids(config)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Read the catalogue; what is wrong with the options is told before anything is started."""
    if active(session.config):
        from conformance.pytest_plugin.ids import chosen

        if chosen(session.config) is not None:
            _plan_of(session.config)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What is left out, and why."""
    plan = config.stash.get(_plan, None)
    return [] if plan is None else [f"mcp-conform: {note}" for note in plan.notes]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add our items, for -k, -m and --lf to choose from."""
    plan = config.stash.get(_plan, None)
    if plan is not None:
        items.extend(plan.collect(session))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """What is left is what will be asked for."""
    plan = session.config.stash.get(_plan, None)
    if plan is not None:
        plan.expect(session.items)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give each worker of pytest-xdist the folder in which they leave results for each other."""
    config: pytest.Config = node.config
    if active(config):
        import tempfile

        if _folder not in config.stash:
            config.stash[_folder] = tempfile.mkdtemp(prefix="mcp-conform-")
        node.workerinput[FOLDER] = config.stash[_folder]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    if _folder in config.stash:
        import shutil

        shutil.rmtree(config.stash[_folder], ignore_errors=True)


def _plan_of(config: pytest.Config) -> Plan:
    """What there is to test; made when it is needed, which takes half a second."""
    if _plan not in config.stash:
        from conformance.pytest_plugin.collection import Plan

        config.stash[_plan] = Plan(config, str(getattr(config, "workerinput", {}).get(FOLDER, "")))
    return config.stash[_plan]


# -- the fixture for tests of one's own


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that uses the fixture is run with each of several servers."""
    if FIXTURE in metafunc.fixturenames and active(metafunc.config):
        names = [server.name for server in _plan_of(metafunc.config).servers]
        if len(names) > 1:
            metafunc.parametrize("_mcp_server_name", names, scope="session", indirect=True)


@pytest.fixture(scope="session")
def _mcp_server_name(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", ""))


@pytest.fixture(scope="session")
def _mcp_server_started(request: pytest.FixtureRequest, _mcp_server_name: str) -> Iterator[McpServer]:
    if not active(request.config):
        pytest.fail(UNNAMED, pytrace=False)
    from conformance.pytest_plugin.client import McpServer

    server = McpServer(next(each for each in _plan_of(request.config).servers if each.name == _mcp_server_name))
    yield server
    server.close()


@pytest.fixture
def mcp_server(request: pytest.FixtureRequest, _mcp_server_started: McpServer) -> McpServer:
    """A session with the MCP server under test: `mcp_server.request("tools/list").matches({"result": {}})`.

    One process serves all tests; one that has ended is started again for the next test.
    """
    _mcp_server_started.begin(request.node.nodeid)
    return _mcp_server_started


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """What the server has broken while a test talked to it fails that test."""
    server: McpServer | None = pyfuncitem.funcargs.get(FIXTURE)  # type: ignore[assignment]
    if server is None:
        return (yield)
    try:
        result = yield
    except Exception:
        for title, text in server.observed():
            pyfuncitem.add_report_section("call", title, text)
        raise
    if broken := server.broken(pyfuncitem):
        pytest.fail(broken, pytrace=False)
    return result
