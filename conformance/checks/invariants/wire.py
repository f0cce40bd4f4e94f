"""Wire: every result, notification and server request fits its type in the session's revision; so does what we send."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from conformance.catalogue.requirements import load
from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.content import rule_of_place
from conformance.checks.invariants.rules import PRESENT, RULES, UNIONS
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Severity, members
from conformance.revisions import BY_DATE, HANDSHAKE, later_handshakes
from conformance.session.answers import CAPABILITY
from conformance.session.messages import Call, id_key, is_id
from conformance.session.session import Session
from conformance.validation.wire_schemas import Problem, WireSchemas, for_revision

RESPECTED = "versioning/negotiated-version-respected"
META = "meta/meta-is-object"
ELSEWHERE = ("jsonrpc", "id", "method", "resultType", "ttlMs", "cacheScope")
"""Members of messages and results that other invariants judge."""


class SuiteError(Exception):
    """We sent a message that its revision does not allow, without saying that it is illegal: our own bug."""


class Wire(Watcher):
    """See the module. Which requirement a problem breaks is said by the table in `rules.py`."""

    name = "wire"
    requirements: ClassVar[tuple[str, ...]] = tuple(
        dict.fromkeys([rule for _, _, rule in RULES] + [rule for _, _, rule in PRESENT] + [RESPECTED, META])
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._schemas: WireSchemas = for_revision(session.revision.date)
        self._stateless = session.revision.era == "stateless"
        self._asked: dict[str, str] = {}

    # -- ours

    def sent(self, frame: Frame) -> None:
        """Our own frames are checked too, unless they are wrong on purpose. Raises SuiteError."""
        super().sent(frame)
        if frame.illegal or not frame.readable:
            return
        for message in frame.message if isinstance(frame.message, list) else [frame.message]:
            problems = self._our_problems(message)
            if problems:
                raise SuiteError(f"{problems[0].message} in {frame.data[:300]!r}")

    def _our_problems(self, message: Json) -> list[Problem]:
        if not isinstance(message, dict):
            return []
        if "method" not in message:
            return self._our_answer(message)
        kind = "base#JSONRPCRequest" if "id" in message else "base#JSONRPCNotification"
        problems = self._schemas.problems(kind, message)
        method = self._schemas.method(message["method"])
        if problems or method is None:
            return problems
        type_ref = method.request if "id" in message else method.notification
        return self._schemas.problems(type_ref, message) if type_ref else []

    def _our_answer(self, message: dict[str, Json]) -> list[Problem]:
        asked = self._schemas.method(self._asked.get(id_key(message.get("id")), ""))
        if asked is None or asked.result is None or "result" not in message:
            return []
        result = message["result"]
        task = asked.task_result if isinstance(result, dict) and "task" in result else None
        return self._schemas.problems(task or asked.result, result)

    # -- theirs

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Validate a message against the type that its method gives it."""
        message = frame.message
        if not isinstance(message, dict):
            return
        if "method" in message:
            self._asked_or_told(frame, message)
        elif call is not None and isinstance(message.get("result"), dict) and "error" not in message:
            self._result(frame, message["result"], call)

    def _asked_or_told(self, frame: Frame, message: dict[str, Json]) -> None:
        method = self._schemas.method(message["method"]) if isinstance(message["method"], str) else None
        if method is None or (method.kind == "notification") is ("id" in message):
            return
        if method.kind == "input_request" or not isinstance(message.get("params", {}), dict):
            return
        if "id" in message and not is_id(message["id"]):
            return  # judged by Envelope
        type_ref = method.request if "id" in message else method.notification
        if type_ref is None:
            return
        if "id" in message:
            self._asked[id_key(message["id"])] = method.name
        self._judge(method.name, self._schemas.problems(type_ref, message), message, (frame,))

    def _result(self, frame: Frame, result: Json, call: Call) -> None:
        method = self._schemas.method(call.method)
        if method is None or call.method in CAPABILITY:
            return  # no method of a server: what it makes of such a call has no shape
        # A server without tasks ignores `task` and answers as if it were not there.
        task = isinstance(call.params, dict) and "task" in call.params and "task" in result
        type_ref = method.result_type(result, stateless=self._stateless, task=task)
        if type_ref is None:
            return
        problems = self._schemas_of(call, result).problems(type_ref, result)
        kind = result.get("resultType")
        named = kind == "input_required" or (kind == "task" and self._stateless)
        name = f"{call.method} {kind}" if named else call.method
        self._judge(name, problems, result, (call.sent, frame))

    def _schemas_of(self, call: Call, result: dict[str, Json]) -> WireSchemas:
        """A server that offers another revision answers initialize in the terms of that one."""
        offered = result.get("protocolVersion") if call.method == "initialize" else None
        revision = BY_DATE.get(offered) if isinstance(offered, str) else None
        return for_revision(revision.date) if revision in HANDSHAKE else self._schemas

    def _judge(self, method: str, problems: list[Problem], document: Json, proof: tuple[Frame, ...]) -> None:
        broken: set[str] = set()
        folded: dict[tuple[str, str], tuple[Problem, int]] = {}
        for problem in problems:
            lasting = problem.path == ("ttlMs",) and (method == "tasks/get" or method.endswith(" task"))
            if problem.path[:1] and problem.path[0] in ELSEWHERE and not lasting:
                continue
            rule = self._rule(method, problem, document)
            if rule is None:
                continue
            broken.add(rule)
            key = (rule, re.sub(r"\[\d+\]", "[…]", problem.message))
            first, count = folded.get(key, (problem, 0))
            folded[key] = (first, count + 1)
        for (rule, _), (problem, count) in folded.items():
            where = f"; the same in {count - 1} other places" if count > 1 else ""
            self.ledger.broke(
                rule,
                f"the {'params' if len(proof) == 1 else 'result'} of {method}: "
                + re.sub(r"\[\d+\]", "[…]", problem.message.split(" is ")[0])
                + " does not fit its schema",
                expected=problem.expected,
                actual=problem.message + where,
                frames=proof,
                # What is given for a request that had to be refused has no shape to keep to.
                ceiling=Severity.WARNING if any(frame.illegal for frame in proof) else self.softened(),
            )
        self._hold(method, document, broken)
        if method.endswith("input_required"):
            for asked in _input_requests(document).values():
                if isinstance(asked, dict) and isinstance(asked.get("method"), str):
                    self._hold(asked["method"], asked, broken)

    def _hold(self, method: str, document: Json, broken: set[str]) -> None:
        for present, rule in _rows(method):
            if rule not in broken and _reaches(document, present):
                self.ledger.held(rule)

    def _rule(self, method: str, problem: Problem, document: Json) -> str | None:
        if method.endswith("input_required") and len(problem.path) > 2 and problem.path[2] == "params":
            asked = _input_requests(document)[str(problem.path[1])]
            return self._rule(asked["method"], replace(problem, path=problem.path[2:]), asked)
        path = "/".join("*" if isinstance(step, int) else str(step) for step in problem.path)
        if UNIONS.search(path) and self._later(method, document, problem):
            return RESPECTED
        if "inputSchema" not in problem.path and "_meta" not in problem.path:
            rule = rule_of_place(document, problem.path)
            if rule is not None and self._schemas.revision in load()[rule].levels:
                return rule
        for name, pattern, rule in RULES:
            if name.match(method) and pattern.search(path) and self._schemas.revision in load()[rule].levels:
                return rule
        return None

    def _later(self, method: str, document: Json, problem: Problem) -> bool:
        """Whether a later revision would allow what this one does not."""
        for revision in later_handshakes(self.session.revision):
            later = for_revision(revision.date)
            known = later.method(method)
            type_ref = None if known is None else known.request if "method" in document else known.result
            if type_ref is None:
                continue
            if not any(p.path[: len(problem.path)] == problem.path for p in later.problems(type_ref, document)):
                return True
        return False


@lru_cache(maxsize=256)
def _rows(method: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The rows of PRESENT for a method that the revision knows."""
    return tuple((present, rule) for name, present, rule in PRESENT if name.match(method))


def _input_requests(result: Json) -> dict[str, Json]:
    asked = result.get("inputRequests")
    return members(asked)


def _reaches(document: Json, path: tuple[str, ...]) -> bool:
    """Whether there is something at `path`; `*` stands for any element of an array."""
    if not path:
        return True
    step, rest = path[0], path[1:]
    if step == "*":
        return isinstance(document, list) and any(_reaches(element, rest) for element in document)
    return isinstance(document, dict) and step in document and _reaches(document[step], rest)
