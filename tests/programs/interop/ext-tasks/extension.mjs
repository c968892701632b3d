// The extension of 2026-07-28: a call becomes a task where the edge says so.
import { spawn } from "node:child_process";
import { text as everything } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { contains, drain, equal, step, text } from "../steps.mjs";
import { connect, modern, watch } from "./connect.mjs";

export async function extension({ session, asked }, options) {
  const call = async (name, args, via = session) => {
    const execution = await via.callTool(name, args, { task: { preference: "require" } });
    equal(execution.kind, "task", "kind");
    return execution;
  };
  const status = async (id) => (await session.task(id).snapshot()).status;

  await step("tasks of 2026-07-28 by tools/call, polled to their result", async () => {
    const execution = await call("slow_compute", { seconds: 1.5, label: "x" });
    const { outcome, statuses } = await watch(execution);
    equal([outcome.status, statuses[0], statuses.at(-1)], ["completed", "working", "completed"], "outcome, first and last status");
    equal(await status(execution.handle.taskId), "completed", "status afterwards");
    contains(text(outcome.result), "x was computed", "text");
  });
  await step("tasks of 2026-07-28 that ask by elicitation", async () => {
    asked.clear();
    const execution = await call("multi_input", {});
    const { outcome } = await execution.settle();
    equal(outcome.status, "completed", "status");
    contains(text(outcome.result), "action=accept", "text");
    equal(asked.items.map((q) => [q.request.kind, q.context.delivery, q.context.taskId]),
      Array(2).fill(["elicitation", "task-update", execution.handle.taskId]), "questions");
  });
  await step("tasks of 2026-07-28 that fail", async () => {
    const { outcome } = await (await call("protocol_error_job", {})).settle();
    equal([outcome.status, outcome.error?.code], ["failed", -32603], "status and code");
    const said = await (await call("failing_job", {})).settle();
    equal([said.outcome.status, said.outcome.result?.isError], ["completed", true], "status and isError of a tool's own failure");
  });
  await step("tasks of 2026-07-28 cancelled", async () => {
    const execution = await call("slow_compute", { seconds: 60, label: "y" });
    await execution.cancel();
    equal((await execution.result()).status, "cancelled", "status of the outcome");
    equal(await status(execution.handle.taskId), "cancelled", "status of the task");
  });
  if (!options.url) return; // an edge over stdio, and its tasks, end with the client
  await step("tasks of 2026-07-28 taken up by a fresh process", async () => {
    const first = await connect(options, modern);
    const execution = await call("slow_compute", { seconds: 3, label: "z" }, first.session);
    let reference;
    await execution.handoff((r) => (reference = r));
    await first.session.close();
    await first.client.close();
    contains(await fresh(options, reference), "z was computed", "text");
  });
  await step("tasks of 2026-07-28 that end with their session", async () => {
    const first = await connect(options, modern);
    const execution = await call("slow_compute", { seconds: 3600, label: "v" }, first.session);
    await first.session.close();
    equal((await session.task(execution.handle.taskId).result()).status, "cancelled", "status of a task that was not handed off");
    await first.client.close();
  });
  if (!options.drain) return;
  await step("tasks of 2026-07-28 while a replica ends", async () => {
    const execution = await call("slow_compute", { seconds: 3, label: "w" });
    await drain(options);
    contains(text((await execution.settle()).outcome.result), "w was computed", "text");
  });
}

// fresh has a process of its own wait for the task, and returns what that process prints.
async function fresh(options, reference) {
  const program = fileURLToPath(new URL("fresh.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, options.url, JSON.stringify(reference)], { stdio: ["ignore", "pipe", "inherit"] });
  return everything(child.stdout);
}
