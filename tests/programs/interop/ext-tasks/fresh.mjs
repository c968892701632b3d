// Takes a task up that another process began, and prints the text of its result: node fresh.mjs URL REFERENCE
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { text } from "../steps.mjs";
import { connect, modern } from "./connect.mjs";

const [url, reference] = process.argv.slice(2);
const { client, session } = await connect({ url }, modern);
const execution = await session.resumeTask(JSON.parse(reference));
console.log(text(resultFromTaskOutcome((await execution.settle()).outcome)));
await session.close();
await client.close();
