// Drives an edge with the TypeScript SDK 2.x (@modelcontextprotocol/client), which speaks the
// handshake's revisions and the per-request one: every step is done in both. HTTP+SSE has the former
// only.
import { once } from "node:events";
import { equal, options, uses, within } from "../steps.mjs";
import { connect, refused } from "./connect.mjs";
import { tools } from "./tools.mjs";
import { asking } from "./asking.mjs";
import { resources } from "./resources.mjs";
import { prompts } from "./prompts.mjs";
import { running } from "./running.mjs";
import { broken, drained } from "./broken.mjs";

const o = options();
await uses("@modelcontextprotocol/client", import.meta.url);
for (const era of o.sse ? ["legacy"] : ["legacy", "modern"]) {
  const session = await connect(o, era);
  await tools(session);
  await asking(session);
  await resources(session);
  await prompts(session);
  await running(session);
  if (o.cut && era === "legacy") await broken(session); // the modern era resumes nothing
  if (o.drain && era === "legacy") await drained(session); // it leaves one replica, which the steps after it do not mind
  await session.step("close", async () => {
    const program = session.way._process;
    if (program) {
      // Not by the SDK, which begins to kill 2 s after it has closed the input: a busy machine may need longer.
      const ended = once(program, "exit");
      program.stdin.end();
      equal(await within(ended, "the end of the program"), [0, null], "exit code and signal");
    }
    await session.client.close();
  });
}
if (o.sse) await refused(o);
process.exit(0);
