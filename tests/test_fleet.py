"""`mcp-conform fleet`: what is made of a list of servers, at the front door."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fleets import LITTLE, Lists, lines_of
from fronts import SERVER, conform
from jsonschema import Draft202012Validator

from conformance.files.places import SCHEMAS
from conformance.fleet.sandbox import Sandbox

SECRET = "kx7-Zq41-vv90-Lm2p-Yt83"

MAKE_SOME = """\
import os, sys, time
kind = sys.argv[1]
if kind == "memory":
    block = bytearray(500_000_000)
    block[::4096] = bytes([1]) * len(block[::4096])
elif kind == "disk":
    open("big", "wb").write(os.urandom(1_000_000) * 60)
elif kind in ("processes", "shared"):
    block = bytearray(100_000_000)
    block[::4096] = bytes([1]) * len(block[::4096])
    for _ in range(40 if kind == "processes" else 10):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
time.sleep(60)
"""
"""A server that uses too much of something, and says nothing."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lists, Any]:
    """A run over servers of several kinds, and what it said."""
    lists = Lists(tmp_path_factory.mktemp("fleet"))
    lists.add("sound", version="1.2")
    lists.add("Böse/Server <b>", "--fault", "description-null")
    lists.listed({"name": "absent", "server": "no-such-program-anywhere"})
    lists.listed({"name": "unset", "server": "true", "env": {"KEY": "$NO_SUCH_VARIABLE"}})
    lists.listed({"name": "silent", "server": "false"})
    lists.add("secretive", env={"API_KEY": "$FLEET_KEY"})
    tell = "import os, sys; sys.exit('the key is ' + os.environ['API_KEY'])"
    lists.listed({"name": "telling", "server": [sys.executable, "-c", tell], "env": {"API_KEY": "$FLEET_KEY"}})
    done = conform(*lists.words("--workers", "2"), env={"FLEET_KEY": SECRET})
    return lists, done


def test_each_server_of_a_list_gets_its_result(ran: tuple[Lists, Any]) -> None:
    lists, done = ran
    assert done.returncode in (1, 3), done.stdout + done.stderr
    summary = lists.summary()
    Draft202012Validator(json.loads((SCHEMAS / "fleet.json").read_text())).validate(summary)
    assert {row["name"]: row["outcome"] for row in summary["servers"]} == {
        "sound": "passed",
        "Böse/Server <b>": "failed",
        "absent": "not tested",
        "unset": "not tested",
        "silent": "not tested",
        "secretive": "passed",
        "telling": "not tested",
    }
    assert summary["complete"]
    assert summary["counts"] == {"passed": 2, "failed": 1, "not tested": 4, "incomplete": 0}


def test_what_cannot_be_started_is_said_before_anything_runs(ran: tuple[Lists, Any]) -> None:
    lists, done = ran
    told = done.stdout.splitlines()
    first = next(number for number, line in enumerate(told) if line.startswith("1/"))
    before = "\n".join(told[:first])
    assert "absent: cannot be tested here: the command 'no-such-program-anywhere' was not found" in before
    assert "unset: cannot be tested here" in before and "NO_SUCH_VARIABLE is not set" in before
    assert "not found" in lists.row("absent")["reason"]


def test_a_result_holds_a_report_that_is_valid(ran: tuple[Lists, Any]) -> None:
    lists, _ = ran
    report = lists.result("sound")["report"]
    Draft202012Validator(json.loads((SCHEMAS / "report.json").read_text())).validate(report)
    assert report["runs"][0]["verdicts"]


def test_a_finding_is_shown_again_without_the_list_of_servers_and_without_telling_a_secret(tmp_path: Path) -> None:
    lists = Lists(tmp_path)
    lists.add("broken", "--fault", "description-null", env={"API_KEY": "$FLEET_KEY"})
    conform(*lists.words(), env={"FLEET_KEY": SECRET})
    run = lists.result("broken")["report"]["runs"][0]
    failed = next(each for each in run["verdicts"] if each["severity"] == "violation")
    assert '--env "API_KEY=${API_KEY:?must be set}"' in failed["reproduce"]
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "API_KEY": SECRET}
    line = ["sh", "-c", failed["reproduce"]]
    again = subprocess.run(line, cwd=tmp_path, env={**os.environ, **here}, capture_output=True, text=True, timeout=120)
    assert again.returncode == 1, again.stderr
    assert failed["requirement"] in again.stdout


