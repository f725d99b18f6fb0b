// An MCP server on @modelcontextprotocol/server, with what everything.json describes.
//
//   node everything.mjs FOLDER [PORT]
//
// FOLDER is the one whose node_modules has the package. Without a port it speaks over its standard
// streams, with one over Streamable HTTP.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [folder, port] = process.argv.slice(2);
const load = createRequire(resolve(folder) + "/");
const sdk = load("@modelcontextprotocol/server");
const fixture = JSON.parse(readFileSync(new URL("everything.json", import.meta.url)));
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

const states = sdk.createRequestStateCodec({ key: "a key of the fixture, 32 bytes at least" });
const text = (text) => ({ type: "text", text });
const user = (content) => ({ role: "user", content });

/// Whether a response is one to that request.
function answers({ method, params }, response) {
  if (response === null || typeof response !== "object") return false;
  switch (method) {
    case "elicitation/create":
      return params.requestedSchema.required.every((key) => key in (response.content ?? {}));
    case "sampling/createMessage":
      return "content" in response;
    default:
      return Array.isArray(response.roots);
  }
}

/// JSON whose members are sorted: over Service RPC they come in another order than they were sent.
function sorted(value) {
  const fields = (_, it) =>
    it?.constructor === Object ? Object.fromEntries(Object.entries(it).sort(([a], [b]) => (a < b ? -1 : 1))) : it;
  return JSON.stringify(value, fields);
}

/// Asks, round by round, and says in the end what was answered.
async function ask({ rounds, state, declared, text }, ctx) {
  let round = ctx.mcpReq.requestState()?.round ?? 0;
  const given = ctx.mcpReq.inputResponses ?? {};
  const can = ctx.mcpReq.envelope?.[CAPABILITIES] ?? {};
  const wanted = (round) =>
    Object.entries(rounds[round]).filter(([, { method }]) => !declared || method.split("/")[0] in can);
  if (wanted(round).every(([key, request]) => answers(request, given[key]))) {
    if (round + 1 === rounds.length) {
      const responses = Object.fromEntries(wanted(round).map(([key]) => [key, given[key]]));
      return { done: `${text}: ${sorted(responses)}` };
    }
    round += 1;
  }
  const asked = { inputRequests: Object.fromEntries(wanted(round)) };
  if (state) asked.requestState = await states.mint({ round });
  return { more: sdk.inputRequired(asked) };
}

function factory() {
  const cacheHint = { ttlMs: 60_000, cacheScope: "public" };
  const cached = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"];
  const server = new sdk.McpServer(
    { name: "everything", version: "1.0.0" },
    {
      capabilities: { logging: {}, completions: {} },
      cacheHints: Object.fromEntries(cached.map((method) => [method, cacheHint])),
      requestState: { verify: states.verify },
    },
  );
  for (const { name, description, content, isError } of fixture.tools) {
    server.registerTool(name, { description }, () => ({ content, ...(isError && { isError }) }));
  }
  for (const spec of fixture.asking) {
    server.registerTool(spec.name, { description: spec.description }, async (ctx) => {
      const { done, more } = await ask(spec, ctx);
      return more ?? { content: [text(done)] };
    });
  }
  const { schema, headers, fillers, template, promptAsking } = fixture;
  const tool = (name, description, inputSchema, answer) =>
    server.registerTool(name, { description, inputSchema: sdk.fromJsonSchema(inputSchema) }, answer);
  tool(schema.name, schema.description, schema.inputSchema, () => ({ content: [text(schema.text)] }));
  tool(headers.name, headers.description, headers.inputSchema, ({ region }) => ({ content: [text(region)] }));
  const numbers = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] };
  const sum = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
  server.registerTool(
    "test_structured_content",
    { description: "Adds.", inputSchema: sdk.fromJsonSchema(numbers), outputSchema: sdk.fromJsonSchema(sum) },
    ({ a, b }) => ({ content: [text(String(a + b))], structuredContent: { sum: a + b } }),
  );
  for (let number = 0; number < fillers.count; number++) {
    server.registerTool(`filler_${number}`, { description: fillers.description }, () => ({ content: [] }));
  }

  server.registerTool("test_tool_with_progress", { description: "Says how far it is." }, async (ctx) => {
    const { progressToken } = ctx.mcpReq._meta ?? {};
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100, message: `${progress} of 100` };
      if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params });
      await sleep(20);
    }
    return { content: [text("done")] };
  });
  for (const name of ["test_tool_with_logging", "test_logging_tool"]) {
    server.registerTool(name, { description: "Writes to the log of its caller." }, async (ctx) => {
      for (const word of ["started", "going on", "ended"]) await ctx.mcpReq.log("info", word);
      await sleep(20);
      return { content: [text("logged")] };
    });
  }
  server.registerTool("test_trigger_tool_change", { description: "Changes the tools." }, () => {
    notify(server).toolsChanged();
    return { content: [text("changed")] };
  });
  server.registerTool("test_trigger_prompt_change", { description: "Changes the prompts." }, () => {
    notify(server).promptsChanged();
    return { content: [text("changed")] };
  });

  for (const { name, uri, description, mimeType, ...content } of fixture.resources) {
    server.registerResource(name, uri, { description, mimeType }, () => ({
      contents: [{ uri, mimeType, ...content }],
    }));
  }
  const templates = new sdk.ResourceTemplate(template.uriTemplate, { list: undefined });
  const { description, mimeType } = template;
  server.registerResource(template.name, templates, { description, mimeType }, ({ href: uri }, { id }) => ({
    contents: [{ uri, mimeType, text: JSON.stringify({ id, data: `of ${id}` }) }],
  }));

  const prompt = (name, description, argsSchema, answer) =>
    server.registerPrompt(name, { description, argsSchema: argsSchema && sdk.fromJsonSchema(argsSchema) }, answer);
  for (const { name, description, content } of fixture.prompts) {
    prompt(name, description, undefined, () => ({ messages: content.map(user) }));
  }
  const strings = (...names) => ({
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
    required: names,
  });
  prompt("test_prompt_with_arguments", "A prompt with two arguments.", strings("arg1", "arg2"), (args) => ({
    messages: [user(text(`${args.arg1} and ${args.arg2}`))],
  }));
  prompt("test_prompt_with_embedded_resource", "A prompt with a resource.", strings("resourceUri"), (args) => {
    const resource = { uri: args.resourceUri, mimeType: "text/plain", text: "embedded" };
    return { messages: [user({ type: "resource", resource }), user(text("read it"))] };
  });
  prompt(promptAsking.name, promptAsking.description, undefined, async (ctx) => {
    const { done, more } = await ask(promptAsking, ctx);
    return more ?? { messages: [user(text(done))] };
  });
  server.server.setRequestHandler("completion/complete", ({ params }) => {
    const values = fixture.completion.filter((word) => word.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  return server;
}

/// Who is told of changes.
let notify = ({ server }) => ({
  toolsChanged: () => server.sendToolListChanged(),
  promptsChanged: () => server.sendPromptListChanged(),
});

if (port === undefined) {
  load("@modelcontextprotocol/server/stdio").serveStdio(factory);
} else {
  const handler = sdk.createMcpHandler(factory);
  notify = () => handler.notify;
  const { toNodeHandler, localhostHostValidation, localhostOriginValidation } = load("@modelcontextprotocol/node");
  const [isHost, isOrigin] = [localhostHostValidation(), localhostOriginValidation()];
  const answer = toNodeHandler(handler);
  createServer((request, response) => {
    if (isHost(request, response) && isOrigin(request, response)) answer(request, response);
  }).listen(Number(port), "127.0.0.1");
}
