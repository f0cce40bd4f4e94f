"""Hostile words for Hypothesis, and what is harmless."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from servers import hostile_text

TEXTS = st.one_of(
    st.sampled_from(hostile_text.TEXTS),
    st.lists(
        st.sampled_from(
            [*hostile_text.SEPARATORS, "server: x", "# ", '"', "'", "\\", "\x1b[0m", "]]>", "\0", "\ud800"]
        ),
        max_size=6,
    ).map("".join),
    st.text(st.characters(exclude_categories=()), max_size=20),
)
"""Also lone surrogates and what is no character."""

NUMBERS = st.sampled_from(
    [0, 1, -1, 1.0, 0.1, 1e22, 5e-324, 10**400, -(2**63), True, False, float("inf"), float("nan")]
)
DATA = st.recursive(
    TEXTS | NUMBERS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
"""JSON, with what Python makes of numbers that are too large."""

often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def assert_harmless(text: str) -> None:
    """Whether it may be shown on a terminal or in an editor: nothing but printable characters and newlines."""
    wrong = {c for c in text if c != "\n" and not c.isprintable()}
    assert not wrong, sorted(map(ascii, wrong))


def exactly(value: Any) -> str:
    """A text that differs where 1, 1.0 and true do."""
    return json.dumps(value, sort_keys=False)
