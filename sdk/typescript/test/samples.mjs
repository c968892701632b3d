// Writes the programs of docs/backends/typescript.md into a folder, as its reader puts them together: node samples.mjs FOLDER.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const page = readFileSync(new URL("../../../docs/backends/typescript.md", import.meta.url), "utf8");
const main = "await serve(server);\n";

/** Writes server.ts with all snippets, main.ts, which serves it, and server.test.ts. */
export function write(folder) {
  const [authors] = page.split("## With stubs alone");
  const [first, ...rest] = [...authors.matchAll(/```(?:ts|typescript)\n(.*?)```/gs)].map(([, block]) => block);
  const test = rest.find((block) => block.includes('from "node:test"'));
  const program = rest.find((block) => block.endsWith(main));
  const snippets = rest.filter((block) => block !== test && block !== program);
  assert.ok(first.includes("const server = ") && first.endsWith(main) && test && program && snippets.length >= 3);
  const server = first
    .replace("const server", "export const server")
    .replace("serve, Server", "Server")
    .replace(main, "");
  writeFileSync(join(folder, "server.ts"), [server, ...snippets].join("\n"));
  writeFileSync(join(folder, "main.ts"), program);
  writeFileSync(join(folder, "server.test.ts"), test);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) write(process.argv[2]);
