// Runs the module named on the command line. Exit code 0 when it imports nothing and every check
// holds.
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length !== 0) {
  console.error("the module imports", imports.map((i) => `${i.module}.${i.name}`).join(", "));
  process.exit(1);
}
const { exports } = new WebAssembly.Instance(module, {});
const outcome = exports.run();
if (outcome <= 0) {
  const bytes = new Uint8Array(exports.memory.buffer, exports.name_start(-outcome), exports.name_length(-outcome));
  console.error(`check ${-outcome} does not hold: ${new TextDecoder().decode(bytes)}`);
  process.exit(1);
}
console.log(`${outcome} checks hold, 0 imports`);
