"""`--watch` in a real terminal."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import pexpect
from fronts import conform

HERE = Path(__file__).resolve().parent
WAITS = "Watching .*; Ctrl-C ends"


def watching(folder: Path, program: str) -> pexpect.spawn[str]:
    words = ["-m", "conformance", "--server", shlex.join([sys.executable, program]), "--cwd", str(folder)]
    words += ["--only", "jsonrpc/version-member", "--revision", "2025-11-25", "--watch"]
    return pexpect.spawn(sys.executable, words, encoding="utf-8", timeout=120, dimensions=(40, 200))


def test_a_change_starts_another_run_which_tells_what_is_new_and_what_is_fixed(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    shutil.copy(HERE / "servers" / "picky.py", server)
    sound = server.read_text()
    child = watching(tmp_path, "server.py")
    child.expect(WAITS)
    server.write_text(sound.replace('"2.0"', "2.0", 1))
    child.expect("server.py changed")
    child.expect("Since the last run: ")
    child.expect(r"new   violation jsonrpc/version-member \(2025-11-25 stdio\): a message does not say")
    child.expect(WAITS)
    server.write_text(sound)
    child.expect(r"fixed violation jsonrpc/version-member")
    child.expect(WAITS)
    (tmp_path / "notes.txt").write_text("x")
    child.expect("notes.txt changed")
    child.expect("Since the last run: nothing changed")
    child.expect(WAITS)
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_what_the_server_itself_writes_does_not_start_runs_for_ever(tmp_path: Path) -> None:
    picky = (HERE / "servers" / "picky.py").read_text()
    (tmp_path / "server.py").write_text(
        picky.replace("import sys\n", "import sys\nopen('runs.log', 'a').write('x')\n", 1)
    )
    child = watching(tmp_path, "server.py")
    child.expect(WAITS)
    before = len((tmp_path / "runs.log").read_text())
    (tmp_path / "notes.txt").write_text("x")
    child.expect("notes.txt changed")
    child.expect(WAITS)
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert len((tmp_path / "runs.log").read_text()) > before


def test_watch_keeps_its_own_json_report() -> None:
    done = conform("--server", "x", "--watch", "--json", "r.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mcp-conform: --json cannot be used with --watch, which keeps reports of its own\n"
