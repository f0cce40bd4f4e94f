"""Fuzz campaigns: Hypothesis generates frames, a property judges what the target does with them.

A campaign is played like a probe. Only modules of this package import Hypothesis, and only when a campaign runs.
"""

from __future__ import annotations

import atexit
import sys
import tempfile
import threading

from conformance.probes import Bench, Probe

_importing = threading.Lock()


def _import_hypothesis() -> None:
    """Import Hypothesis so that it writes nothing into the user's folder, unless the user runs it himself."""
    if "hypothesis" in sys.modules:
        return
    from hypothesis.configuration import set_hypothesis_home_dir

    folder = tempfile.TemporaryDirectory(prefix="mcp-conform-")
    atexit.register(folder.cleanup)
    set_hypothesis_home_dir(folder.name)


def _malformed(bench: Bench) -> None:
    with _importing:
        _import_hypothesis()
    from conformance.fuzz.malformed import campaign

    campaign(bench)


CAMPAIGNS: dict[str, Probe] = {
    "fuzz.malformed": Probe("fuzz.malformed", ("jsonrpc/parse-error-code",), _malformed),
}
