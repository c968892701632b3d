// Drives an edge with the TypeScript SDK 2.x (@modelcontextprotocol/client), which speaks the
// handshake's revisions and the per-request one: every step is done in both. HTTP+SSE has the former
// only.
import { fail, options } from "../steps.mjs";
import { connect, refused } from "./connect.mjs";
import { tools } from "./tools.mjs";
import { asking } from "./asking.mjs";
import { resources } from "./resources.mjs";
import { prompts } from "./prompts.mjs";
import { running } from "./running.mjs";
import { broken } from "./broken.mjs";

const o = options();
for (const era of o.sse ? ["legacy"] : ["legacy", "modern"]) {
  const session = await connect(o, era);
  await tools(session);
  await asking(session);
  await resources(session);
  await prompts(session);
  await running(session);
  if (o.url && era === "legacy") await broken(session); // the modern era resumes nothing
  await session.step("close", async () => {
    const start = Date.now();
    await session.client.close();
    // Over stdio the SDK closes the input, and after 2 s begins to kill.
    if (Date.now() - start > 1900) fail("time to end", "less than 1900 ms", Date.now() - start);
  });
}
if (o.sse) await refused(o);
process.exit(0);
