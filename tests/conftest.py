"""The order of the tests, and an environment that is the same everywhere."""

from __future__ import annotations

import os

import pytest

for _name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):  # of the pipeline that runs the tests: not their servers' runs
    os.environ.pop(_name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left with it while the others have nothing to do."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
