"""A second runner, from cases/README.md alone: plays the cases of an export that share a session and hold no probe."""

from __future__ import annotations

import re
from typing import Any

from second_client import Session
from second_patterns import MISSING, at, match

KINDS = {"request", "notify", "pages", "steps"}
SUBJECTS = {"response", "answered", "alive", "saved", "judge", "status"}  # of these the status is HTTP's
SILENCE = {"finding": "broken", "inconclusive": "inconclusive", "allowed": "held"}
ONCE: Any = {"name": "", "values": [None], "at-most": 1, "until-decided": False}


class Stop(Exception):
    """The steps that follow are in vain."""


def knows(step: Any) -> bool:
    """Whether this player knows all words of a step."""
    known = step["kind"] in KINDS and not step.get("wait-for") and all(map(knows, step.get("steps", ())))
    return known and step.get("session") != "another" and {e["subject"] for e in step.get("expect", ())} <= SUBJECTS


def served(response: Any) -> bool:
    """Whether that is a result that tells of no failure."""
    result = response.get("result") if isinstance(response, dict) else None
    return isinstance(result, dict) and result.get("isError") is not True


class Play:
    """A case that was played on a session; `found` is requirement → the outcomes that were written down."""

    def __init__(self, case: Any, session: Session) -> None:
        self.session, self.saved, self.found = session, dict[str, Any](), dict[str, set[str]]()
        self.asked = dict[str, Any]()
        self.steps(case["steps"])
        self.write(case["undecided"], "inconclusive")

    def write(self, requirements: Any, outcome: str) -> None:
        for requirement in requirements:
            self.found.setdefault(requirement, set()).add(outcome)

    def steps(self, steps: list[Any], together: bool = False) -> None:
        groups = [steps] if together else [[step] for step in steps]
        for number, group in enumerate(groups):
            try:
                self.take(group)
            except Stop:
                for step in (step for rest in groups[number:] for step in rest):
                    self.write(step["judges"], "inconclusive")
                return

    def take(self, group: list[Any]) -> None:
        """All of it is said before the first answer is waited for, and judged when all answers are there."""
        said, heard = [], []
        for step in group:
            if self.applies(step["when"]):
                said.append((step, len(self.session.heard), self.say(step)))
            elif step["otherwise"]:
                self.write(step["judges"], step["otherwise"]["outcome"])
        for step, start, sent in said:
            waits = step["kind"] == "request" and step["wait"]
            response = self.session.answer(sent["id"], start) if waits else MISSING
            if step.get("like") and response is not MISSING and self.depends(step, response):
                self.write(step["judges"], "inconclusive")
                continue
            if waits and response is MISSING and not step["expect"]:
                raise Stop
            lacks = False
            for name, path in step.get("save", {}).items():
                path = re.sub(r"\{([^{}]+)\}", lambda found: str(at(self.saved, found[1])), path)
                whole = {"request": sent, "response": response, "pages": sent}
                self.asked |= {name: step} if path == "response" else {}
                self.saved[name] = whole[path] if path in whole else at(response, path)
                lacks = lacks or (path not in whole and self.saved[name] is MISSING)
            heard.append((step, response, lacks))
        for step, response, lacks in heard:
            for expectation in step.get("expect", ()):
                self.judge(expectation, step, response)
            if lacks:
                raise Stop

    def depends(self, step: Any, response: Any) -> bool:
        """Whether a request is refused though the one that it is like was served, and not because it differs."""
        like = step["like"]
        if served(response) or like not in self.asked or not served(self.saved[like]):
            return False
        other = {**step, "id": f"{self.filled(step['id'])} again"} if "id" in step else step
        return self.again(other) or not self.again(self.asked[like])

    def again(self, step: Any) -> bool:
        start = len(self.session.heard)
        return served(self.session.answer(self.say(step)["id"], start))

    def say(self, step: Any) -> Any:
        if step["kind"] == "steps":
            return self.inner(step)
        if self.session.over:
            raise Stop
        method, params = self.filled(step["method"]), self.filled(step.get("params", MISSING))
        if step["kind"] == "pages":
            return self.session.pages(method) or self.stop()
        if step["kind"] == "notify":
            return self.session.write(method, params)
        identifier = self.session.send(method, params, self.filled(step.get("id", MISSING)), step["meta"])
        return {"id": identifier, "method": method, "params": params}

    def inner(self, step: Any) -> None:
        before, each = dict(self.saved), step["each"] or ONCE
        things = self.session.picks(each["pick"]) or self.stop() if "pick" in each else self.filled(each["values"])
        for thing in things[: each["at-most"]]:
            if each["until-decided"] and any(
                {"held", "broken"} & self.found.get(name, set()) for name in step["judges"]
            ):
                break
            self.saved = {**before, each["name"]: thing} if step["each"] else self.saved
            self.steps(step["steps"], step["together"])
        self.saved = before if step["each"] else self.saved

    def stop(self) -> Any:
        raise Stop

    def filled(self, value: Any) -> Any:
        if isinstance(value, dict) and "$pick" in value:
            return (self.session.picks(value["$pick"]) or self.stop())[0]
        if isinstance(value, dict) and "$saved" in value:
            found = at(self.saved, value["$saved"])
            return found if found is not MISSING else self.stop()
        if isinstance(value, dict):
            return {name: self.filled(member) for name, member in value.items()}
        return [self.filled(each) for each in value] if isinstance(value, list) else value

    def applies(self, when: Any, response: Any = MISSING) -> bool:
        session, saved = self.session, self.saved
        return (
            all(session.declares(self.filled(name)) for name in when.get("declares", ()))
            and not any(session.declares(self.filled(name)) for name in when.get("lacks", ()))
            and session.revision in when.get("revisions", [session.revision])
            and when.get("transport", "stdio") == "stdio"
            and all(match(pattern, at(saved, path), saved) for path, pattern in when.get("saved", {}).items())
            and ("response" not in when or match(when["response"], response, saved))
            and ("alive" not in when or self.alive() is when["alive"])
        )

    def alive(self) -> bool:
        return self.session.sentinel() or (self.stop() if self.session.sentinel() else False)

    def judge(self, expectation: Any, step: Any, response: Any) -> None:
        requirement, rows, subject = [expectation["requirement"]], expectation.get("rows", ()), expectation["subject"]
        if not self.applies(expectation["when"], response):
            return self.write(requirement, expectation["otherwise"]["outcome"]) if expectation["otherwise"] else None
        patterns = [row["when"]["response"] for row in rows if "response" in row["when"]]
        patterns += [expectation["pattern"]] if subject == "response" else []
        if response is MISSING and patterns and not any(match(each, MISSING, self.saved) for each in patterns):
            if self.session.over or (expectation["silence"] == "finding" and not step["illegal"]):
                raise Stop
            return self.write(requirement, SILENCE[expectation["silence"]])
        if subject == "judge":
            fitting = [row["outcome"] for row in rows if self.applies(row["when"], response)]
            return self.write(requirement if fitting else [], fitting[0] if fitting else "")
        return self.write(requirement, "held" if self.holds(expectation, response) else "broken")

    def holds(self, expectation: Any, response: Any) -> bool:
        pattern, saved, subject = expectation.get("pattern"), self.saved, expectation["subject"]
        if subject == "saved":
            return all(match(each, at(saved, path), saved) for path, each in pattern.items())
        if subject == "alive":
            return self.alive()
        return response is not MISSING if subject == "answered" else match(pattern, response, saved)
