// Calls a package's functions from outside: the package stays a process of its own.
//
//   node call.mjs FOLDER PACKAGE
//
// FOLDER is the one whose node_modules has the package. A request is a line of JSON on standard
// input, its answer a line on standard output, in any order:
//
//   {"id":1,"call":["ChatClient","create"],"args":["ws://127.0.0.1:5225"],"keep":"client"}
//   {"id":1,"value":null}
//   {"id":2,"on":"client","call":["msgQ","dequeue"],"args":[]}
//   {"id":2,"error":"…"}
//
// `keep` keeps the value under a name for later calls instead of writing it.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const [folder, name] = process.argv.slice(2);
const loaded = createRequire(resolve(folder) + "/")(name);
const kept = new Map();

async function call({ on, call, args, keep }) {
  let target = on === undefined ? loaded : kept.get(on);
  for (const step of call.slice(0, -1)) target = target[step];
  const value = await target[call.at(-1)](...args);
  if (keep === undefined) return value ?? null;
  kept.set(keep, value);
  return null;
}

// What the package itself prints would not be an answer.
console.log = console.error;
const answer = (fields) => process.stdout.write(JSON.stringify(fields) + "\n");

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  call(request).then(
    (value) => answer({ id: request.id, value }),
    (error) => answer({ id: request.id, error: String(error?.message ?? error) }),
  );
}
process.exit(0);