def test_a_name_that_is_no_file_name_gets_one_of_its_own(ran: tuple[Lists, Any]) -> None:
    lists, _ = ran
    key = lists.row("Böse/Server <b>")["key"]
    assert key.startswith("b-se-server-b-")
    assert {path.name for path in (lists.out / "reports").iterdir()} >= {f"{key}.html", "sound.html"}
    assert (lists.out / "badges" / f"{key}.svg").read_text().startswith("<svg")


def test_no_file_holds_a_secret_or_the_name_of_the_scratch_folder(ran: tuple[Lists, Any]) -> None:
    lists, done = ran
    assert SECRET not in done.stdout + done.stderr
    assert "the key is ***FLEET_KEY***" in lists.row("telling")["reason"]
    for path in lists.out.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert SECRET.encode() not in data, path
            assert b"mcp-conform-fleet-" not in data, path


def test_the_results_are_in_two_tables(ran: tuple[Lists, Any]) -> None:
    lists, _ = ran
    servers = pq.read_table(lists.out / "servers.parquet").to_pylist()
    assert [row["name"] for row in servers] == [row["name"] for row in lists.summary()["servers"]]
    verdicts = pq.read_table(lists.out / "verdicts.parquet").to_pylist()
    assert {row["key"] for row in verdicts} >= {"sound", "secretive"}
    broken = {row["requirement"] for row in verdicts if row["severity"] == "violation"}
    assert broken == set(lists.row("Böse/Server <b>")["broken"]["violation"])


def test_what_is_finished_is_not_tested_again(ran: tuple[Lists, Any]) -> None:
    lists, _ = ran
    started = lines_of(lists.journal)
    again = conform(*lists.words(), env={"FLEET_KEY": SECRET})
    assert "0 to be tested" in again.stdout and "5 finished before" in again.stdout
    assert lines_of(lists.journal) == started


