"""Faults that break no rule of the specification, but that some client programs refuse or ignore."""

from __future__ import annotations

import os
import time
from threading import Event

from conformance.reference.call import Call
from conformance.reference.fault import (
    OPENING,
    Fault,
    around,
    instead,
    on_item,
    setting,
)
from conformance.reference.identity import INFO
from conformance.reference.tool import Tool, answer
from conformance.reference.wire import INTERNAL_ERROR, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

SLOW = 10.5
"""Seconds: more than what the quickest client waits for, and less than what the suite waits for."""
TOKEN = "REFERENCE_TOKEN"


def _argument(name: str, schema: Any, **definitions: Message) -> Apply:
    """List another schema for an argument of the tool `search`, which says no less than it takes."""

    def change(tool: Message) -> None:
        tool["inputSchema"]["properties"][name] = schema
        if definitions:
            tool["inputSchema"]["$defs"] = definitions

    return on_item("tools/list", "search", change)


def _extra(*names: str) -> Apply:
    def apply(server: Server) -> None:
        for name in names:
            server.tools[name] = Tool(name, "Say hello", lambda call, given: answer("Hello."))

    return apply


def _late(server: Server) -> None:
    waited = Event()

    def late(call: Call, proceed: Proceed) -> Message | None:
        if call.method in OPENING and not waited.is_set():
            waited.set()
            time.sleep(SLOW)
        return proceed(call)

    around(late)(server)


def _for_members_only(call: Call, proceed: Proceed) -> Message | None:
    if TOKEN not in os.environ:
        raise RpcError(INTERNAL_ERROR, f"{TOKEN} is not set")
    return proceed(call)


FAULTS = (
    Fault(
        "client-root-combinator",
        "client/root-combinator",
        "the inputSchema of a tool has allOf at its top level",
        on_item("tools/list", "search", lambda tool: tool["inputSchema"].update(allOf=[{"type": "object"}])),
    ),
    Fault(
        "client-array-items",
        "client/array-items",
        "an argument is an array of which the schema does not say what its items are",
        _argument("tags", {"type": "array", "maxItems": 5, "default": [], "description": "All needed"}),
    ),
    Fault(
        "client-boolean-subschema",
        "client/boolean-subschema",
        "the schema of an argument is true",
        _argument("exact", True),
    ),
    Fault(
        "client-references",
        "client/references",
        "the schema of an argument is a $ref",
        _argument("area", {"$ref": "#/$defs/area"}, area={"type": "string", "enum": ["all", "titles", "texts"]}),
    ),
    Fault("client-tool-name", "client/tool-name", "the name of a tool has a dot", _extra("say.hello")),
    Fault(
        "client-explicit-null",
        "client/explicit-null resources/list-shape",
        "the description of a resource is null, which the specification does not allow either",
        on_item("resources/list", "reference://text/readme", lambda resource: resource.update(description=None)),
    ),
    Fault(
        "client-tool-count",
        "client/tool-count",
        "there are more than 40 tools",
        _extra(*(f"hello_{i}" for i in range(30))),
    ),
    Fault(
        "client-server-version",
        "client/server-version",
        "the version of the server is empty",
        setting("info", {**INFO, "version": ""}),
    ),
    Fault(
        "client-start-time",
        "client/start-time",
        "the first answer comes after more than 10 seconds",
        _late,
        transports="stdio",
    ),
    Fault(
        "client-resource-mime-type",
        "client/resource-mime-type",
        "a resource has no mimeType",
        on_item("resources/list", "reference://text/readme", lambda resource: resource.pop("mimeType")),
    ),
    Fault(
        "client-credentials",
        "client/no-credentials",
        f"the tools are listed only where the variable {TOKEN} is set",
        instead("tools/list", _for_members_only),
    ),
)
