"""Real servers: what mcp-conform finds in each is the reviewed list, no more and no less.

The lists are in findings/<name>.yaml. An entry has the requirement, its severity, and `why` it is a true finding, with
the specification's words. A finding outside the list is our bug until it is proven and entered; an entry that
no longer occurs must go.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from real_servers import HERE, REAL, SERVERS, Server, found, report_on, reviewed

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not (REAL / "installed.json").exists(), reason="run tests/real/install.py first"),
]


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_a_real_server_has_the_reviewed_findings_and_no_other(server: Server, tmp_path: Path) -> None:
    if server.command[0] == "node" and shutil.which("node") is None:
        pytest.skip("node is not installed")
    report = report_on(server, tmp_path)
    assert sorted({run["era"] for run in report["runs"]}) == sorted(server.eras)
    assert found(report) == reviewed(server, report)


def test_there_is_a_list_for_each_server_and_no_other() -> None:
    names = {path.stem for path in (HERE / "findings").glob("*.yaml")}
    assert names == {server.name for server in SERVERS}
