// Installs the tarball of a folder into an empty project there, checks the types of all programs of the documentation's page and
// runs their test, then serves the page's tool and calls it through an edge: node packed.mjs FOLDER, with the edge's program in
// MCPEDGE_PROGRAM.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
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

const backend = `unix:${join(folder, "hello.sock")}`;
const started = [];
const start = (command, args) => {
  const child = spawn(command, args, { cwd: project, stdio: ["ignore", "inherit", "pipe"] });
  child.log = "";
  child.stderr.on("data", (text) => (child.log += text));
  started.push(child);
  return child;
};
try {
  start(process.execPath, ["--import", "tsx", "server.ts", "--listen", backend]);
  const any = "127.0.0.1:0"; // ports that the system chooses: one that is free now may be another's when it is opened
  const edge = start(process.env.MCPEDGE_PROGRAM, ["--listen", any, "--admin", any, "--backend", `hello=${backend}`]);
  const answer = await answered(edge);
  assert.deepEqual(answer?.result?.content, [{ type: "text", text: "Hello, Ada" }], logs(answer));
  console.log(`ok: ${tarball}, installed into an empty project, serves a tool through an edge`);
} finally {
  for (const child of started) child.kill();
}

function logs(answer) {
  return [JSON.stringify(answer), ...started.map((child) => child.log)].join("\n");
}

/** Calls the tool until the edge has it. */
async function answered(edge) {
  for (let attempt = 0; ; attempt++) {
    const endpoint = /endpoint=(\S+)/.exec(edge.log)?.[1];
    const response = endpoint && (await call(endpoint).catch(() => undefined));
    const over = started.some((child) => child.exitCode !== null);
    if (response?.result || attempt === 1200 || over) return response;
    await setTimeout(100);
  }
}

async function call(endpoint) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(endpoint, {
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
