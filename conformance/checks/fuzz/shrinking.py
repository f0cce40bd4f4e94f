"""The smallest example that shows the same defect, found by Hypothesis."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from conformance.checks.fuzz.choices import Choices
from conformance.checks.fuzz.imports import importing

T = TypeVar("T")

_KEY = b"mcp-conform"


def smallest(make: Callable[[Choices], T], row: Sequence[int], still: Callable[[T], bool], first: T) -> T:
    """The simplest example like `first`, which `make` makes of the choices `row`, for which `still` is true.

    `still` must give the same answer for the same example. It is Hypothesis that tries; if it cannot, that is `first`.
    """
    with importing:
        _import_hypothesis()
        from hypothesis import HealthCheck, Phase, find, settings
        from hypothesis import strategies as st
        from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
        from hypothesis.errors import Flaky, HypothesisException

    class Asked:
        def __init__(self, draw: Callable[[Any], Any]) -> None:
            self._draw = draw

        def below(self, limit: int) -> int:
            return 0 if limit <= 1 else int(self._draw(st.integers(0, limit - 1)))

    made = st.composite(lambda draw: _Box(make(Asked(draw))))
    database = InMemoryExampleDatabase()
    # What lies under the first key counts as shrunk already.
    database.save(_KEY + b".secondary", choices_to_bytes(tuple(row)))
    how = settings(
        database=database,
        derandomize=False,
        deadline=None,
        max_examples=500,
        phases=(Phase.reuse, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        return find(made(), lambda box: still(box.content), settings=how, database_key=_KEY).content
    except (Flaky, HypothesisException):
        return first


class _Box(Generic[T]):
    """Hypothesis writes out what it tries, which may be a megabyte; not so a box."""

    def __init__(self, content: T) -> None:
        self.content = content

    def __repr__(self) -> str:
        return "an example"


def _import_hypothesis() -> None:
    """Import Hypothesis so that it writes nothing, unless the user runs it himself."""
    if "hypothesis" in sys.modules:
        return
    from hypothesis.configuration import set_hypothesis_home_dir

    # No folder can be made there; it does without what it would keep. A temporary one would have to be removed however
    # we end.
    set_hypothesis_home_dir(Path(os.devnull, "hypothesis"))
    from hypothesis.errors import HypothesisDeprecationWarning

    # Two threads that shrink at once look to it like a use of the module random.
    warnings.filterwarnings("ignore", category=HypothesisDeprecationWarning)
