"""Probes of what a server lists and then does not know: one among many."""

from __future__ import annotations

import time
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.lists import walk
from conformance.checks.probes.outcome import code_of, succeeded, uris_of
from conformance.codes import RESOURCE_NOT_FOUND
from conformance.model import Json, members
from conformance.session.session import Call, Session, encode
from conformance.survey.survey import Unavailable

MOST = 50
"""Things of a kind that are looked at."""
SECONDS = 5.0
"""After that no further one is looked at."""
NONE_SUCH = "-mcp-conform-no-such"
"""Behind the name of a thing that there is, it names one that there is not."""

ASKED_BY = {"tools": ("tools/call", "name"), "prompts": ("prompts/get", "name"), "resources": ("resources/read", "uri")}
"""The list → the method that asks for one of its things, and the member that names it."""


def prompts(bench: Bench) -> Iterator[Observation]:
    """Each listed prompt, at most MOST: whether it is answered as one that does not exist, which takes comparing."""
    listed = [
        {"name": prompt["name"], "arguments": bench.survey.prompt_arguments(prompt)}
        for prompt in bench.survey.named_prompts
    ]
    yield from _each(bench, *ASKED_BY["prompts"], listed)


def resources(bench: Bench) -> Iterator[Observation]:
    """Each listed resource, at most MOST: whether it is answered as one that does not exist, and whose contents come.

    It compares answers, and URIs with those of other resources and of templates.
    """
    uris = [item["uri"] for item in bench.survey.resources if isinstance(item.get("uri"), str)]
    templates = {str(item.get("uriTemplate")) for item in bench.survey.templates}
    for seen in _each(bench, *ASKED_BY["resources"], [{"uri": uri} for uri in dict.fromkeys(uris)]):
        assert seen.call is not None
        yield Observation({**seen.values, **_whose(seen.call, set(uris), templates)}, seen.call, seen.frames)


def newly_listed(bench: Bench, name: str, keys: set[str]) -> Iterator[Observation]:
    """Ask for what has come to a list: whether the server knows it, `new` being the name of the list.

    Tools are called with no arguments, and only those that may be.
    """
    if name not in ASKED_BY:
        return
    method, member = ASKED_BY[name]
    tools = walk(bench.session, name).items if name == "tools" else []
    barred = {tool.get("name") for tool in tools if not bench.survey.policy.allows(tool)}
    asked = [{member: key} for key in sorted(keys - barred)]
    for seen in _each(bench, method, member, asked) if asked else ():
        yield Observation({**seen.values, "new": name}, seen.call, seen.frames)


def unknown(session: Session, call: Call, member: str) -> bool:
    """Whether the failed `call` of what is listed was answered as one with another name, of what does not exist.

    Only if the answer names it, or has a code that says so: a server may have one sentence for all that goes wrong.
    """
    name = str(call.params[member])
    said = _without(call, name)
    code = code_of(call)
    if said == encode(_body(call)).decode("utf-8", "replace") and code != RESOURCE_NOT_FOUND:
        return False
    other = session.request(call.method, {**call.params, member: name + NONE_SUCH})
    if not other.answers or succeeded(other):
        return False
    if code == code_of(other) == RESOURCE_NOT_FOUND:  # then the sentence is enough: data may come with one of them
        alike = _sentence(other, name + NONE_SUCH) == _sentence(call, name)
    else:
        alike = _without(other, name + NONE_SUCH) == said
    return alike and _still_listed(session, call.method, call.params[member])


def _each(bench: Bench, method: str, member: str, asked: list[dict[str, Json]]) -> Iterator[Observation]:
    if not asked:
        raise Unavailable(f"the server lists no {method.partition('/')[0][:-1]}")
    session, began = bench.session, time.monotonic()
    for number, params in enumerate(asked[:MOST], 1):
        if number > 1 and time.monotonic() - began > SECONDS:
            return
        if session.patience.features.avoids(method, params):
            continue
        call = session.request(method, params)
        if not call.answers:
            continue
        facts: dict[str, Json] = {"name": params[member], "number": number, "of": len(asked), "known": True}
        if not succeeded(call) and unknown(session, call, member):
            facts["known"] = False
        yield Observation(facts, call)


def _still_listed(session: Session, method: str, key: Json) -> bool:
    """Whether the list still has it: what has vanished meanwhile is rightly unknown."""
    name = method.partition("/")[0]
    return key in walk(session, name).keys(name)


def _whose(call: Call, uris: set[str], templates: set[str]) -> dict[str, Json]:
    """What is odd about the URIs of the contents: that they are all another resource's, or a template."""
    found = [uri for uri in uris_of(call) if isinstance(uri, str)]
    asked = call.params["uri"]
    # A template without variables may be listed as a resource, too.
    if (template := next((uri for uri in found if uri in templates and uri != asked), None)) is not None:
        return {"template": template}
    if found and all(uri != asked and uri in uris and not uri.startswith(asked) for uri in found):
        return {"other": found[0]}
    return {}


def _body(call: Call) -> Json:
    return call.error if call.error is not None else call.result


def _without(call: Call, name: str) -> str:
    """What was answered, without the name."""
    return _unnamed(_body(call), name)


def _sentence(call: Call, name: str) -> str:
    """The message of an error, without the name."""
    return _unnamed(members(call.error).get("message"), name)


def _unnamed(value: Json, name: str) -> str:
    return encode(value).decode("utf-8", "replace").replace(encode(name).decode()[1:-1], "…")
