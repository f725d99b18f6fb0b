// An A2A client made with @a2a-js/sdk: the calls of a2a_client.py, and what comes of them in the
// same words.
//
//   node a2a_client.mjs FOLDER URL
//
// FOLDER is the one whose node_modules has the SDK.

import { createRequire } from "node:module";

const [folder, url] = process.argv.slice(2);
const load = createRequire(`${folder}/`);
const { CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageRequest } =
  load("@a2a-js/sdk");
const { SubscribeToTaskRequest, TaskPushNotificationConfig, taskStateToJSON } =
  load("@a2a-js/sdk");
const { ClientFactory } = load("@a2a-js/sdk/client");
const { A2A_ERROR_CODE } = load("@a2a-js/sdk/errors");

const state = (status) => taskStateToJSON(status.state).replace("TASK_STATE_", "");

function sorted(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

function parts(parts) {
  return parts.map(({ content: { $case: kind, value } }) => {
    if (kind === "raw") return `raw ${Buffer.from(value).toString("hex")}`;
    return kind === "data" ? `data ${JSON.stringify(sorted(value))}` : `${kind} ${value}`;
  });
}

function task(task) {
  return [`task ${state(task.status)}`, ...task.artifacts.flatMap((it) => parts(it.parts))];
}

function event({ payload: { $case: kind, value } }) {
  if (kind === "task") return task(value);
  if (kind === "message") return ["message", ...parts(value.parts)];
  if (kind === "statusUpdate") {
    return [`status ${state(value.status)}`, ...parts(value.status.message?.parts ?? [])];
  }
  return [value.append ? "artifact, more" : "artifact", ...parts(value.artifact.parts)];
}

async function seen(name, call) {
  let result;
  try {
    result = await call();
  } catch (error) {
    // What the SDK itself refuses has a reason and no code.
    result = `error ${error.envelopeCode ?? A2A_ERROR_CODE[error.reason] ?? error}`;
  }
  console.log(JSON.stringify({ call: name, seen: result }));
}

async function all(events) {
  const list = [];
  for await (const it of events) list.push(event(it));
  return list;
}

const client = await new ClientFactory().createFromUrl(url);

function request(messageId, more = {}, configuration = undefined) {
  const message = { messageId, role: "ROLE_USER", parts: [{ text: "hello" }], ...more };
  return SendMessageRequest.fromJSON({ message, configuration });
}

const isTask = (result) => result.status !== undefined;

async function sent(request) {
  const result = await client.sendMessage(request);
  return [isTask(result) ? task(result) : ["message", ...parts(result.parts)]];
}

const streamed = (request) => all(client.sendMessageStream(request));

for (const name of [
  "tck-complete-task",
  "tck-message-response",
  "tck-artifact-text",
  "tck-artifact-file",
  "tck-artifact-file-url",
  "tck-artifact-data",
  "tck-input-required",
  "tck-reject-task",
  "tck-stream-artifact-chunked",
]) {
  await seen(`${name}, call`, () => sent(request(`${name}-call`)));
  await seen(`${name}, stream`, () => streamed(request(`${name}-stream`)));
}
// A task that waits goes on with a second message.
const waiting = await client.sendMessage(request("tck-input-required-again"));
const { id, contextId } = waiting;
const more = request("tck-input-required-more", { taskId: id, contextId });
await seen("a second message", () => streamed(more));
const get = (id) => client.getTask(GetTaskRequest.fromJSON({ id }));
await seen("get", async () => task(await get(id)));
await seen("list", async () => {
  const list = await client.listTasks(ListTasksRequest.fromJSON({ contextId }));
  return [...list.tasks.map((it) => `task ${state(it.status)}`), `of ${list.totalSize}`];
});
await seen("a message to what is over", () => sent(more));
const cancel = (id) => client.cancelTask(CancelTaskRequest.fromJSON({ id }));
await seen("cancel what is over", async () => task(await cancel(id)));
await seen("get what is unknown", async () => task(await get("nobody's")));
const unknown = request("unknown", { taskId: "nobody's" });
await seen("a message to what is unknown", () => sent(unknown));
const subscribe = (id) => client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id }));
await seen("subscribe to what is over", () => all(subscribe(id)));
const config = TaskPushNotificationConfig.fromJSON({ taskId: id, url: "https://example.com/" });
await seen("ask for push notifications", async () => {
  await client.createTaskPushNotificationConfig(config);
  return "done";
});
// A subscription to a task that works: how much it shows in between is a matter of time.
const now = { returnImmediately: true };
const working = await client.sendMessage(request("slow", {}, now));
await seen("send without waiting", async () => [`task ${isTask(working)}`]);
await seen("subscribe", async () => {
  const events = await all(subscribe(working.id));
  return [events[0][0].split(" ")[0], events.at(-1)];
});
const cancelled = await client.sendMessage(request("slow-cancel", {}, now));
await seen("cancel", async () => task(await cancel(cancelled.id)));
