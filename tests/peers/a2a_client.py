"""An A2A client made with the Python SDK: what it gets from the agent at a URL, one line of JSON
for each call.

Usage: a2a_client.py URL
"""

import asyncio
import json
import sys

from a2a.client import ClientConfig, ClientFactory
from a2a.helpers import new_text_part
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from google.protobuf.json_format import MessageToDict


def message(name, **more):
    parts = [new_text_part("hello")]
    return Message(message_id=name, role=Role.ROLE_USER, parts=parts, **more)


def part(part):
    kind = part.WhichOneof("content")
    value = getattr(part, kind)
    if kind == "data":
        return [kind, MessageToDict(value)]
    return [kind, value.hex() if isinstance(value, bytes) else str(value)]


def event(event):
    kind = event.WhichOneof("payload") if hasattr(event, "WhichOneof") else "task"
    value = getattr(event, kind) if hasattr(event, "WhichOneof") else event
    seen = {"kind": kind}
    if kind in ("task", "status_update"):
        seen["state"] = TaskState.Name(value.status.state)
    if kind == "task":
        seen["artifacts"] = [[part(p) for p in a.parts] for a in value.artifacts]
    if kind == "message":
        seen["parts"] = [part(p) for p in value.parts]
    if kind == "artifact_update":
        seen["parts"] = [part(p) for p in value.artifact.parts]
        seen["append"] = value.append
    return seen


def show(name, seen):
    print(json.dumps({"call": name, "seen": seen}, sort_keys=True), flush=True)


async def error_of(call):
    try:
        result = call
        if hasattr(call, "__aiter__"):
            result = [event async for event in call]
        else:
            result = await call
        return f"no error: {result}"
    except Exception as error:  # noqa: BLE001
        return type(error).__name__


async def main():
    url = sys.argv[1]
    for streaming in (False, True):
        config = ClientConfig(streaming=streaming)
        client = await ClientFactory(config).create_from_url(url)
        how = "stream" if streaming else "call"
        for name in [
            "tck-complete-task",
            "tck-message-response",
            "tck-artifact-text",
            "tck-artifact-file",
            "tck-artifact-file-url",
            "tck-artifact-data",
            "tck-input-required",
            "tck-reject-task",
            "tck-stream-artifact-chunked",
        ]:
            request = SendMessageRequest(message=message(f"{name}-{how}"))
            seen = [event(e) async for e in client.send_message(request)]
            show(f"{name}-{how}", seen)
    # A task that waits goes on with a second message.
    request = SendMessageRequest(message=message("tck-input-required-again"))
    task = None
    async for e in client.send_message(request):
        if e.WhichOneof("payload") == "task":
            task = e.task
    more = {"task_id": task.id, "context_id": task.context_id}
    request = SendMessageRequest(message=message("tck-input-required-more", **more))
    show("goes on", [event(e) async for e in client.send_message(request)])
    seen = await client.get_task(GetTaskRequest(id=task.id))
    show("get", TaskState.Name(seen.status.state))
    listed = await client.list_tasks(ListTasksRequest(context_id=task.context_id))
    show("list", [[TaskState.Name(t.status.state) for t in listed.tasks], listed.total_size])
    over = CancelTaskRequest(id=task.id)
    show("cancel what is over", await error_of(client.cancel_task(over)))
    unknown = GetTaskRequest(id="nobody's")
    show("get what is unknown", await error_of(client.get_task(unknown)))
    subscribe = SubscribeToTaskRequest(id=task.id)
    show("subscribe to what is over", await error_of(client.subscribe(subscribe)))
    # A subscription to a task that works.
    name = "test-resubscribe-message-id"
    request = SendMessageRequest(message=message(name))
    stream = client.send_message(request)
    first = await anext(stream)
    subscription = client.subscribe(SubscribeToTaskRequest(id=first.task.id))
    seen = [event(e) async for e in subscription]
    show("subscribe", [seen[0]["kind"], seen[-1]["state"]])
    await client.close()


asyncio.run(main())
