"""The order of the tests."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left with it while the others have nothing to do."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
