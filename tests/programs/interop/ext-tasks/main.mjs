// Drives an edge's tasks with @modelcontextprotocol/ext-tasks over the TypeScript SDK 2.x: those of 2025-11-25, and the
// extension of 2026-07-28, which HTTP+SSE does not have.
import { options, step, uses } from "../steps.mjs";
import { connect, legacy, modern } from "./connect.mjs";
import { extension } from "./extension.mjs";
import { core } from "./core.mjs";

const o = options();
await uses("@modelcontextprotocol/ext-tasks", import.meta.url);
for (const [revision, steps] of o.sse ? [[legacy, core]] : [[legacy, core], [modern, extension]]) {
  const connected = await step(`connect in ${revision}`, () => connect(o, revision));
  console.log(`speaks ${revision}`);
  await steps(connected, o);
  await step(`close in ${revision}`, async () => {
    await connected.session.close();
    await connected.client.close();
  });
}
console.log("lacks questions of tasks in 2025-11-25: it opens tasks/result only when a task has ended");
process.exit(0);
