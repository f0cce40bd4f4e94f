"""Tools, resources, prompts and completions that do not return: asked once, and remembered for the whole run."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable

from conformance.model import Frame, Json, members
from conformance.session.messages import MAY_TAKE_LONG, Call, Unavailable

_MEMBERS = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name", "completion/complete": "ref"}
"""Methods behind which an author's own code runs → the member of the params that says which."""
_WORDS = {"tools/call": "tool", "resources/read": "resource", "prompts/get": "prompt"}
TRIES = 3
"""Generated frames that ask for what has not returned: one may have been cancelled, or refused."""
LONGEST_TURN = 60.0
"""Seconds after which who has asked counts as having given up, should it have forgotten to say so."""
LONGEST = 100
"""Characters of a name that are shown."""
OURS = "mcp-conform"
"""In the names of what we ask for because it does not exist."""
MANY = 2
"""Once so many features of one kind did not return, and none did, no other of that kind is asked for."""
HUNG = ", nor after it was cancelled"
"""With this ends what a finding says of a feature that does not return."""


class NotAskedAgain(Unavailable):
    """It has not returned before, so it was not asked again; the text says so."""


Feature = tuple[str, str]
"""Its kind, which is the method and for completions what is completed, and its name as text."""


def feature_of(method: str, params: Json) -> Feature | None:
    """What a request asks for by name, None if it asks for nothing that the server can have listed."""
    if method not in _MEMBERS or not isinstance(params, dict) or _MEMBERS[method] not in params:
        return None
    kind, value = method, params[_MEMBERS[method]]
    if isinstance(value, dict):  # a reference to a prompt or a template
        kind, value = f"{method} of {value.get('type')}", value.get("name", value.get("uri"))
    name = repr(value)
    return None if OURS in name else (kind, name)


def takes_long(call: Call) -> bool:
    """Whether an author's own code may be behind it: not where a tool or prompt is asked for that does not exist."""
    made_up = call.method in ("tools/call", "prompts/get") and OURS in str(members(call.params).get("name"))
    return call.method in MAY_TAKE_LONG and not made_up


def named(method: str, params: Json) -> str:
    """What a request asks for, for people: "tool 'echo'"."""
    feature = feature_of(method, params)
    return _shown(feature) if feature is not None else method


def _call(params: Json) -> str:
    """The tool and its arguments, without what else may be asked with them."""
    return json.dumps([params.get("name"), params.get("arguments")], sort_keys=True)


def _shown(feature: Feature) -> str:
    kind, name = feature
    name = name if len(name) <= LONGEST else name[:LONGEST] + "…"
    return f"{_WORDS.get(kind, 'the completion of')} {name}"


def progress_token(params: Json) -> Json:
    """The token under which a request asks to be told of its progress, None if it does not."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get("progressToken") if isinstance(meta, dict) else None


def reports_progress(call: Call) -> bool:
    """Whether something was told of the call's own progress, so that it does not hang."""
    return any(tells_progress(frame, call) for frame in call.notifications)


def tells_progress(frame: Frame, call: Call) -> bool:
    """Whether the server tells in it of the call's own progress."""
    message, token = frame.message, progress_token(call.params)
    if token is None or not isinstance(message, dict) or message.get("method") != "notifications/progress":
        return False
    params = message.get("params")
    return isinstance(params, dict) and params.get("progressToken") == token


