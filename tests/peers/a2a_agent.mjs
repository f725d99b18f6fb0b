// An A2A agent made with @a2a-js/sdk. What it does depends on how the message's id begins, as with
// a2a_agent.py.
//
//   node a2a_agent.mjs FOLDER
//
// FOLDER is the one whose node_modules has the SDK. It prints its URL and serves until it is ended.

import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

const load = createRequire(`${process.argv[2]}/`);
const { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent } =
  load("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = load("@a2a-js/sdk/server");
const { UserBuilder, agentCardHandler, jsonRpcHandler } = load("@a2a-js/sdk/server/express");
const express = load("express");

const PARTS = {
  text: { text: "Generated text content" },
  "file-url": { url: "https://example.com/output.txt", mediaType: "text/plain" },
  file: {
    raw: Buffer.from("file content").toString("base64"),
    mediaType: "text/plain",
    filename: "output.txt",
  },
  data: { data: { key: "value", count: 42 } },
};

// One request's events, written as the protocol's JSON.
class Events {
  constructor(bus, taskId, contextId) {
    Object.assign(this, { bus, taskId, contextId });
  }

  message(text) {
    const { taskId, contextId } = this;
    const parts = [{ text }];
    return { messageId: randomUUID(), taskId, contextId, role: "ROLE_AGENT", parts };
  }

  status(state, message) {
    const status = { state: `TASK_STATE_${state}`, timestamp: new Date().toISOString(), message };
    const { taskId, contextId } = this;
    const event = TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status });
    this.bus.publish(AgentEvent.statusUpdate(event));
  }

  artifact(artifactId, part, more = {}) {
    const { taskId, contextId } = this;
    const artifact = { artifactId, name: artifactId, parts: [part] };
    const event = TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact, ...more });
    this.bus.publish(AgentEvent.artifactUpdate(event));
  }
}

const agent = {
  contexts: new Map(),
  cancelled: new Set(),

  async execute({ userMessage, taskId, contextId, task }, bus) {
    const events = new Events(bus, taskId, contextId);
    const name = userMessage.messageId;
    const is = (beginning) => name.startsWith(beginning);
    if (is("tck-message-response")) {
      // No task is behind it.
      const message = { ...events.message("Direct message response"), taskId: "" };
      bus.publish(AgentEvent.message(Message.fromJSON(message)));
      return bus.finished();
    }
    const submitted = { id: taskId, contextId, status: { state: "TASK_STATE_SUBMITTED" } };
    const history = [userMessage];
    bus.publish(AgentEvent.task(task ?? { ...Task.fromJSON(submitted), history }));
    this.contexts.set(taskId, contextId);
    events.status("WORKING");
    if (is("tck-input-required") && task === undefined) {
      events.status("INPUT_REQUIRED");
    } else if (is("tck-reject-task")) {
      events.status("REJECTED");
    } else if (is("tck-artifact-") || is("tck-stream-artifact-file")) {
      const kind = Object.keys(PARTS).find((kind) => is(`tck-artifact-${kind}`)) ?? "file";
      events.artifact("output", PARTS[kind]);
      events.status("COMPLETED");
    } else if (is("tck-stream-artifact-chunked")) {
      for (const [place, text] of ["one ", "two ", "three"].entries()) {
        events.artifact("chunked", { text }, { append: place > 0, lastChunk: place === 2 });
      }
      events.status("COMPLETED");
    } else if (is("test-resubscribe-message-id") || is("slow")) {
      const steps = is("slow") ? 8 : 40;
      for (let step = 0; step < steps && !this.cancelled.has(taskId); step++) {
        await sleep(100);
        if (!this.cancelled.has(taskId)) events.status("WORKING");
      }
      if (!this.cancelled.has(taskId)) events.status("COMPLETED");
    } else if (is("large")) {
      events.artifact("large", { text: "x".repeat(16_000) });
      events.status("COMPLETED");
    } else {
      events.artifact("greeting", { text: "Hello from the SDK" });
      events.status("COMPLETED", events.message("Hello from the SDK"));
    }
    bus.finished();
  },

  async cancelTask(taskId, bus) {
    this.cancelled.add(taskId);
    new Events(bus, taskId, this.contexts.get(taskId)).status("CANCELED");
    bus.finished();
  },
};

const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const card = AgentCard.fromJSON({
    name: "SDK agent",
    description: "Answers by the message's id",
    version: "1.0.0",
    supportedInterfaces: [{ url: `${url}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "Echo", description: "Answers", tags: ["test"] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log(url);
});
