// Tasks of 2025-11-25, which the client asks for by params.task.
import { contains, equal, step, text } from "../steps.mjs";
import { watch } from "./connect.mjs";

export async function core({ session }) {
  const call = (name, args) => session.callTool(name, args, { task: { preference: "prefer", retentionMs: 60_000 } });

  await step("tasks of 2025-11-25 by tools/call, to their result", async () => {
    const execution = await call("slow_compute", { seconds: 1.5, label: "x" });
    equal(execution.kind, "task", "kind");
    const { outcome, statuses } = await watch(execution);
    equal([outcome.status, statuses[0], statuses.at(-1)], ["completed", "working", "completed"], "outcome, first and last status");
    contains(text(outcome.result), "x was computed", "text");
  });
  await step("tasks of 2025-11-25 that fail", async () => {
    const { outcome } = await (await call("failing_job", {})).settle();
    equal(outcome.status, "failed", "status");
  });
  await step("tasks of 2025-11-25 cancelled", async () => {
    const execution = await call("slow_compute", { seconds: 60, label: "y" });
    await execution.cancel();
    equal((await execution.result()).status, "cancelled", "status of the outcome");
    equal((await session.task(execution.handle.taskId).snapshot()).status, "cancelled", "status of the task");
  });
}
