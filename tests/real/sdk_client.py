"""Use a server as the official Python SDK's client (PyPI mcp 2.3) does, and print what worked as JSON.

    python sdk_client.py [--era handshake|stateless] [--all-tools] URL
    python sdk_client.py [--era handshake|stateless] [--all-tools] -- COMMAND [ARGUMENT …]

Run with the Python of an environment that has mcp. It lists everything, page by page, calls the tools that are
annotated readOnlyHint (with --all-tools: all), reads every resource, gets every prompt, and completes the first
argument of each prompt if the server offers completions. Requests of the server are answered. Error results of
tools are counted, JSON-RPC errors are listed as refusals; both are answers. Any other exception (an answer that the
SDK does not accept, none at all, the wrong era) ends it with exit status 1.
"""

import argparse
import asyncio
import json
import sys
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

SECONDS = 30.0
"""The longest wait for one answer."""

NO_ANSWER = (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
"""Codes that the SDK makes up itself where no answer came."""


def example(schema: dict[str, Any], definitions: dict[str, Any]) -> Any:
    """A simple value that a JSON Schema admits; handles the keywords that tools' inputSchemas commonly have."""
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if "$ref" in schema:
        return example(definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions)
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return example(schema[key][0], definitions)
    kind = schema.get("type", "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            required = schema.get("required", ())
            return {name: example(schema["properties"].get(name, {}), definitions) for name in required}
        case "array":
            return [example(schema.get("items", {}), definitions)] * schema.get("minItems", 0)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
    return "text".ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]


async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    text = types.TextContent(type="text", text=f"An answer to {len(params.messages)} messages.")
    return types.CreateMessageResult(role="assistant", content=text, model="none", stop_reason="endTurn")


async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    if not isinstance(params, types.ElicitRequestFormParams):
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content=example(params.requested_schema, {}))


async def roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[])


async def pages(fetch: Callable[..., Awaitable[Any]], member: str) -> list[Any]:
    """All items of a list method, through every page."""
    items: list[Any] = []
    page = await fetch()
    items += getattr(page, member)
    while page.next_cursor is not None:
        page = await fetch(cursor=page.next_cursor)
        items += getattr(page, member)
    return items


class Use:
    """One use of a server; counts what was done and lists what the server refused."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.done: Counter[str] = Counter()
        self.refused: list[str] = []

    async def attempt(self, what: str, answer: Awaitable[Any]) -> Any:
        """The answer, or None where it is a JSON-RPC error."""
        try:
            return await answer
        except MCPError as error:
            if error.code in NO_ANSWER:
                raise
            self.refused.append(f"{what}: {error.code} {error.message}")
            return None

    async def tools(self, call_all: bool) -> None:
        for tool in await pages(self.client.list_tools, "tools"):
            self.done["tools"] += 1
            if call_all or (tool.annotations is not None and tool.annotations.read_only_hint):
                arguments = example(tool.input_schema, tool.input_schema.get("$defs", {}))
                result = await self.attempt(tool.name, self.client.call_tool(tool.name, arguments, SECONDS))
                self.done["tools called"] += 1
                self.done["error results"] += result is not None and bool(result.is_error)

    async def resources(self) -> None:
        self.done["templates"] = len(await pages(self.client.list_resource_templates, "resource_templates"))
        for resource in await pages(self.client.list_resources, "resources"):
            self.done["resources"] += 1
            result = await self.attempt(resource.uri, self.client.read_resource(resource.uri))
            self.done["contents"] += len(result.contents) if result else 0

    async def prompts(self, complete: bool) -> None:
        for prompt in await pages(self.client.list_prompts, "prompts"):
            self.done["prompts"] += 1
            required = {argument.name: "text" for argument in prompt.arguments or () if argument.required}
            result = await self.attempt(prompt.name, self.client.get_prompt(prompt.name, required))
            self.done["messages"] += len(result.messages) if result else 0
            if complete and prompt.arguments:
                reference = types.PromptReference(type="ref/prompt", name=prompt.name)
                argument = {"name": prompt.arguments[0].name, "value": ""}
                await self.attempt(f"completion for {prompt.name}", self.client.complete(reference, argument))
                self.done["completions"] += 1

    async def everything(self, call_all: bool) -> dict[str, Any]:
        """Use all that the server declares, and sum up."""
        capabilities = self.client.server_capabilities
        if self.client.mode == "legacy":
            await self.client.send_ping()
            self.done["pings"] += 1
        if capabilities.tools is not None:
            await self.tools(call_all)
        if capabilities.resources is not None:
            await self.resources()
        if capabilities.prompts is not None:
            await self.prompts(capabilities.completions is not None)
        server = self.client.server_info
        return {
            "revision": self.client.protocol_version,
            "server": server.name if server else None,
            **self.done,
            "refused": self.refused,
        }


async def main() -> dict[str, Any]:
    parser = argparse.ArgumentParser(description="Use a server as the official Python SDK's client does.")
    parser.add_argument("--era", choices=("handshake", "stateless"), default="handshake")
    parser.add_argument("--all-tools", action="store_true", help="call also the tools that are not read-only")
    parser.add_argument("server", nargs="+", help="a URL, or the command after --")
    options = parser.parse_args()
    # What only the handshake era has is deprecated in the SDK; it is used here on purpose.
    warnings.simplefilter("ignore")
    command: list[str] = options.server
    is_url = len(command) == 1 and command[0].startswith(("http://", "https://"))
    async with Client(
        command[0] if is_url else StdioServerParameters(command=command[0], args=command[1:]),
        # auto asks server/discover, as clients of the stateless era do, and falls back to the handshake.
        mode="legacy" if options.era == "handshake" else "auto",
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        read_timeout_seconds=SECONDS,
        cache=None,
    ) as client:
        if options.era == "stateless" and client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            raise RuntimeError(f"the server does not speak the stateless era, but {client.protocol_version}")
        return await Use(client).everything(options.all_tools)


if __name__ == "__main__":
    try:
        print(json.dumps(asyncio.run(main())))
    except Exception as error:
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        sys.exit(1)
