"""An MCP server with one tool for each thing that an answer can be.

Without arguments it speaks over its standard streams, with a port over Streamable HTTP.
"""

import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

server = MCPServer("fixture", version="1.0.0")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def count(steps: int, context: Context) -> str:
    """Reports progress step by step."""
    for step in range(1, steps + 1):
        await context.report_progress(step, steps, f"step {step}")
    return f"{steps} steps"


@server.tool()
async def log(text: str, context: Context) -> str:
    """Writes to the log of its caller."""
    await context.info(text)
    return "logged"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("on purpose")


@server.tool()
def repeat(text: str, times: int) -> str:
    """Says something again and again."""
    return text * times


@server.tool()
async def greet(context: Context) -> str | InputRequiredResult:
    """Asks for a name and greets it."""
    responses = context.input_responses
    if not responses:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        params = ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
        return InputRequiredResult(
            input_requests={"name": ElicitRequest(params=params)}, request_state="a state"
        )
    return f"hello {responses['name'].content['name']} {context.request_state}"


def filler(number: int) -> None:
    @server.tool(name=f"filler_{number:02}", description="One of many tools. " * 20)
    def tool(text: str) -> str:
        return text


for number in range(60):
    filler(number)

if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
