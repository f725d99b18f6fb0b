"""An MCP server on PyPI mcp, with what everything.json describes.

Without arguments it speaks over its standard streams, with a port over Streamable HTTP.
"""

import asyncio
import base64
import json
import pathlib
import sys
import warnings

from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.resources import BinaryResource, TextResource
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    Completion,
    EmbeddedResource,
    InputRequiredResult,
    TextContent,
    TextResourceContents,
)

# The revision still has logging, which the SDK warns of at each call.
warnings.simplefilter("ignore")

fixture = json.loads((pathlib.Path(__file__).parent / "everything.json").read_text())
cached = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"]
server = MCPServer(
    "everything",
    version="1.0.0",
    cache_hints={method: CacheHint(60_000, "public") for method in cached},
)


def text(value: str) -> TextContent:
    return TextContent(type="text", text=value)


def result(content: list, is_error: bool = False) -> CallToolResult:
    return CallToolResult.model_validate({"content": content, "isError": is_error})


def answers(request: dict, response: dict | None) -> bool:
    """Whether a response is one to that request."""
    if response is None:
        return False
    match request["method"]:
        case "elicitation/create":
            required = request["params"]["requestedSchema"]["required"]
            return all(key in (response.get("content") or {}) for key in required)
        case "sampling/createMessage":
            return "content" in response
        case _:
            return isinstance(response.get("roots"), list)


def ask(spec: dict, context: Context) -> str | InputRequiredResult:
    """Asks, round by round, and says in the end what was answered."""
    capabilities = context.client_capabilities
    can = capabilities.model_dump(by_alias=True, exclude_none=True) if capabilities else {}
    given = {
        key: response.model_dump(mode="json", by_alias=True, exclude_none=True)
        for key, response in (context.input_responses or {}).items()
    }

    def wanted(at: int) -> dict:
        requests = spec["rounds"][at]
        lacking = {
            key: request["method"].split("/")[0]
            for key, request in requests.items()
            if request["method"].split("/")[0] not in can
        }
        if lacking and not spec.get("declared"):
            required = {name: {} for name in lacking.values()}
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY,
                "the client cannot do what is asked of it",
                {"requiredCapabilities": required},
            )
        return {key: request for key, request in requests.items() if key not in lacking}

    at = int(context.request_state or 0)
    if all(answers(request, given.get(key)) for key, request in wanted(at).items()):
        if at + 1 == len(spec["rounds"]):
            responses = {key: given[key] for key in wanted(at)}
            return f"{spec['text']}: {json.dumps(responses, sort_keys=True)}"
        at += 1
    state = str(at) if spec.get("state") else None
    asked = {"resultType": "input_required", "inputRequests": wanted(at), "requestState": state}
    return InputRequiredResult.model_validate(asked)


def constant(content: list, is_error: bool):
    def tool() -> CallToolResult:
        return result(content, is_error)

    return tool


def asking(spec: dict):
    async def tool(context: Context) -> CallToolResult | InputRequiredResult:
        answer = ask(spec, context)
        return answer if isinstance(answer, InputRequiredResult) else result([text(answer)])

    return tool


for spec in fixture["tools"]:
    answer = constant(spec["content"], spec.get("isError", False))
    server.add_tool(answer, name=spec["name"], description=spec["description"], structured_output=False)
for spec in fixture["asking"]:
    server.add_tool(asking(spec), name=spec["name"], description=spec["description"], structured_output=False)


def with_schema(spec: dict, answer) -> None:
    """A tool whose schema is not made of its function."""
    tool = Tool.from_function(answer, name=spec["name"], description=spec["description"], structured_output=False)
    server._tool_manager._tools[tool.name] = tool.model_copy(update={"parameters": spec["inputSchema"]})


def valid(name: str = "", phone: str = "", email: str = "") -> str:
    return fixture["schema"]["text"]


with_schema(fixture["schema"], valid)
with_schema(fixture["headers"], lambda region: region)

for number in range(fixture["fillers"]["count"]):
    description = fixture["fillers"]["description"]
    server.add_tool(constant([], False), name=f"filler_{number}", description=description, structured_output=False)


@server.tool()
async def test_tool_with_progress(context: Context) -> str:
    """Says how far it is."""
    for progress in (0, 50, 100):
        await context.report_progress(progress, 100, f"{progress} of 100")
        await asyncio.sleep(0.02)
    return "done"


async def log(context: Context) -> str:
    for word in ("started", "going on", "ended"):
        await context.info(word)
    await asyncio.sleep(0.02)
    return "logged"


for name in ("test_tool_with_logging", "test_logging_tool"):
    server.add_tool(log, name=name, description="Writes to the log of its caller.", structured_output=False)


@server.tool()
async def test_trigger_tool_change(context: Context) -> str:
    """Changes the tools."""
    await context.notify_tools_changed()
    return "changed"


@server.tool()
async def test_trigger_prompt_change(context: Context) -> str:
    """Changes the prompts."""
    await context.notify_prompts_changed()
    return "changed"


@server.tool()
def test_structured_content(a: float, b: float) -> dict[str, float]:
    """Adds."""
    return {"sum": a + b}


for spec in fixture["resources"]:
    fields = {key: spec[key] for key in ("uri", "name", "description")} | {"mime_type": spec["mimeType"]}
    if "text" in spec:
        server.add_resource(TextResource(**fields, text=spec["text"]))
    else:
        server.add_resource(BinaryResource(**fields, data=base64.b64decode(spec["blob"])))

template = fixture["template"]


@server.resource(
    template["uriTemplate"],
    name=template["name"],
    description=template["description"],
    mime_type=template["mimeType"],
)
def of_template(id: str) -> str:
    return json.dumps({"id": id, "data": f"of {id}"})


def prompt(spec: dict):
    return lambda: [{"role": "user", "content": content} for content in spec["content"]]


for spec in fixture["prompts"]:
    server.add_prompt(Prompt.from_function(prompt(spec), name=spec["name"], description=spec["description"]))


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments."""
    return f"{arg1} and {arg2}"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list:
    """A prompt with a resource."""
    resource = TextResourceContents(uri=resourceUri, mime_type="text/plain", text="embedded")
    return [EmbeddedResource(type="resource", resource=resource), text("read it")]


asked = fixture["promptAsking"]


@server.prompt(name=asked["name"], description=asked["description"])
def prompt_asking(context: Context) -> str | InputRequiredResult:
    return ask(asked, context)


@server.completion()
async def complete(ref, argument, context) -> Completion:
    values = [word for word in fixture["completion"] if word.startswith(argument.value)]
    return Completion(values=values, total=len(values), has_more=False)


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
