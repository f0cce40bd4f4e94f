"""What is built holds what it must and nothing else, and runs where nothing but it is installed."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from conformance import __version__

ROOT = Path(__file__).resolve().parent.parent
DATA = "conformance/_data/"

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of a test run have in common."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packaging"
    folder.mkdir(exist_ok=True)
    return folder


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, made by the worker that is the first to want it; the others wait for it."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = folder.with_suffix(".new")
            make(made)
            made.rename(folder)
    return folder


@pytest.fixture(scope="module")
def built(shared: Path) -> Path:
    """A folder with the sdist, and with the wheel that was built from it."""

    def build(folder: Path) -> None:
        done = run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=shared)
        assert done.returncode == 0, done.stdout + done.stderr

    return once(shared / "built", build)


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (file,) = built.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    (file,) = built.glob("*.tar.gz")
    return file


@pytest.fixture(scope="module")
def bare(shared: Path, wheel: Path) -> Path:
    """The programs of a virtual environment that holds the wheel and what it requires; without pip."""

    def install(folder: Path) -> None:
        # Programs name the folder of their environment, so it is made in its place, and a link to it is moved.
        environment = shared / "environment"
        venv.create(environment, with_pip=False, symlinks=True, clear=True)
        pip = [sys.executable, "-m", "pip", "--python", environment, "install", "--disable-pip-version-check"]
        done = run(*pip, "--quiet", "--no-compile", wheel, cwd=shared)
        assert done.returncode == 0, done.stdout + done.stderr
        folder.symlink_to(environment)

    return once(shared / "bare", install) / "bin"


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def of_the_checkout(*patterns: str) -> set[str]:
    found = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    return {str(path.relative_to(ROOT)) for path in found if "__pycache__" not in path.parts}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return message_from_bytes(archive.read(f"mcp_conformance-{__version__}.dist-info/METADATA"))


def test_the_wheel_holds_each_module_case_and_schema_and_nothing_else(wheel: Path) -> None:
    package = of_the_checkout("conformance/**/*")
    data = {DATA + name for name in of_the_checkout("cases/**/*", "schemas/**/*")}
    assert {name for name in names(wheel) if ".dist-info/" not in name} == package | data
    assert "conformance/py.typed" in package
    assert len(data) > 100


def test_the_wheel_has_its_licence_and_says_what_it_is(wheel: Path) -> None:
    said = metadata(wheel)
    assert f"mcp_conformance-{__version__}.dist-info/licenses/LICENSE" in names(wheel)
    assert said["License-Expression"] == "Apache-2.0"
    assert said["License-File"] == "LICENSE"
    assert said["Version"] == __version__
    assert said["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in (said.get_all("Classifier") or [])
    assert not [text for text in said.get_all("Classifier") or [] if text.startswith("License ::")]


def test_the_changelog_begins_with_the_version_that_is_built(wheel: Path) -> None:
    versions = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert versions[0] == metadata(wheel)["Version"]


def test_the_sdist_holds_what_is_needed_to_test_it_and_no_caches(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    needed = ["pyproject.toml", "tox.ini", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "action.yml",
              "Dockerfile", ".pre-commit-hooks.yaml", "ci/run-action.sh", "docs/ci.md"]  # fmt: skip
    kept = of_the_checkout("conformance/**/*", "cases/**/*", "schemas/**/*", "tests/*.py")
    assert {*needed, *kept} - held == set()
    unwanted = {".git", ".hypothesis", ".mypy_cache", ".pytest_cache", ".real", ".ruff_cache", ".tox", ".venv",
                "__pycache__", "dist", "node_modules"}  # fmt: skip
    assert not [name for name in held if unwanted & set(name.split("/"))]


def test_the_installed_package_tests_the_reference_server_in_an_empty_folder(bare: Path, tmp_path: Path) -> None:
    done = run(bare / "mcp-conform", "demo", "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Exit status 0" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_commands_of_the_installed_package_find_its_data(bare: Path, tmp_path: Path) -> None:
    assert run(bare / "mcp-conform", "list", cwd=tmp_path).stdout.count("\n") > 500
    assert (
        "tools/unknown-tool-refused"
        in run(bare / "mcp-conform", "explain", "tools/unknown-tool-refused", cwd=tmp_path).stdout
    )
    assert run(bare / "mcp-conform", "export", "exported", cwd=tmp_path).returncode == 0
    exported = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "exported").rglob("*.json")]
    assert len(exported) > 50
    assert run(bare / "python", "-m", "conformance", "--version", cwd=tmp_path).stdout == f"mcp-conform {__version__}\n"


def test_the_wheel_needs_none_of_what_the_tests_need(bare: Path, tmp_path: Path) -> None:
    ask = "import importlib.util as u; print([name for name in ('pytest', 'pexpect', 'trustme') if u.find_spec(name)])"
    assert run(bare / "python", "-c", ask, cwd=tmp_path).stdout == "[]\n"


def test_a_type_checker_sees_the_types_of_the_installed_package(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(
        "from conformance.model import Report\n\ndef f(r: Report) -> int: return r.version\n"
    )
    mypy = ["mypy", "--strict", "--no-incremental", "--python-executable", bare / "python", "user.py"]
    done = run(sys.executable, "-m", *mypy, cwd=tmp_path)
    assert 'Incompatible return value type (got "str", expected "int")' in done.stdout, done.stdout + done.stderr
    assert "Found 1 error" in done.stdout
