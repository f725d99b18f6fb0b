"""An A2A client made with the Python SDK: what it gets from the agent at a URL, one line of JSON
for each call.

Usage: a2a_client.py URL

What it writes holds no id and no time, since these are the agent's and differ from call to call,
and of an error its code alone: everything else is to be the same whichever way it has come.
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
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP
from google.protobuf.json_format import MessageToDict


def request(name, configuration=None, **more):
    message = Message(
        message_id=name, role=Role.ROLE_USER, parts=[new_text_part("hello")], **more
    )
    return SendMessageRequest(message=message, configuration=configuration)


def state(status):
    return TaskState.Name(status.state).removeprefix("TASK_STATE_")


def part(part):
    kind = part.WhichOneof("content")
    value = getattr(part, kind)
    if kind == "data":
        # A number of protobuf's is a double; JSON has no such distinction.
        value = json.dumps(MessageToDict(value), sort_keys=True, separators=(",", ":"))
        value = value.replace(".0", "")
    return f"{kind} {value.hex() if kind == 'raw' else value}"


def parts(parts):
    return [part(p) for p in parts]


def task(task):
    return [f"task {state(task.status)}"] + [p for a in task.artifacts for p in parts(a.parts)]


def event(event):
    kind = event.WhichOneof("payload")
    value = getattr(event, kind)
    if kind == "task":
        return task(value)
    if kind == "message":
        return ["message"] + parts(value.parts)
    if kind == "status_update":
        return [f"status {state(value.status)}"] + parts(value.status.message.parts)
    name = "artifact, more" if value.append else "artifact"
    return [name] + parts(value.artifact.parts)


async def events(stream):
    return [event(e) async for e in stream]


async def seen(name, call):
    try:
        result = await call
    except Exception as error:  # noqa: BLE001
        result = f"error {JSON_RPC_ERROR_CODE_MAP.get(type(error), repr(error))}"
    print(json.dumps({"call": name, "seen": result}), flush=True)


async def first_task(stream):
    async for e in stream:
        return e.task
    raise ValueError("no task")


async def main():
    url = sys.argv[1]
    call = await ClientFactory(ClientConfig(streaming=False)).create_from_url(url)
    stream = await ClientFactory(ClientConfig(streaming=True)).create_from_url(url)
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
        await seen(f"{name}, call", events(call.send_message(request(f"{name}-call"))))
        await seen(f"{name}, stream", events(stream.send_message(request(f"{name}-stream"))))
    # A task that waits goes on with a second message.
    waiting = await first_task(call.send_message(request("tck-input-required-again")))
    more = {"task_id": waiting.id, "context_id": waiting.context_id}
    more = request("tck-input-required-more", **more)
    await seen("a second message", events(stream.send_message(more)))

    async def get(name):
        return task(await call.get_task(GetTaskRequest(id=name)))

    async def listed():
        found = await call.list_tasks(ListTasksRequest(context_id=waiting.context_id))
        tasks = [f"task {state(t.status)}" for t in found.tasks]
        return tasks + [f"of {found.total_size}"]

    async def cancel(name):
        return task(await call.cancel_task(CancelTaskRequest(id=name)))

    async def push():
        config = TaskPushNotificationConfig(task_id=waiting.id, url="https://example.com/")
        await call.create_task_push_notification_config(config)
        return "done"

    def subscribe(name):
        return events(stream.subscribe(SubscribeToTaskRequest(id=name)))

    await seen("get", get(waiting.id))
    await seen("list", listed())
    await seen("a message to what is over", events(call.send_message(more)))
    await seen("cancel what is over", cancel(waiting.id))
    await seen("get what is unknown", get("nobody's"))
    unknown = request("unknown", task_id="nobody's")
    await seen("a message to what is unknown", events(call.send_message(unknown)))
    await seen("subscribe to what is over", subscribe(waiting.id))
    await seen("ask for push notifications", push())

    # A subscription to a task that works: how much it shows in between is a matter of time.
    now = SendMessageConfiguration(return_immediately=True)
    working = await first_task(call.send_message(request("slow", now)))

    async def send():
        return [f"task {str(working is not None).lower()}"]

    async def subscription():
        seen = await subscribe(working.id)
        return [seen[0][0].split(" ")[0], seen[-1]]

    await seen("send without waiting", send())
    await seen("subscribe", subscription())
    cancelled = await first_task(call.send_message(request("slow-cancel", now)))
    await seen("cancel", cancel(cancelled.id))
    await call.close()
    await stream.close()


asyncio.run(main())
