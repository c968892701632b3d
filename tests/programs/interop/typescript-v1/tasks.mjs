// Tasks of 2025-11-25, by the SDK's experimental API: it asks for the task, waits for it, and is asked over tasks/result.
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { contains, equal, rejects, step, text } from "../steps.mjs";

// run makes a task of a call, and returns what was heard of it.
async function run(client, name, args) {
  const heard = { statuses: [] };
  for await (const m of client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, { task: { ttl: 60_000 } })) {
    if (m.type === "taskCreated") heard.id = m.task.taskId;
    else if (m.type === "taskStatus") heard.statuses.push(m.task.status);
    else heard[m.type] = m[m.type];
  }
  return heard;
}

export async function tasks({ client, asked, answer }) {
  await client.listTools(); // from which the SDK knows what may be a task
  await step("tasks to their result", async () => {
    const known = process.env.INTEROP_AUTHENTICATED ? { list: {} } : {}; // anonymous callers cannot list theirs
    equal(client.getServerCapabilities().tasks, { ...known, cancel: {}, requests: { tools: { call: {} } } }, "capability");
    const t = await run(client, "slow_compute", { seconds: 1.5, label: "x" });
    contains(text(t.result), "x was computed", "text");
    equal([t.statuses[0], t.statuses.at(-1)], ["working", "completed"], "first and last status");
    equal(t.result._meta["io.modelcontextprotocol/related-task"], { taskId: t.id }, "related task");
    equal((await client.experimental.tasks.getTask(t.id)).status, "completed", "status afterwards");
    if (known.list) {
      const listed = (await client.experimental.tasks.listTasks()).tasks;
      equal(listed.find((one) => one.taskId === t.id)?.status, "completed", "status in the list");
    }
  });
  await step("tasks that ask their user", async () => {
    asked.clear();
    answer["elicitation/create"] = () => ({ action: "accept", content: { answer: "yes" } });
    const t = await run(client, "multi_input", {});
    contains(text(t.result), "action=accept", "text");
    equal(asked.items.map((q) => q.params._meta["io.modelcontextprotocol/related-task"].taskId), [t.id, t.id], "tasks of the questions");
  });
  await step("tasks that fail", async () => {
    equal((await run(client, "failing_job", {})).statuses.at(-1), "failed", "status");
    equal((await run(client, "protocol_error_job", {})).statuses.at(-1), "failed", "status");
  });
  await step("tasks cancelled", async () => {
    let id;
    for await (const m of client.experimental.tasks.callToolStream({ name: "slow_compute", arguments: { seconds: 60, label: "y" } }, CallToolResultSchema, { task: {} })) {
      if (m.type !== "taskCreated") continue;
      id = m.task.taskId;
      break;
    }
    equal((await client.experimental.tasks.cancelTask(id)).status, "cancelled", "status");
    equal((await rejects(client.experimental.tasks.cancelTask(id))).code, -32602, "code of another cancellation");
  });
}
