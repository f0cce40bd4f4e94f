"""Which revisions a target is asked for, and in what order."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.engine import candidates
from conformance.engine.candidates import attempts, usual
from conformance.engine.stage import Stage
from conformance.model import Limits
from conformance.revisions import HTTP_SSE, STDIO, Revision
from conformance.transports import StartError


@pytest.mark.parametrize("transport", [STDIO, HTTP_SSE])
def test_what_is_asked_in_any_case_is_waited_for_at_the_same_time(
    transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "PATIENCE", 0.01)
    both = threading.Barrier(2)

    def begin(revision: Revision) -> Stage:
        both.wait(timeout=60)  # fails unless another one is waited for meanwhile
        raise StartError(f"nothing answers in {revision.date}")

    with ThreadPoolExecutor(4) as pool:
        (only,) = attempts(usual(transport) or ("newest",), transport, begin, Limits(), pool)
    assert only.fatal
