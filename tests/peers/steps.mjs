// An MCP client on @modelcontextprotocol/client that takes steps against a server and prints a line
// for each, as steps.py does.
//
//   node steps.mjs FOLDER STEPS COMMAND...
//
// FOLDER is the one whose node_modules has the package.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, steps, command, ...args] = process.argv.slice(2);
const load = createRequire(resolve(folder) + "/");
const { Client, ProtocolError } = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");

const client = new Client(
  { name: "steps", version: "1.0.0" },
  {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  },
);
client.setRequestHandler("elicitation/create", ({ params }) => {
  const properties = Object.entries(params.requestedSchema.properties);
  const value = ({ type }) => (type === "boolean" ? true : "ann");
  return { action: "accept", content: Object.fromEntries(properties.map(([key, it]) => [key, value(it)])) };
});
client.setRequestHandler("sampling/createMessage", () => ({
  role: "assistant",
  content: { type: "text", text: "Paris" },
  model: "steps",
  stopReason: "endTurn",
}));
client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///steps", name: "steps" }] }));

let progress = [];
let log = [];
client.setNotificationHandler("notifications/message", ({ params }) => void log.push(params.data));
const options = { onprogress: ({ progress: done, total, message }) => progress.push([done, total, message]) };

async function pages(name, fetch) {
  const entries = [];
  let cursor = "";
  do {
    const page = await fetch(cursor === "" ? undefined : { cursor });
    entries.push(...page[name]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return { [name]: entries };
}

function step(method, params) {
  switch (method) {
    case "tools/list":
      return pages("tools", (page) => client.listTools(page));
    case "prompts/list":
      return pages("prompts", (page) => client.listPrompts(page));
    case "resources/list":
      return pages("resources", (page) => client.listResources(page));
    case "resources/templates/list":
      return pages("resourceTemplates", (page) => client.listResourceTemplates(page));
    case "tools/call": {
      const _meta = { "io.modelcontextprotocol/logLevel": "debug" };
      return client.callTool({ ...params, _meta }, options);
    }
    case "prompts/get":
      return client.getPrompt(params);
    case "resources/read":
      return client.readResource(params);
    case "completion/complete":
      return client.complete(params);
    default:
      throw new Error(`${method} is no step`);
  }
}

await client.connect(new StdioClientTransport({ command, args, stderr: "inherit" }));
for (const { method, params = {} } of JSON.parse(steps)) {
  [progress, log] = [[], []];
  const seen = await step(method, params).then(
    (result) => ({ result }),
    (error) => {
      if (!(error instanceof ProtocolError)) throw error;
      return { error: { code: error.code, message: error.message, data: error.data } };
    },
  );
  console.log(JSON.stringify({ ...seen, progress, log }));
}
await client.close();