def test_a_folder_that_another_run_works_in_is_left_alone(tmp_path: Path) -> None:
    import fcntl

    lists = Lists(tmp_path)
    lists.add("one")
    lists.out.mkdir()
    with (lists.out / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = conform(*lists.words())
    assert done.returncode == 2
    assert "another mcp-conform fleet works in" in done.stderr
    assert not lists.journal.exists()


def test_each_server_gets_a_scratch_home_and_only_the_environment_that_it_was_given(tmp_path: Path) -> None:
    spy = tmp_path / "spy.py"
    spy.write_text("import json, os, sys; json.dump({**os.environ, 'cwd': os.getcwd()}, open(sys.argv[1], 'w'))")
    (tmp_path / "list.yaml").write_text(
        f"- name: spy\n  server: [{sys.executable}, {spy}, {tmp_path / 'seen'}]\n\n"
        "  env: {GIVEN: $ONE, PLAIN: two, ONCE_MORE: $KEPT}\n"
    )
    env = {"ONE": "one", "LEFT_OUT": "three", "KEPT": "four", "HTTPS_PROXY": ""}
    conform("fleet", tmp_path / "list.yaml", "--out", tmp_path / "out", "--keep-env", "KEPT", *LITTLE, env=env)
    seen = json.loads((tmp_path / "seen").read_text())
    assert (seen["GIVEN"], seen["PLAIN"], seen["KEPT"]) == ("one", "two", "four")
    assert "ONE" not in seen  # it is given as GIVEN
    assert "LEFT_OUT" not in seen and "PYTEST_CURRENT_TEST" not in seen
    assert seen["PATH"] == os.environ["PATH"]
    scratch = Path(seen["HOME"]).parent
    assert Path(seen["cwd"]) == scratch / "work" and not scratch.exists()


def test_a_server_that_uses_too_much_is_ended_and_the_report_says_why(tmp_path: Path) -> None:
    lists = Lists(tmp_path)
    (tmp_path / "much.py").write_text(MAKE_SOME)
    kinds = ("memory", "disk", "processes", "shared", "time")
    for kind in kinds:
        lists.listed({"name": kind, "server": [sys.executable, str(tmp_path / "much.py"), kind]})
    limits = ("--memory", "400MB", "--disk", "50MB", "--processes", "30", "--time", "8")
    done = conform(*lists.words("--workers", "2", *limits))
    assert done.returncode == 3, done.stdout + done.stderr
    told = {name: lists.row(name)["reason"] for name in kinds}
    assert "its processes used more than 400 MB of memory" in told["memory"]
    assert "it wrote more than 50 MB to disk" in told["disk"]
    assert "it had more than 30 processes" in told["processes"]
    assert told["time"] == told["shared"] != ""  # what processes have in common counts once
    assert {lists.row(name)["outcome"] for name in told} == {"not tested"}


def test_a_compact_folder_holds_what_failed_and_neither_pages_nor_parquet(tmp_path: Path) -> None:
    lists = Lists(tmp_path)
    lists.add("broken", "--fault", "description-null")
    conform(*lists.words("--compact"))
    result = lists.result("broken")
    run = result["report"]["runs"][0]
    assert {verdict["verdict"] for verdict in run["verdicts"]} == {"failed"}
    assert list((lists.out / "reports").iterdir()) == []
    assert list(lists.out.glob("*.parquet")) == []
    row = lists.row("broken")
    assert len(row["broken"]["violation"]) and row["tested"] >= len(run["verdicts"])
    assert 'href="results/broken.json"' in (lists.out / "index.html").read_text()


def test_trends_and_differences_between_two_runs(tmp_path: Path) -> None:
    lists = Lists(tmp_path)
    lists.add("worse")
    lists.add("gone")
    conform(*lists.words("--workers", "2"))
    first = tmp_path / "first.json"
    first.write_bytes((lists.out / "summary.json").read_bytes())
    same = conform("fleet", "diff", first, lists.out)
    assert same.returncode == 0 and same.stdout == "Nothing changed.\n"
    lists.servers = []
    lists.add("worse", "--fault", "description-null")
    again = conform(*lists.words("--again"))
    assert ": 1 server with more violations.\n" in again.stdout
    assert lists.row("worse")["trend"] == [0]
    assert lists.summary()["earlier"][0]["counts"]["passed"] == 2
    done = conform("fleet", "diff", first, lists.out)
    assert done.returncode == 1
    assert "worse: passed → failed" in done.stdout and "gone: passed → not listed" in done.stdout
    as_json = json.loads(conform("fleet", "diff", first, lists.out, "--json").stdout)
    assert as_json["exit"] == 1 and {row["name"]: row["worse"] for row in as_json["servers"]} == {
        "worse": True,
        "gone": False,
    }


WRONG = {
    "an element without a name": ("- server: 'true'\n", ":1: each server needs a name"),
    "an unknown key": ("- name: a\n  servr: b\n", ":2: 'servr' is not known"),
    "nothing to start": ("- name: a\n  env: {A: b}\n", ":1: a: needs server or url"),
    "a name twice": ("- {name: a, server: 'true'}\n- {name: a, server: 'true'}\n", "'a' is listed twice"),
    "something else": ("hello: world\n", "lists no servers"),
    "no YAML": ("- [", "is not valid YAML"),
}


@pytest.mark.parametrize("text, told", WRONG.values(), ids=WRONG)
def test_a_wrong_list_is_wrong_use_and_says_where(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text(text)
    done = conform("fleet", "list.yaml", "--out", "out", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert told in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


MISUSED = {
    "a pattern that matches nothing": (("--only", "no/such-thing"), "no/such-thing"),
    "workers of a cluster that is not ours": (("--scheduler", "tcp://127.0.0.1:1", "--workers", "2"), "--workers"),
    "an image without a container": (("--image", "x"), "--image is for --sandbox docker"),
    "a size": (("--memory", "lots"), "'lots' is not a size such as 512MB or 2GB"),
    "a name that is not listed": (("--name", "nobody"), "no server that is listed is called 'nobody'"),
    "a scheduler that is not there": (("--scheduler", "tcp://127.0.0.1:1"), "nobody answers at tcp://127.0.0.1:1"),
}


@pytest.mark.parametrize("words, told", MISUSED.values(), ids=MISUSED)
def test_wrong_options_are_told_before_anything_runs(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text(f"- {{name: a, server: {SERVER}}}\n")
    done = conform("fleet", "list.yaml", "--out", "out", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert told in done.stderr


def test_without_the_extra_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text(f"- {{name: a, server: {SERVER}}}\n")
    hidden = "import sys, importlib.util as u; f = u.find_spec\n"
    hidden += "u.find_spec = lambda n, p=None: None if n in ('distributed', 'pyarrow') else f(n, p)\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)
    done = conform("fleet", "list.yaml", "--out", "out", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("mcp-conform: fleet needs distributed, pyarrow: pip install 'mcp-conformance[fleet]'\n")


def test_a_client_configuration_is_a_list_too(tmp_path: Path) -> None:
    command, *args = SERVER.split()
    servers = {"one": {"command": command, "args": args}, "off": {"command": "x", "disabled": True}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    done = conform("fleet", "mcp.json", "--out", "out", *LITTLE, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "off is disabled and was not tested" in done.stdout
    assert "1/1 one: passed" in done.stdout


def test_inside_bubblewrap_only_the_scratch_folder_can_be_written_and_homes_are_not_seen(tmp_path: Path) -> None:
    if problem := Sandbox("bwrap").why_not_usable():
        pytest.skip(problem)
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("")
    code = (
        "import os, sys\n"
        "def tries(do):\n"
        "    try:\n"
        "        do()\n"
        "    except OSError:\n"
        "        return 'no'\n"
        "    return 'yes'\n"
        f"told = [tries(lambda: open({str(SCHEMAS / 'new')!r}, 'w')), tries(lambda: open({str(home / 'secret')!r})),\n"
        "        tries(lambda: open('here', 'w')), tries(lambda: os.kill(int(sys.argv[1]), 0))]\n"
        "sys.exit(' '.join(told))\n"
    )
    server = [sys.executable, "-c", code, str(os.getpid())]
    (tmp_path / "list.json").write_text(json.dumps([{"name": "nosy", "server": server}]))
    words = ("--sandbox", "bwrap", *LITTLE)
    done = conform("fleet", tmp_path / "list.json", "--out", tmp_path / "out", *words, env={"HOME": str(home)})
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["sandbox"] == "bwrap", done.stdout + done.stderr
    assert "no no yes no" in summary["servers"][0]["reason"]


def test_a_sandbox_that_is_not_there_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text(f"- {{name: a, server: {SERVER}}}\n")
    done = conform("fleet", "list.yaml", "--out", "out", "--sandbox", "bwrap", cwd=tmp_path, env={"PATH": ""})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mcp-conform: --sandbox bwrap: the command bwrap was not found; install bubblewrap\n"


FORGED = """\
import json, os, sys
reports = os.path.join(os.environ["HOME"], "..", "reports")
kind = sys.argv[1]
if kind == "link":
    os.symlink(sys.argv[2], os.path.join(reports, "report.html"))
    os.symlink(sys.argv[2], os.path.join(reports, "report.json"))
elif kind == "folder":
    os.rename(reports, reports + "-before")
    os.symlink(os.path.dirname(sys.argv[2]), reports)
elif kind == "nonsense":
    json.dump({"report": 1, "runs": [{}]}, open(os.path.join(reports, "report.json"), "w"))
os.mkdir("closed")
open("closed/file", "w").close()
os.chmod("closed", 0o500)
os.kill(os.getppid(), 9)
"""
"""A server that puts something else in place of its reports and kills mcp-conform, which cannot write them then."""


def test_what_a_server_puts_in_place_of_its_reports_is_not_taken_for_them(tmp_path: Path) -> None:
    (tmp_path / "forged.py").write_text(FORGED)
    (tmp_path / "private").mkdir()
    for name in ("report.html", "report.json"):
        (tmp_path / "private" / name).write_text("private words")
    kinds = ("link", "folder", "nonsense")
    words = [sys.executable, str(tmp_path / "forged.py")]
    listed = [{"name": kind, "server": [*words, kind, str(tmp_path / "private" / "report.html")]} for kind in kinds]
    (tmp_path / "list.json").write_text(json.dumps(listed))
    done = conform(
        "fleet", "list.json", "--out", "out", *LITTLE, cwd=tmp_path, env={"TMPDIR": str(tmp_path / "private")}
    )
    assert done.returncode == 3, done.stdout + done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert {row["name"]: row["outcome"] for row in summary["servers"]} == dict.fromkeys(kinds, "not tested")
    assert {row["reason"] for row in summary["servers"]} == {"mcp-conform ended with exit status -9: it said nothing"}
    for path in (tmp_path / "out").rglob("*"):
        assert not path.is_file() or b"private words" not in path.read_bytes(), path
    assert sorted(path.name for path in (tmp_path / "private").iterdir()) == ["report.html", "report.json"]


def test_a_run_goes_on_when_nobody_reads_what_it_says(tmp_path: Path) -> None:
    lists = Lists(tmp_path)
    lists.add("one")
    run = lists.begin()
    assert run.stdout is not None
    run.stdout.readline()
    run.stdout.close()
    status = run.wait(120)  # all that matters is in the folder
    assert (status, lists.row("one")["outcome"]) == (0, "passed"), lists.summary()
