"""What the target offers, asked once a run, and the picks that cases make from it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from conformance.budget import cost
from conformance.model import Json, elements, members
from conformance.session.messages import Counted, Unavailable, Unread
from conformance.session.session import Call, Session
from conformance.survey.arguments import Unfillable, candidates, smallest_arguments
from conformance.validation.header_annotations import annotated

__all__ = ["LISTS", "CallPolicy", "Samples", "Survey", "Unavailable", "take", "walk"]

MAX_PAGES = 200
MAX_SIZE = 16 * 1024 * 1024
"""Bytes of our memory for what is kept of one list, about 5000 tools."""
QUICK = 0.03
"""Seconds: a list that takes no longer can be asked for dozens of times at once, by a busy machine too."""
OUT_OF_TIME = "there was no time for more"
MAX_CALLS = 100
"""Tools that are called, however many may be."""

TASKS = "tasks.requests.tools.call"
"""The capability of those that run tools as tasks."""

LISTS = {
    "tools": ("tools/list", "tools"),
    "resources": ("resources/list", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates"),
    "prompts": ("prompts/list", "prompts"),
}
"""Name of the list → its method and the member of the result that holds the items."""


def capability_of(name: str) -> str:
    """The capability that a list belongs to."""
    return "resources" if name == "templates" else name


def list_changed(name: str) -> str:
    """The notification that a list is another one now."""
    return f"notifications/{capability_of(name)}/list_changed"


CallMode = Literal["none", "safe", "all"]


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """Which tools may be called: `safe` those annotated readOnlyHint, `none`, `all`; `named` ones in any case."""

    mode: CallMode = "safe"
    named: tuple[str, ...] = ()

    def allows(self, tool: Json) -> bool:
        """Whether `tool`, as listed, may be called."""
        if tool.get("name") in self.named or self.mode == "all":
            return True
        annotations = tool.get("annotations")
        return self.mode == "safe" and isinstance(annotations, dict) and annotations.get("readOnlyHint") is True

    @property
    def reason(self) -> str:
        """Why a tool that is not allowed is left out, and what would have it called."""
        if self.mode == "none":
            return "--call-tools none; allow one with --call-tool NAME"
        return "not annotated readOnlyHint; allow one with --call-tool NAME, or all with --call-tools all"

    @property
    def forbids(self) -> str:
        """Where no listed tool may be called: why, and what would let one be."""
        why = "--call-tools none" if self.mode == "none" else "none is annotated readOnlyHint"
        return f"no tool may be called: {why}; allow one with --call-tool"


@dataclass(frozen=True, slots=True)
class Samples:
    """What the user gave to try: arguments of good calls by tool, arguments by prompt, URIs that may be read."""

    tools: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    resources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Survey:
    """Items of each list, all pages, only those that are objects; `pages` is the number of pages of each list.

    `quick` are the lists no page of which took longer than QUICK seconds.
    `given` are the lists that had a result, whatever is in it.
    `unread` are the lists that the server declared and did not give, or not to the end; `cut` says of which we read no
    more, and how much was read. `versions` are those that the server says it supports, where it is to say so.
    """

    capabilities: Json
    policy: CallPolicy
    tools: tuple[Json, ...] = ()
    resources: tuple[Json, ...] = ()
    templates: tuple[Json, ...] = ()
    prompts: tuple[Json, ...] = ()
    pages: tuple[tuple[str, int], ...] = ()
    quick: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    samples: Samples = field(default_factory=Samples)

    def arguments_for(self, tool: Json) -> dict[str, Json]:
        """Arguments for a good call of a listed tool: the user's, or the smallest. Raises Unavailable."""
        given = self.samples.tools.get(str(tool.get("name")))
        if given:
            return dict(given[0])
        try:
            return smallest_arguments(tool.get("inputSchema"))
        except Unfillable as reason:
            raise Unavailable(f"no arguments can be made up for tool {tool.get('name')!r}: {reason}") from None

    def other_arguments(self, tool: Json) -> list[dict[str, Json]]:
        """What else may be tried if the tool fails with `arguments_for`: the user's, or others that are made up."""
        given = self.samples.tools.get(str(tool.get("name")))
        try:
            return list(given or candidates(tool.get("inputSchema")))[1:]
        except Unfillable:
            return []

    def prompt_arguments(self, prompt: Json) -> dict[str, str]:
        """Arguments for a listed prompt: the user's, or a short string for each that is required."""
        given = self.samples.prompts.get(str(prompt.get("name")))
        return dict(given) if given is not None else dict.fromkeys(required_of(prompt), "x")

    @property
    def readable(self) -> list[str]:
        """The URIs of resources: first those that the user gave, then those listed."""
        listed = [item["uri"] for item in self.resources if isinstance(item.get("uri"), str)]
        return list(dict.fromkeys((*self.samples.resources, *listed)))

    def declares(self, capability: str) -> bool:
        """Whether the server declared the dotted `capability`; a boolean leaf must be true."""
        return _declared(self.capabilities, capability)

    @property
    def declared_lists(self) -> list[str]:
        """The names of the lists that the server declared."""
        return [name for name in LISTS if self.declares(capability_of(name))]

    @cached_property
    def header_arguments(self) -> dict[str, dict[tuple[str, ...], str]]:
        """Tool → path of properties to an argument → the name of the HTTP header that mirrors it."""
        marked: dict[str, dict[tuple[str, ...], str]] = {}
        for tool in self.tools:
            for annotation in annotated(tool.get("inputSchema"), usable=True):
                marked.setdefault(str(tool.get("name")), {})[annotation.path] = annotation.header
        return marked

    @property
    def callable_tools(self) -> list[Json]:
        """Tools that have a name to call them by and may be called, and not as a task only."""
        return [tool for tool in _named(self.tools) if self.policy.allows(tool) and task_support(tool) != "required"]

    @property
    def left_out(self) -> dict[str, str]:
        """Tools with a name that may not be called, or cannot be → why."""
        reasons: dict[str, str] = {}
        allowed = 0
        for tool in _named(self.tools):
            if not self.policy.allows(tool):
                reasons[tool["name"]] = self.policy.reason
                continue
            allowed += 1
            if allowed > MAX_CALLS:
                reasons[tool["name"]] = f"only the first {MAX_CALLS} of the tools that may be called are"
            elif not self.samples.tools.get(tool["name"]):
                try:
                    smallest_arguments(tool.get("inputSchema"))
                except Unfillable as why:
                    reasons[tool["name"]] = f"no arguments can be made up: {why}; give some in the target file"
        return reasons

    @property
    def named_prompts(self) -> list[Json]:
        """Prompts that have a name to ask for them by."""
        return _named(self.prompts)

    @property
    def task_tools(self) -> list[Json]:
        """Tools that may be called as tasks, of a server that has tasks."""
        if not self.declares(TASKS):
            return []
        return [t for t in _named(self.tools) if self.policy.allows(t) and task_support(t) in ("optional", "required")]


