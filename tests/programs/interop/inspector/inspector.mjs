// Runs of the Inspector's two command lines: one that connects for each request, and mcpdo, whose daemon holds connections.
import { spawn } from "node:child_process";
import { mkdtemp, stat, writeFile } from "node:fs/promises";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const clients = fileURLToPath(new URL("node_modules/@modelcontextprotocol/inspector/clients/", import.meta.url));
const launcher = join(clients, "launcher/build/index.js");
const mcpdo = join(clients, "mcpdo/build/mcp-bin.js");
const daemon = join(clients, "mcpdo/build/mcpdod.js");

// inspector returns a function that runs the Inspector with arguments against the edge of options and
// resolves to { status, result, error }: its exit status, and of what it printed the result and the error.
export async function inspector(options) {
  const { config, start } = await setUp({ edge: server(options) });
  return async (...args) => {
    const r = await start(launcher, ["--cli", "--config", config, "--server", "edge", "--format", "json", "--quiet", ...args]);
    return { ...r, result: r.result?.result };
  };
}

// holder starts mcpdo's daemon, which ends with this process, and returns a function that runs mcpdo with arguments and
// resolves as inspector's does. The edge of options may be connected to by the name of an era.
export async function holder(options) {
  const { config, home, start, launch } = await setUp({ legacy: server(options), modern: server(options) });
  const child = launch(daemon, [], "ignore");
  process.on("exit", () => child.kill());
  while (!(await stat(join(home, "mcpdod.sock")).catch(() => undefined))) await pause(20);
  return (...args) => start(mcpdo, ["--config", config, "--format", "json", ...args]);
}

// setUp makes a home directory, in which programs of the Inspector keep files, with the servers they may connect to.
async function setUp(mcpServers) {
  const home = await mkdtemp(join(tmpdir(), "mcpedge-inspector-"));
  process.on("exit", () => rmSync(home, { recursive: true, force: true }));
  const config = join(home, "servers.json");
  await writeFile(config, JSON.stringify({ mcpServers }));
  const env = { ...process.env, HOME: home, MCP_INSPECTOR_DAEMON_DIR: home, MCP_INSPECTOR_SECRET_STORE: "file" };
  const launch = (program, args, stdio) => spawn(process.execPath, [program, ...args], { env, stdio });
  const start = async (program, args) => {
    const { status, out, err } = await output(launch(program, args, ["ignore", "pipe", "pipe"]));
    try {
      return { status, result: out ? JSON.parse(out) : undefined, error: status === 0 ? undefined : JSON.parse(err.trim().split("\n").at(-1)).error };
    } catch {
      throw new Error(`${args.join(" ")}: status ${status}, and no JSON:\n${out}\n${err}`);
    }
  };
  return { config, home, start, launch };
}

function server({ url, sse, command }) {
  if (url) return { type: "streamable-http", url };
  if (sse) return { type: "sse", url: sse };
  return { type: "stdio", command: command[0], args: command.slice(1) };
}

function output(child) {
  return new Promise((resolve, reject) => {
    let out = "";
    let err = "";
    child.stdout.on("data", (d) => (out += d));
    child.stderr.on("data", (d) => (err += d));
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, out, err }));
  });
}
