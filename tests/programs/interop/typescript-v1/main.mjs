// Drives an edge with the TypeScript SDK 1.x (@modelcontextprotocol/sdk), in its newest revision.
import { options, uses } from "../steps.mjs";
import { connect } from "./connect.mjs";
import { tools } from "./tools.mjs";
import { asking } from "./asking.mjs";
import { tasks } from "./tasks.mjs";
import { resources } from "./resources.mjs";
import { prompts } from "./prompts.mjs";
import { running } from "./running.mjs";
import { broken, drained } from "./broken.mjs";
import { closing } from "./closing.mjs";

const o = options();
await uses("@modelcontextprotocol/sdk", import.meta.url);
const session = await connect(o);
await tools(session);
await asking(session);
await tasks(session);
await resources(session);
await prompts(session);
await running(session);
if (o.cut) await broken(session);
if (o.drain) await drained(session);
await closing(session);
process.exit(0);
