"""An MCP client on PyPI mcp that takes steps against a server and prints a line for each.

python steps.py STEPS COMMAND...

STEPS is a JSON array of objects with a method and params. Lists are fetched page by page. A line
has the step's result or its error, and the progress and the log that came with it. Whatever the
server asks for is answered: see steps.mjs and steps.rs, which answer the same.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, PromptReference

progress = []
log = []


async def elicit(context, params):
    properties = params.requested_schema["properties"]
    content = {key: True if schema["type"] == "boolean" else "ann" for key, schema in properties.items()}
    return ElicitResult(action="accept", content=content)


async def sample(context, params):
    content = {"type": "text", "text": "Paris"}
    answer = {"role": "assistant", "content": content, "model": "steps", "stopReason": "endTurn"}
    return CreateMessageResult.model_validate(answer)


async def roots(context):
    return ListRootsResult.model_validate({"roots": [{"uri": "file:///steps", "name": "steps"}]})


async def on_progress(done, total, message):
    progress.append([done, total, message])


async def on_log(params):
    log.append(params.data)


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def pages(name, fetch):
    entries, cursor = [], None
    while True:
        page = plain(await fetch(cursor=cursor))
        entries += page[name]
        if (cursor := page.get("nextCursor")) is None:
            return {name: entries}


async def step(client, method, params):
    match method:
        case "tools/list":
            return await pages("tools", client.list_tools)
        case "prompts/list":
            return await pages("prompts", client.list_prompts)
        case "resources/list":
            return await pages("resources", client.list_resources)
        case "resources/templates/list":
            return await pages("resourceTemplates", client.list_resource_templates)
        case "tools/call":
            meta = {"io.modelcontextprotocol/logLevel": "debug"}
            arguments = params.get("arguments", {})
            return plain(
                await client.call_tool(params["name"], arguments, progress_callback=on_progress, meta=meta)
            )
        case "prompts/get":
            return plain(await client.get_prompt(params["name"], params.get("arguments")))
        case "resources/read":
            return plain(await client.read_resource(params["uri"]))
        case "completion/complete":
            ref = PromptReference.model_validate(params["ref"])
            return plain(await client.complete(ref, params["argument"]))
    raise ValueError(f"{method} is no step")


async def main() -> None:
    steps, command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args)
    callbacks = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
    async with Client(server, mode="2026-07-28", logging_callback=on_log, **callbacks) as client:
        for asked in json.loads(steps):
            progress.clear()
            log.clear()
            try:
                seen = {"result": await step(client, asked["method"], asked.get("params", {}))}
            except MCPError as error:
                seen = {"error": plain(error.error)}
            print(json.dumps(seen | {"progress": progress, "log": log}), flush=True)


asyncio.run(main())
