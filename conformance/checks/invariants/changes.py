"""Changes: a list that is no longer what it was in the same session has been announced as changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.capability import declared
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, elements, members
from conformance.session.session import Call, Session
from conformance.survey.picks import KEYS
from conformance.survey.survey import LISTS, capability_of, list_changed

_NAMES = {method: name for name, (method, _) in LISTS.items()}


@dataclass(slots=True)
class _Seen:
    """One list as it was read to its end; `proof` is the last request and its answer."""

    keys: set[str]
    proof: tuple[Frame, ...]


@dataclass(slots=True)
class _Reading:
    """A list over time: `seen` are the last two states that it was in, or fewer.

    `settled` is the reading that has shown the last once more, if there is one. The list is `restless` if there was
    none for one before (but for the first: a list with pages is seldom read to its end).
    """

    seen: list[_Seen] = field(default_factory=list)
    settled: tuple[Frame, ...] = ()
    restless: bool = False
    keys: set[str] = field(default_factory=set)
    cursor: Json = None

    def ended(self, proof: tuple[Frame, ...]) -> None:
        """Another reading has come to its end."""
        if self.seen and self.keys == self.seen[-1].keys:
            self.settled = self.settled or proof
            return
        self.restless = self.restless or (len(self.seen) > 1 and not self.settled)
        last = [] if self.restless else self.seen[-1:]
        self.seen, self.settled, self.keys = [*last, _Seen(self.keys, proof)], (), set()

    @property
    def changed(self) -> bool:
        """Whether it is another list now, and stays that."""
        return len(self.seen) > 1 and bool(self.settled)


class Changes(Watcher):
    """See the module. A server may take a while to notice: what has changed must show in a further reading, too.

    Over HTTP, what the server says of its own accord needs a stream, which cases ask for: it is theirs to judge.
    """

    name = "changes"
    requirements: ClassVar[tuple[str, ...]] = tuple(
        f"{capability_of(name)}/list-change-announced" for name in LISTS if name != "templates"
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._watches = session.transport.single_stream
        self._open = False
        self._readings: dict[str, _Reading] = {}

    def sent(self, frame: Frame) -> None:
        """Note when the session is open, and what no server has to get over."""
        self._open = self._open or members(frame.message).get("method") == "notifications/initialized"
        self._watches = self._watches and not frame.illegal

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Read along."""
        if call is None:
            self._announced(members(frame.message).get("method"))
        elif call.method in _NAMES and self._open and self._watches:
            name = _NAMES[call.method]
            self._page(self._readings.setdefault(name, _Reading()), name, frame, call)

    def _announced(self, method: Json) -> None:
        """A list that may have changed begins anew, also one whose change is announced late."""
        for name in [name for name in self._readings if method == list_changed(name)]:
            if len(self._readings.pop(name).seen) > 1:
                self.ledger.held(f"{capability_of(name)}/list-change-announced")

    def _page(self, reading: _Reading, name: str, frame: Frame, call: Call) -> None:
        params, result = members(call.params), members(frame.message).get("result")
        if not params.keys() <= {"cursor", "_meta"} or not isinstance(result, dict):
            return
        if "cursor" not in params:
            reading.keys = set()
        elif params["cursor"] != reading.cursor:
            return
        reading.keys |= {str(members(item).get(KEYS[name])) for item in elements(result.get(LISTS[name][1]))}
        reading.cursor = result.get("nextCursor")
        if reading.cursor is None:
            reading.ended((call.sent, frame))

    def finish(self) -> None:
        """Judge what has changed, now that all that the server said has been heard."""
        for name, reading in self._readings.items():
            kind = capability_of(name)
            if not reading.changed or not declared(self.session.capabilities, (kind, "listChanged")):
                continue
            notification = list_changed(name)
            before, now = reading.seen[-2:]
            # It takes all cases up to the one that has shown it once more.
            ago = (frame._replace(case="") for frame in (*before.proof, *now.proof))
            self.ledger.broke(
                f"{kind}/list-change-announced",
                f"the list of {name} changed without {notification}",
                expected=f"{notification}, since the server declares that it announces changes",
                actual=f"silence; changed: {', '.join(sorted(before.keys ^ now.keys)[:5])}",
                frames=(*ago, *reading.settled),
            )