class Features:
    """What the run knows of features: which have returned, and which do not. From any thread.

    Before one has returned, others wait a little with asking for it, so that one that hangs does not hang in all of
    them. One that did not return is asked again only by who asks for its progress: one that tells of it does not hang.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._returned: set[Feature] = set()
        self._silent: dict[tuple[Feature, bool], float] = {}
        self._asking: dict[tuple[Feature, bool], tuple[object, int, float]] = {}
        """Who asks, in which thread, and until when others let it; who asks to be told of progress lets only such."""
        self._tried: Counter[Feature] = Counter()
        self._flying: set[Feature] = set()
        self._in_vain: dict[str, float] = {}
        """A call of a tool → the seconds for which it was waited for."""

    def avoids(self, method: str, params: Json) -> str:
        """Why that is not asked again, "" if it may be asked."""
        feature = feature_of(method, params)
        with self._lock:
            return self._avoided(feature, progress_token(params) is not None) if feature is not None else ""

    def returns(self, method: str, params: Json) -> bool:
        """Whether it has returned before in this run."""
        return feature_of(method, params) in self._returned

    def known_silent(self, method: str, params: Json) -> bool:
        """Whether it did not return when it was asked before, however that was."""
        return any(feature == feature_of(method, params) for feature, _ in self._silent)

    def spares(self, requests: Iterable[tuple[str, Json]], illegal: bool) -> bool:
        """Whether a generated example is not to make these requests (method, params).

        That is so if one asks for what hangs, or for what was tried so by another example and has not returned yet.
        """
        with self._lock:
            asked = {feature_of(method, params) for method, params in requests} - self._returned
            unknown = [feature for feature in asked if feature is not None]
            if any(self._avoided(feature, False) for feature in unknown):
                return True
            if illegal:
                return False
            if any(self._open(feature) or self._tried[feature] >= TRIES for feature in unknown):
                return True
            self._tried.update(unknown)
            self._flying.update(unknown)
            return False

    @property
    def busy(self) -> bool:
        """Whether somebody waits for something that has not returned before."""
        with self._lock:
            now = time.monotonic()
            return any(now < until for _, _, until in self._asking.values())

    def landed(self) -> None:
        """What came of the generated frames that were sent is known: they may be followed by others."""
        with self._lock:
            self._flying.clear()

    def admit(self, method: str, params: Json, who: object, *, waited: bool) -> bool:
        """Whether `who` may ask for that now: not while another one does, unless it has `waited` long enough.

        Raises NotAskedAgain.
        """
        feature = feature_of(method, params)
        if feature is None or feature in self._returned:
            return True
        talkative = progress_token(params) is not None
        with self._lock:
            if why := self._avoided(feature, talkative):
                raise NotAskedAgain(why)
            if not waited and self._taken(feature, talkative, who):
                return False
            self._asking[feature, talkative] = who, threading.get_ident(), time.monotonic() + LONGEST_TURN
            return True

    def returned(self, call: Call) -> None:
        """An answer came, of whatever kind, or news of its progress."""
        feature = feature_of(call.method, call.params)
        if feature is not None and feature not in self._returned:
            with self._lock:
                self._returned.add(feature)
                for talkative in (False, True):
                    self._silent.pop((feature, talkative), None)
                    self._asking.pop((feature, talkative), None)

    def under_way(self, tool: Json, talkative: bool, who: object) -> bool:
        """Whether somebody else has called the tool and waits for it.

        For who asks to be told of progress that is somebody else who does so: then one knows whether it hangs.
        """
        feature = feature_of("tools/call", tool)
        with self._lock:
            return feature is not None and self._taken(feature, talkative, who)

    def silent(self, call: Call, seconds: float) -> None:
        """No answer came within `seconds`, nor when the call was cancelled."""
        feature = feature_of(call.method, call.params)
        if feature is not None:
            with self._lock:
                talkative = progress_token(call.params) is not None
                self._silent[feature, talkative] = seconds
                self._returned.discard(feature)
                self._asking.pop((feature, talkative), None)

    def waited(self, params: Json, seconds: float) -> None:
        """A call of a tool was waited for so long, and then given up."""
        call = _call(params)
        with self._lock:
            self._in_vain[call] = max(seconds, self._in_vain.get(call, 0.0))

    def in_vain(self, params: Json) -> float:
        """Seconds for which such a call was waited for before it was given up, at most; 0 if none was."""
        return self._in_vain.get(_call(params), 0.0)

    def left(self, who: object) -> None:
        """`who` waits for nothing any more."""
        with self._lock:
            for asked in [asked for asked, (asking, *_) in self._asking.items() if asking is who]:
                del self._asking[asked]

    def renew(self) -> None:
        """What was found is put to the test again: each may be asked once more."""
        with self._lock:
            self._silent.clear()
            self._asking.clear()
            self._in_vain.clear()

    # -- inside, with the lock held

    def _open(self, feature: Feature) -> bool:
        """Whether it was asked for, and what comes of it is not known yet."""
        return feature in self._flying or (feature, False) in self._asking or (feature, True) in self._asking

    def _avoided(self, feature: Feature, talkative: bool) -> str:
        seconds = self._silent.get((feature, True), None if talkative else self._silent.get((feature, False)))
        if seconds is not None:
            return f"{_shown(feature)} was not called again: it did not answer within {seconds:.3g} s{HUNG}"
        silent = {other: spent for (other, _), spent in self._silent.items() if other[0] == feature[0]}
        if len(silent) < MANY or any(other[0] == feature[0] for other in self._returned):
            return ""
        first, spent = next(iter(silent.items()))
        return f"{_shown(feature)} was not called: {_shown(first)} did not answer within {spent:.3g} s{HUNG}"

    def _taken(self, feature: Feature, talkative: bool, who: object) -> bool:
        """Whether another session waits for it, and not one of the same thread, which would wait for itself.

        To who waits for it already that does not matter.
        """
        both = [self._asking.get((feature, kind)) for kind in (False, True)]
        if feature in self._returned or any(each is not None and each[0] is who for each in both):
            return False
        now, here = time.monotonic(), threading.get_ident()
        asked = [self._asking.get((feature, kind)) for kind in ((True,) if talkative else (False, True))]
        return any(each is not None and each[0] is not who and each[1] != here and now < each[2] for each in asked)
