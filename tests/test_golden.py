"""Golden reports of the reference server with a fault: `reports/example/`, as README shows them.

`python tests/test_golden.py` writes them anew; look at the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parent.parent / "reports" / "example"
SERVER = f"{sys.executable} -m conformance.reference --fault structured-content-wrong"
OPTIONS = ["--call-tools", "all", "--revision", "2025-11-25", "--only", "tools", "--fuzz", "0"]
WRITTEN = {
    "json": "report.json",
    "junit": "junit.xml",
    "markdown": "report.md",
    "sarif": "report.sarif",
    "badge": "badge.svg",
}
FILES = (*WRITTEN.values(), "terminal.txt")

MASKS = (
    (re.escape(sys.executable), "python"),
    (r'"(seconds|at)": [0-9.e-]+', r'"\1": 0.0'),
    (r'"(first|last|sent|received)": \d+', r'"\1": 0'),
    (r'"session": "stdio-\d+"', '"session": "stdio-0"'),
    (r'("shownBy": )\{[^}]*\}', r"\1{}"),
    (r'"(started|timestamp|startTimeUtc|endTimeUtc)": "[^"]*"', r'"\1": "2026-01-01T00:00:00Z"'),
    (r' (time|timestamp)="[^"]*"', r' \1="0"'),
    (r"\b\d+\.\d+ s\b", "0.0 s"),
    (r" +(?=0\.0 s)", " "),
    (r'(\\?"id\\?":)\d+', r"\g<1>0"),  # tasks are polled as long as they take
)
"""What differs from run to run, and what stands for it."""


def masked(text: str) -> str:
    """`text` without what differs from run to run."""
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text


def written(folder: Path) -> dict[str, str]:
    """The reports of a run, as the command line gives them to a pipe."""
    reports = [word for kind, name in WRITTEN.items() for word in (f"--{kind}", name)]
    command = [sys.executable, "-m", "conformance", "--server", SERVER, *OPTIONS, *reports]
    environment = {**os.environ, "COLUMNS": "110"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=300)
    (folder / "terminal.txt").write_text(done.stdout)
    return {name: masked((folder / name).read_text()) for name in FILES}


@pytest.fixture(scope="module")
def reports() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        return written(Path(folder))


@pytest.mark.parametrize("name", FILES)
def test_the_report_is_as_published(name: str, reports: dict[str, str]) -> None:
    assert reports[name] == (EXAMPLE / name).read_text()


def test_the_failure_that_readme_explains_is_one_of_the_report() -> None:
    readme = (EXAMPLE.parent.parent / "README.md").read_text("utf-8")
    shown = re.search(r"^    violation .*?(?=^\S)", readme, re.M | re.S)
    assert shown is not None
    lines = textwrap.dedent(shown[0]).strip().split("\n")
    pattern = "\n".join(".*".join(map(re.escape, line.split("…"))) for line in lines)
    assert re.search(f"^{pattern}$", (EXAMPLE / "terminal.txt").read_text("utf-8"), re.M)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for file, text in written(Path(place)).items():
            (EXAMPLE / file).write_text(text)
