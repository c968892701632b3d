// One run of the Inspector.
import { spawn } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));

// inspector returns a function that runs the Inspector with arguments against the edge of options and
// resolves to { status, result, error }: its exit status, and of what it printed the result and the error.
export async function inspector(options) {
  const home = await mkdtemp(join(tmpdir(), "mcpedge-inspector-")); // it keeps files in the home directory
  process.on("exit", () => rmSync(home, { recursive: true, force: true }));
  const config = join(home, "servers.json");
  const edge = server(options);
  await writeFile(config, JSON.stringify({ mcpServers: { edge } }));
  return async (...args) => {
    const { status, out, err } = await run(home, ["--cli", "--config", config, "--server", "edge", "--format", "json", "--quiet", ...args]);
    try {
      return { status, result: out ? JSON.parse(out).result : undefined, error: status === 0 ? undefined : JSON.parse(err.trim().split("\n").at(-1)).error };
    } catch {
      throw new Error(`${args.join(" ")}: status ${status}, and no JSON:\n${out}\n${err}`);
    }
  };
}

function server({ url, sse, command }) {
  if (url) return { type: "streamable-http", url };
  if (sse) return { type: "sse", url: sse };
  return { type: "stdio", command: command[0], args: command.slice(1) };
}

function run(home, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { env: { ...process.env, HOME: home }, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (d) => (out += d));
    child.stderr.on("data", (d) => (err += d));
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, out, err }));
  });
}
