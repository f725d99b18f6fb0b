"""An A2A agent made with the Python SDK. What it does depends on how the message's id begins.

Usage: a2a_agent.py; it prints its URL and serves until it is ended.
"""

import asyncio
import socket

import uvicorn
from a2a.helpers import (
    new_data_part,
    new_raw_part,
    new_task_from_user_message,
    new_text_message,
    new_text_part,
    new_url_part,
)
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Role
from starlette.applications import Starlette

PARTS = {
    "text": lambda: new_text_part("Generated text content"),
    "file-url": lambda: new_url_part("https://example.com/output.txt", media_type="text/plain"),
    "file": lambda: new_raw_part(b"file content", media_type="text/plain", filename="output.txt"),
    "data": lambda: new_data_part({"key": "value", "count": 42}),
}


class Agent(AgentExecutor):
    async def execute(self, context, event_queue):
        message = context.message
        name = message.message_id
        if name.startswith("tck-message-response"):
            await event_queue.enqueue_event(
                new_text_message("Direct message response", role=Role.ROLE_AGENT)
            )
            return
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        if name.startswith("tck-input-required") and context.current_task is None:
            await task.requires_input()
        elif name.startswith("tck-reject-task"):
            await task.reject()
        elif name.startswith(("tck-artifact-", "tck-stream-artifact-file")):
            kinds = (kind for kind in PARTS if name.startswith(f"tck-artifact-{kind}"))
            kind = next(kinds, "file")
            await task.add_artifact([PARTS[kind]()], name="output")
            await task.complete()
        elif name.startswith("tck-stream-artifact-chunked"):
            for place, text in enumerate(["one ", "two ", "three"]):
                await task.add_artifact(
                    [new_text_part(text)],
                    artifact_id="chunked",
                    append=place > 0,
                    last_chunk=place == 2,
                )
            await task.complete()
        elif name.startswith(("test-resubscribe-message-id", "slow")):
            for _ in range(8 if name.startswith("slow") else 40):
                await asyncio.sleep(0.1)
                await task.start_work()
            await task.complete()
        elif name.startswith("large"):
            await task.add_artifact([new_text_part("x" * 16_000)], name="large")
            await task.complete()
        else:
            await task.add_artifact([new_text_part("Hello from the SDK")], name="greeting")
            await task.complete(new_text_message("Hello from the SDK", role=Role.ROLE_AGENT))

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    card = AgentCard(
        name="SDK agent",
        description="Answers by the message's id",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"{url}/", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="Echo", description="Answers", tags=["test"])],
    )
    handler = DefaultRequestHandler(
        agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card
    )
    routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler, rpc_url="/")
    config = uvicorn.Config(Starlette(routes=routes), log_level="warning")
    print(url, flush=True)
    uvicorn.Server(config).run(sockets=[listener])


main()
