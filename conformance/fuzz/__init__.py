"""Fuzz campaigns: Hypothesis generates frames, a property judges what the target does with them.

A campaign is played like a probe. Only modules of this package import Hypothesis, and only when a campaign runs.
"""

from __future__ import annotations

from conformance.probes import Bench, Probe


def _malformed(bench: Bench) -> None:
    from conformance.fuzz.malformed import campaign

    campaign(bench)


CAMPAIGNS: dict[str, Probe] = {
    "fuzz.malformed": Probe("fuzz.malformed", ("jsonrpc/parse-error-code",), _malformed),
}
