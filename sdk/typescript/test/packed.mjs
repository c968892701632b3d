// Installs the tarball of a folder into an empty project there, checks the types of all programs of the documentation's page and
// runs their test, then serves the page's tool and calls it through an edge: node packed.mjs FOLDER, with the edge's program in
// MCPEDGE_PROGRAM.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { write } from "./samples.mjs";

const folder = process.argv[2];
const page = readFileSync(new URL("../../../docs/backends/typescript.md", import.meta.url), "utf8");
const program = /Write `server.ts`:\n\n```typescript\n(.*?)\n```/s.exec(page)[1];
const lines = program.split("\n").filter((line) => line !== "").length;
assert.ok(lines <= 10, `the tool of the page has ${lines} lines`);

const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
const project = join(folder, "project");
mkdirSync(project);
writeFileSync(join(project, "package.json"), '{"private":true,"type":"module"}');
writeFileSync(join(project, "server.ts"), program + "\n");
const npm = (...args) => execFileSync("npm", args, { cwd: project, stdio: ["ignore", "ignore", "inherit"] });
npm("install", "--silent", join("..", tarball), "zod@4.6.7", "tsx@4.23.15", "typescript@7.0.2", "@types/node@20.19.43");
const node = (folder, ...args) => execFileSync(process.execPath, args, { cwd: folder, stdio: "inherit" });
const tsc = [
  join(project, "node_modules/typescript/bin/tsc"),
  "--noEmit",
  "--strict",
  "--module",
  "nodenext",
  "--types",
  "node",
];
node(project, ...tsc, "server.ts");
const samples = join(project, "samples");
mkdirSync(samples);
write(samples);
node(samples, ...tsc, "server.ts", "main.ts", "server.test.ts");
node(samples, "--import", "tsx", "--test", "--test-reporter=dot", "server.test.ts");

const ports = await Promise.all([0, 0, 0].map(freePort));
const [backend, mcp, admin] = ports.map((port) => `127.0.0.1:${port}`);
const started = [];
const start = (command, args) =>
  started.push(spawn(command, args, { cwd: project, stdio: ["ignore", "inherit", "inherit"] }));
try {
  start(process.execPath, ["--import", "tsx", "server.ts", "--listen", backend]);
  start(process.env.MCPEDGE_PROGRAM, ["--listen", mcp, "--admin", admin, "--backend", `hello=${backend}`]);
  const answer = await answered();
  assert.deepEqual(answer.result?.content, [{ type: "text", text: "Hello, Ada" }], JSON.stringify(answer));
  console.log(`ok: ${tarball}, installed into an empty project, serves a tool through an edge`);
} finally {
  for (const child of started) child.kill();
}

/** Calls the tool until the edge has it. */
async function answered() {
  for (let attempt = 0; ; attempt++) {
    const response = await call().catch(() => undefined);
    if (response?.result || attempt === 200) return response;
    await setTimeout(100);
  }
}

async function call() {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(`http://${mcp}/mcp`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "tools/call",
      "Mcp-Name": "greet",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "greet", arguments: { name: "Ada" }, _meta },
    }),
  });
  const text = await response.text();
  const data = text.split("\n").find((line) => line.startsWith("data: {"));
  return JSON.parse(data ? data.slice("data: ".length) : text);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
