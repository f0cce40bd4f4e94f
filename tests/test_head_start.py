"""The target that is started before the suite is loaded: once, only when it is wanted, and never left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fronts import conform

from conformance.cli.head_start import head_start
from conformance.engine.options import Invocation, Options
from conformance.model import Target

SLEEPER = Target((sys.executable, "-c", "import time; time.sleep(600)"))
COUNTED = "echo started >> {}; exec " + f"{sys.executable} -m conformance.reference"


def counted(file: Path) -> str:
    """A command that starts the reference server and adds a line to `file`."""
    return f'sh -c "{COUNTED.format(file)}"'


def test_the_target_that_was_started_first_is_the_one_that_is_tested(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    done = conform("--server", counted(starts), "--quick", "--revision", "2025-11-25")
    assert done.returncode == 0, done.stderr
    assert starts.read_text() == "started\n"


@pytest.mark.parametrize(
    "words",
    [
        ("--only", "no/such"),
        ("--skip", "*"),
        ("--profile", "nobody"),
        ("--revision", "2020-01-01"),
        ("--json", "/nonexistent/report.json"),
    ],
    ids=lambda words: words[0],
)
def test_wrong_use_starts_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    starts = tmp_path / "starts"
    assert conform("--server", counted(starts), *words).returncode == 2
    assert not starts.exists()


def test_a_target_that_the_run_did_not_come_to_is_ended() -> None:
    with pytest.raises(KeyboardInterrupt), head_start(Invocation(SLEEPER, Options(), {})) as started:
        raise KeyboardInterrupt
    assert started is not None
    assert started.close().how == "terminated"


def test_what_cannot_be_started_is_left_for_the_run_to_tell() -> None:
    with head_start(Invocation(Target(("/nonexistent/server",)), Options(), {})) as started:
        assert started is None
