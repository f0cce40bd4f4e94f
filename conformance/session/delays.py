"""How much of a wait is the machine's fault: while it has other work, an answer comes late from a quick server, too."""

from __future__ import annotations

from conformance.session.patience import NOTABLE
from conformance.system.process_table import held_up_here
from conformance.transports import Transport


class Delays:
    """How long the target of one session, and who waits for it, were ready to work and had no core."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._before = 0.0

    def shifted(self, began: float, ended: float) -> float:
        """When a wait between two moments of the monotonic clock would have begun, had a core always been free.

        It is looked up only where the wait is worth counting, so that some of it may be of the time before.
        """
        if ended - began < NOTABLE:
            return began
        so_far = self._transport.held_up() + held_up_here()
        since, self._before = max(0.0, so_far - self._before), so_far
        return min(ended, began + since)
