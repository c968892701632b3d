// Starts the programs that the pictures are taken of, and ends them with this process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";

const running = [];

/** An address on loopback that nobody listens at. */
export async function freeAddress() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return `127.0.0.1:${port}`;
}

/** Starts a program without its parent's settings of the edge and of OpenTelemetry, and gives what stops it. What it prints is told only when it ends
 * by itself, which ends this process. */
export function start(program, args) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(OTEL|MCPEDGE)_/.test(name)));
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (said = (said + data).slice(-4000)));
  const stop = () => {
    running.splice(running.indexOf(stop), 1);
    child.kill("SIGTERM");
  };
  running.push(stop);
  child.on("error", (error) => fail(`${program}: ${error.message}`));
  child.on("exit", (code) => running.includes(stop) && fail(`${program} ended with ${code}:\n${said}`));
  return stop;
}

function fail(why) {
  console.error(why);
  stopAll();
  process.exit(1);
}

export function stopAll() {
  for (const stop of [...running]) stop();
}

/** Waits until a condition holds, at most half a minute. */
export async function until(what, condition) {
  for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((next) => setTimeout(next, 100))) {
    if (await condition()) return;
  }
  throw new Error(`not so after 30 s: ${what}`);
}

/** Waits until something listens at an address. */
export const listens = (address) =>
  until(`something listens at ${address}`, () => {
    const [host, port] = address.split(":");
    return new Promise((done) => {
      const socket = connect(Number(port), host, () => done(socket.destroy() && true)).on("error", () => done(false));
    });
  });

/** Waits until a URL answers with a status of 2xx. */
export const answers = (url) => until(`${url} answers`, () => fetch(url).then((r) => r.ok, () => false));

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    stopAll();
    process.exit(1);
  });
}
