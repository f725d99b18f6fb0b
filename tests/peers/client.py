"""Lists and calls what the fixture server has, and prints what came of it as JSON.

The server is a URL, or a program with its arguments.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult


async def main() -> None:
    words = sys.argv[1:]
    if words[0].startswith("http"):
        target = words[0]
    else:
        target = StdioServerParameters(command=words[0], args=words[1:])
    seen = {}
    steps = []

    async def progress(done, total, message):
        steps.append([done, total, message])

    async def elicit(context, params):
        return ElicitResult(action="accept", content={"name": "ann"})

    async with Client(target, mode="2026-07-28", elicitation_callback=elicit) as client:
        tools = []
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        seen["tools"] = [tool.model_dump(mode="json", by_alias=True) for tool in tools]

        async def call(name, **arguments):
            result = await client.call_tool(name, arguments)
            seen[name] = result.model_dump(mode="json", by_alias=True, exclude_none=True)

        await call("add", a=1, b=2)
        await call("fail")
        await call("log", text="hello")
        await call("greet")
        await call("repeat", text="\u00e9\n\u2028\"", times=2000)
        await client.call_tool("count", {"steps": 3}, progress_callback=progress)
        seen["steps"] = steps
        try:
            await client.call_tool("nothing", {})
        except Exception as error:
            seen["nothing"] = str(error)
    print(json.dumps(seen, sort_keys=True))


asyncio.run(main())
