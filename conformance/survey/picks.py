"""Picks: what cases take from the survey, by kind, instead of naming it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import zip_longest

from conformance.model import Json, members
from conformance.revisions import STATELESS
from conformance.survey.completions import NO_SUCH_PROMPT, completions, completions_or_none_such
from conformance.survey.mirrored import mirrored_arguments, named_requests
from conformance.survey.survey import (
    LISTS,
    MAX_CALLS,
    QUICK,
    TASKS,
    Survey,
    Unavailable,
    arguments_of,
    capability_of,
    required_of,
    task_support,
)
from conformance.survey.templates import unknown_behind_templates

KEYS = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
"""List → the member that identifies an item."""

PARAMS = ("name", "arguments", "uri", "ref", "argument")
"""Members of picked requests that are their params; others tell about them."""

TRACE = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
"""A good value of traceparent, by W3C Trace Context."""
UNKNOWN_META: Json = {"com.example/mcp-conform": {"a": 1}, "traceparent": TRACE}

VERSION_META: Json = {"io.modelcontextprotocol/protocolVersion": STATELESS[0].date}
CAPABILITIES_META: Json = {"io.modelcontextprotocol/clientCapabilities": {}}
"""What a request of the stateless era has to carry, for cases that leave some of it out."""
CAPABILITIES_AS_TEXT: Json = {"io.modelcontextprotocol/clientCapabilities": "none"}
UNKNOWN_LEVEL_META: Json = {"io.modelcontextprotocol/logLevel": "loud"}
UNKNOWN_VERSION_META: Json = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
OTHER_CLIENT_META: Json = {
    "io.modelcontextprotocol/clientInfo": {
        "name": "mcp-conform",
        "version": "1",
        "title": "A client",
        "description": "It says all that a client may say of itself.",
        "websiteUrl": "https://example.com/",
        "icons": [{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": ["48x48"]}],
    },
    "io.modelcontextprotocol/clientCapabilities": {
        "experimental": {"com.example/x": {}},
        "extensions": {"com.example/x": {}},
        "comExampleProbe": {},
    },
}
"""All that a client may say of itself, and capabilities that nobody knows."""

TEXT_ID = "hé世 1b4e28ba-2fa1-11d2-883f-0016d3cca427"
NOTHING = "the server declares nothing that could be asked for"
NO_SUCH_URI = "mcp-conform://no-such-resource/7f3a"


def _may_be_called(survey: Survey) -> Sequence[Json]:
    if not survey.callable_tools:
        raise Unavailable(survey.policy.forbids)
    return survey.callable_tools[:MAX_CALLS]


def _calls_of(survey: Survey, tools: Sequence[Json], lacking: str) -> list[Json]:
    return _some([call for tool in tools if (call := _call_of(survey, tool)) is not None], lacking)


def _call_of(survey: Survey, tool: Json) -> Json:
    try:
        return {"name": tool.get("name"), "arguments": survey.arguments_for(tool)}
    except Unavailable:
        return None


def _some(things: Sequence[Json], lacking: str) -> list[Json]:
    if not things:
        raise Unavailable(lacking)
    return list(things)


def _required(item: Json) -> list[str]:
    schema = item.get("inputSchema")
    required = schema.get("required") if isinstance(schema, dict) else None
    return [str(name) for name in required] if isinstance(required, list) else []


def _tool_calls(survey: Survey) -> list[Json]:
    return _calls_of(survey, _may_be_called(survey), "no tool that may be called has arguments that can be made up")


def _bare_tools(survey: Survey) -> list[Json]:
    calls = _calls_of(survey, _may_be_called(survey), "no tool that may be called does without arguments")
    return _some([call for call in calls if not call["arguments"]], "no tool that may be called does without arguments")


def _swapped_tools(survey: Survey) -> list[Json]:
    known = set(_tool_names(survey))
    calls = [(call, str(call["name"]).swapcase()) for call in _tool_calls(survey)]
    found = [{"call": call, "swapped": {**call, "name": name}} for call, name in calls if name not in known]
    return _some(found, "no tool that may be called has a name with letters")


def _strict_tools(survey: Survey) -> list[Json]:
    found = [{"name": tool.get("name"), "arguments": {}} for tool in _may_be_called(survey) if _required(tool)]
    return _some(found, "no tool that may be called has a required argument; allow one with --call-tool")


def _calls_lacking_one(survey: Survey) -> list[Json]:
    """Of each tool one call for each required argument without a default, if there are several."""
    found: list[Json] = []
    for tool in _may_be_called(survey):
        required = [name for name in _required(tool) if not _have_defaults(tool, [name])]
        with suppress(Unavailable):
            given = survey.arguments_for(tool)
            call = {"name": tool.get("name"), "arguments": given}
            found += [
                {"call": call, "lacking": name, "arguments": {key: given[key] for key in given if key != name}}
                for name in required
                if len(_required(tool)) > 1 and name in given
            ]
    return _some(found, "no tool that may be called has several required arguments; allow one with --call-tool")


def _tools_with_required(survey: Survey) -> list[Json]:
    found = [
        {
            "name": tool.get("name"),
            "required": _required(tool),
            "all-have-defaults": _have_defaults(tool, _required(tool)),
            "call": _call_of(survey, tool),
        }
        for tool in _may_be_called(survey)
        if _required(tool)
    ]
    return _some(found, "no tool that may be called has a required argument; allow one with --call-tool")


def _have_defaults(tool: Json, names: Sequence[str]) -> bool:
    """Whether each of the arguments has a default, so that the server may fill it in and only the schema is odd."""
    properties = tool["inputSchema"].get("properties")
    properties = members(properties)
    described = [properties.get(name) for name in names]
    return all(isinstance(each, dict) and "default" in each for each in described)


def _task_calls(survey: Survey) -> list[Json]:
    return _calls_of(survey, survey.task_tools, "no tool that may be called runs as a task; allow one with --call-tool")


def _task_only_calls(survey: Survey) -> list[Json]:
    strict = [tool for tool in survey.task_tools if task_support(tool) == "required"]
    return _calls_of(survey, strict, "no tool that may be called has taskSupport required")


def _never_task_calls(survey: Survey) -> list[Json]:
    tools = _may_be_called(survey)
    if survey.declares(TASKS):
        tools = [tool for tool in tools if task_support(tool) == "forbidden"]
        # One that says so, one that says nothing, and so on: a server may heed only one of them.
        turns = ([tool for tool in tools if ("execution" in tool) is says] for says in (True, False))
        tools = [tool for pair in zip_longest(*turns) for tool in pair if tool is not None]
    # Of a server without tasks first the tools that say they run as such.
    tools = sorted(tools, key=lambda tool: task_support(tool) != "optional")
    return _calls_of(survey, tools, "no tool that may be called is without tasks")


def _tool_names(survey: Survey) -> list[Json]:
    names = [tool["name"] for tool in survey.tools if isinstance(tool.get("name"), str)]
    return _some(names, "the server lists no tool")


def _resource_uris(survey: Survey) -> list[Json]:
    return _some(survey.readable, "the server lists no resource")


def _listed_uris(survey: Survey) -> list[Json]:
    listed = [item["uri"] for item in survey.resources if isinstance(item.get("uri"), str)]
    return _some(listed, "the server lists no resource")


def catch_all(survey: Survey) -> str:
    """The template that may match any URI at all, "" if there is none."""
    for template in survey.templates:
        pattern = str(template.get("uriTemplate"))
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", pattern) or pattern.startswith("mcp-conform:"):
            return pattern
    return ""


def _unknown_resources(survey: Survey) -> list[Json]:
    if template := catch_all(survey):
        raise Unavailable(f"the template {template!r} may match any URI")
    alike = {"alike": survey.readable[0] + "-7f3a"} if survey.readable and not survey.templates else {}
    return [
        {"uri": NO_SUCH_URI, "other-uri": NO_SUCH_URI + "-other", "long-uri": "mcp-conform://" + "x" * 4096, **alike}
    ]


def _any_uris(survey: Survey) -> list[Json]:
    return [item["uri"] for item in survey.resources if isinstance(item.get("uri"), str)] or [NO_SUCH_URI]


def _prompts(survey: Survey) -> list[Json]:
    prompts = sorted(survey.named_prompts, key=lambda prompt: len(required_of(prompt)))
    found = [{"name": prompt.get("name"), "arguments": survey.prompt_arguments(prompt)} for prompt in prompts]
    return _some(found, "the server lists no prompt")


def _any_prompts(survey: Survey) -> list[Json]:
    try:
        return _prompts(survey)
    except Unavailable:
        return [{"name": NO_SUCH_PROMPT}]


def _strict_prompts(survey: Survey) -> list[Json]:
    strict = [prompt for prompt in survey.named_prompts if required_of(prompt)]
    found: list[Json] = [{"name": prompt["name"], "arguments": {}} for prompt in strict]
    # And with all but the last: who looks for one of them only may miss it. Those that lack all come first.
    several = [prompt for prompt in strict if len(required_of(prompt)) > 1]
    for prompt in several[:1]:
        given = survey.prompt_arguments(prompt)
        given.pop(required_of(prompt)[-1], None)
        found.insert(min(len(found), 2), {"name": prompt["name"], "arguments": given})
    return _some(found, "no prompt has a required argument")


def _bare_prompts(survey: Survey) -> list[Json]:
    found = [{"name": prompt.get("name")} for prompt in survey.named_prompts if not required_of(prompt)]
    return _some(found, "each prompt has a required argument")


def _prompts_in_two_ways(survey: Survey) -> list[Json]:
    found: list[Json] = []
    for prompt in survey.named_prompts:
        name, names = prompt.get("name"), arguments_of(prompt)
        # Digits, which a prompt that asks for a number takes as well.
        values = {"one": "1", "other": "2", "empty": "", "long": "x" * 2000}
        ways = {way: {"name": name, "arguments": dict.fromkeys(names, value)} for way, value in values.items()}
        if names:
            found.append({"name": name, **ways})
    return _some(found, "no prompt has an argument")


def _prompt_completions(survey: Survey) -> list[Json]:
    of_prompts = [each for each in completions(survey) if each["ref"]["type"] == "ref/prompt"]
    found = [{name: each[name] for name in ("ref", "argument")} for each in of_prompts]
    return _some(found, "no prompt has an argument to complete")


def _completions(survey: Survey) -> list[Json]:
    return _some(completions(survey), "the server lists no prompt with an argument and no template with a variable")


def _lists(survey: Survey) -> list[Json]:
    return _some(_all_lists(survey), "the server declares no list")


def _all_lists(survey: Survey) -> list[Json]:
    """Those that are given come first."""
    pages = dict(survey.pages)
    return [
        {
            "name": name,
            "method": LISTS[name][0],
            "member": LISTS[name][1],
            "key": KEYS[name],
            "capability": capability_of(name),
            "pages": pages.get(name, 0),
            "given": name in survey.given,
        }
        for name in sorted(survey.declared_lists, key=lambda name: name not in survey.given)
    ]


def _paged_lists(survey: Survey) -> list[Json]:
    found = [each for each in _lists(survey) if each["pages"] > 1]
    return _some(found, "no list is longer than a page")


def _quick_lists(survey: Survey) -> list[Json]:
    found = [each for each in _lists(survey) if each["name"] in survey.quick]
    return _some(found, f"no list is given within {QUICK:g} s")


def _announced_change(survey: Survey) -> list[Json]:
    names = [name for name in ("tools", "prompts", "resources") if survey.declares(f"{name}.listChanged")]
    found: list[Json] = [{f"{name}ListChanged": True} for name in names]
    uris = [item["uri"] for item in survey.resources if isinstance(item.get("uri"), str)]
    if survey.declares("resources.subscribe") and uris:
        found.append({"resourceSubscriptions": uris[:2]})
    return _some(found, "the server announces no change")


def _announced_changes(survey: Survey) -> list[Json]:
    return [{name: value for each in _announced_change(survey) for name, value in each.items()}]


def _good_requests(survey: Survey) -> list[Json]:
    return _some(_varied(_plain_requests(survey)), NOTHING)


def _any_requests(survey: Survey) -> list[Json]:
    found = _plain_requests(survey)
    if survey.versions:
        found.append({"method": "server/discover", "params": {}})
    else:
        found.append({"method": "ping", "params": {}})
        if survey.declares("logging"):
            found.append({"method": "logging/setLevel", "params": {"level": "debug"}})
        if survey.declares("tasks.list"):
            found.append({"method": "tasks/list", "params": {}})
    return _some(_varied(found), NOTHING)


def _plain_requests(survey: Survey) -> list[Json]:
    found: list[Json] = [{"method": LISTS[name][0], "params": {}} for name in survey.given]
    wanted = {"tools/call": _tool_calls, "prompts/get": _prompts, "resources/read": _reads}
    if survey.declares("completions"):
        wanted["completion/complete"] = _completions
    for method, kind in wanted.items():
        with suppress(Unavailable):
            params = {name: value for name, value in kind(survey)[0].items() if name in PARAMS}
            found.append({"method": method, "params": params})
    return found


def _varied(requests: list[Json]) -> list[Json]:
    """Each with the ways in which it may also be sent.

    The id that is a text is long and not of ASCII alone, the big number is beyond 31 bits.
    """
    for number, each in enumerate(requests):
        method, params = each["method"], each["params"]
        each["text-id"] = f" Mcp-Conform {method} {TEXT_ID} "
        each["big-id"], each["negative-id"] = 2**31 + 100 + number, -100 - number
        each["with-unknown-meta"] = {**params, "_meta": UNKNOWN_META}
        each["with-empty-meta"] = {**params, "_meta": {}}
        each["with-text-token"] = {**params, "_meta": {"progressToken": f"mcp-conform {method}"}}
        each["with-integer-token"] = {**params, "_meta": {"progressToken": 0}}
        each["of-another-client"] = {**params, "_meta": OTHER_CLIENT_META}
        each["without-client-info"] = {**params, "_meta": {**VERSION_META, **CAPABILITIES_META}}
        each["without-client-capabilities"] = {**params, "_meta": VERSION_META}
        each["without-protocol-version"] = {**params, "_meta": CAPABILITIES_META}
        each["with-client-capabilities-as-text"] = {**params, "_meta": CAPABILITIES_AS_TEXT}
        each["with-unknown-log-level"] = {**params, "_meta": UNKNOWN_LEVEL_META}
        each["in-unknown-version"] = {**params, "_meta": UNKNOWN_VERSION_META}
    return requests


def _reads(survey: Survey) -> list[Json]:
    return [{"uri": uri} for uri in _resource_uris(survey)]


def _stateless_methods(survey: Survey) -> list[Json]:
    return ["server/discover", *(each["method"] for each in _all_lists(survey))]


def _named_requests(survey: Survey) -> list[Json]:
    lacking = "the server lists no prompt and no resource, and no tool may be called; allow one with --call-tool"
    return _some(named_requests(survey), lacking)


def _mirrored_arguments(survey: Survey) -> list[Json]:
    return _some(mirrored_arguments(survey), "no tool that may be called has an argument with x-mcp-header")


def _modern_versions(survey: Survey) -> list[Json]:
    found = [version for version in survey.versions if version >= STATELESS[0].date]
    return _some(found, "supportedVersions names no modern version")


PICKS: dict[str, Callable[[Survey], list[Json]]] = {
    "tool-call": _tool_calls,
    "tool-call-without-arguments": _bare_tools,
    "tool-call-and-swapped-name": _swapped_tools,
    "tool-call-lacking-a-required-argument": _strict_tools,
    "tool-call-lacking-one-required-argument": _calls_lacking_one,
    "task-call": _task_calls,
    "task-only-call": _task_only_calls,
    "never-task-call": _never_task_calls,
    "tool-with-required-arguments": _tools_with_required,
    "tool-name": _tool_names,
    "resource-uri": _resource_uris,
    "listed-resource-uri": _listed_uris,
    "listed-or-unknown-resource-uri": _any_uris,
    "unknown-resource": _unknown_resources,
    "unknown-behind-template": unknown_behind_templates,
    "prompt-get": _prompts,
    "listed-or-unknown-prompt": _any_prompts,
    "prompt-get-lacking-a-required-argument": _strict_prompts,
    "prompt-get-without-arguments": _bare_prompts,
    "prompt-get-in-two-ways": _prompts_in_two_ways,
    "completion-of-prompt-argument": _prompt_completions,
    "completion": _completions,
    "listed-or-unknown-completion": completions_or_none_such,
    "declared-list": _lists,
    "paged-list": _paged_lists,
    "quick-list": _quick_lists,
    "announced-change": _announced_change,
    "announced-changes": _announced_changes,
    "good-request": _good_requests,
    "any-request": _any_requests,
    "stateless-method": _stateless_methods,
    "advertised-modern-version": _modern_versions,
    "named-request": _named_requests,
    "mirrored-argument": _mirrored_arguments,
}
"""Kind → all things of it that the target offers, never none: each raises Unavailable instead, and says what lacks."""


def picks(kind: str, survey: Survey) -> list[Json]:
    """All things of that kind. Raises Unavailable, KeyError for an unknown kind."""
    return PICKS[kind](survey)


def pick(kind: str, survey: Survey) -> Json:
    """The first thing of that kind. Raises Unavailable, KeyError for an unknown kind."""
    return picks(kind, survey)[0]