def _declared(place: Json, path: str) -> bool:
    """Whether there is something at the dotted `path`; the name of an extension has dots of its own."""
    if not path:
        return place is not False and place is not None
    return isinstance(place, dict) and any(
        _declared(value, path[len(name) + 1 :]) for name, value in place.items() if f"{path}.".startswith(f"{name}.")
    )


def _named(items: Sequence[Json]) -> list[Json]:
    return [item for item in items if isinstance(item.get("name"), str)]


def task_support(tool: Json) -> Json:
    """What a listed tool says about calls of it as tasks: forbidden unless it says otherwise."""
    execution = tool.get("execution")
    return execution.get("taskSupport", "forbidden") if isinstance(execution, dict) else "forbidden"


def walk(session: Session, method: str, member: str) -> Iterator[tuple[Call, list[Json]]]:
    """Each page of a list: the call and its items. Ends at an error, a cycle, MAX_PAGES or MAX_SIZE. Raises Unread."""
    cursor: Json = None
    seen: set[str] = set()
    size = 0
    for _ in range(MAX_PAGES):
        call = session.request(method, None if cursor is None else {"cursor": cursor})
        items = call.result.get(member) if isinstance(call.result, dict) else None
        yield call, [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        cursor = call.result.get("nextCursor") if isinstance(call.result, dict) else None
        if not isinstance(cursor, str) or cursor in seen:
            return
        seen.add(cursor)
        size += size_of(call)
        if size > MAX_SIZE:
            return


def size_of(call: Call) -> int:
    """Bytes of our memory that the answer takes."""
    message = call.response
    return message.size if isinstance(message, Counted) else sum(map(cost, call.answers[:1]))


def has_more(call: Call) -> bool:
    """Whether a page names a further one."""
    return isinstance(call.result, dict) and isinstance(call.result.get("nextCursor"), str)


def take(session: Session, policy: CallPolicy, samples: Samples, end: float = math.inf) -> Survey:
    """Ask for every list that the server declared; for no page once `time.monotonic()` has passed `end`."""
    survey = Survey(session.capabilities, policy, samples=samples)
    found: dict[str, tuple[Json, ...]] = {}
    pages: list[tuple[str, int]] = []
    quick: list[str] = []
    given: list[str] = []
    unread: list[str] = []
    cut: list[str] = []
    for name in survey.declared_lists:
        method, member = LISTS[name]
        items: list[Json] = []
        count = size = 0
        whole, slowest, has_result = True, 0.0, False
        try:
            for call, page in walk(session, method, member) if time.monotonic() < end else ():
                items += page
                count += 1
                size += size_of(call)
                slowest = max(slowest, call.answers[0].at - call.sent.at if call.answers else math.inf)
                has_result |= isinstance(call.result, dict)
                whole &= isinstance(call.result, dict) and isinstance(call.result.get(member), list)
                if time.monotonic() >= end:
                    break
            if time.monotonic() >= end and (not count or has_more(call)):
                cut.append(f"the list of {name} was read no further than {count} pages: {OUT_OF_TIME}")
                whole = False
            elif (count == MAX_PAGES or size > MAX_SIZE) and has_more(call):
                cut.append(read_no_further(name, count, size))
                whole = False
        except Unavailable:  # so much else went unanswered that this was not waited for
            whole = False
        except Unread as why:
            whole = False
            cut.append(f"the list of {name} was read no further than {count} pages: {why}")
        given += [name] if has_result else []
        unread += [] if whole else [name]
        quick += [name] if whole and slowest <= QUICK else []
        found[name] = tuple(items)
        pages.append((name, count))
    return Survey(
        session.capabilities,
        policy,
        pages=tuple(pages),
        quick=tuple(quick),
        given=tuple(given),
        unread=tuple(unread),
        cut=tuple(cut),
        versions=_versions(session.opening),
        samples=samples,
        **found,
    )


def _versions(opening: Json) -> tuple[str, ...]:
    supported = opening.get("supportedVersions") if isinstance(opening, dict) else None
    return tuple(each for each in supported if isinstance(each, str)) if isinstance(supported, list) else ()


def read_no_further(name: str, pages: int, size: int) -> str:
    """The sentence that says where we stopped."""
    return f"the list of {name} was read no further than {pages} pages, {size / 1e6:.0f} MB"


def arguments_of(prompt: Json) -> list[str]:
    """The names of the arguments of a listed prompt."""
    return [str(members(argument).get("name")) for argument in elements(prompt.get("arguments"))]


def required_of(prompt: Json) -> list[str]:
    """The names of those that are required."""
    listed = [members(argument) for argument in elements(prompt.get("arguments"))]
    return [str(argument.get("name")) for argument in listed if argument.get("required") is True]
