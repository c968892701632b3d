// Calls that run for a while: progress, log messages, cancellation; and changes of lists meanwhile.
import { contains, equal, rejects, step, text } from "../steps.mjs";

export async function running({ client, told }) {
  const countdown = (steps, interval_ms, options) =>
    client.callTool({ name: "countdown", arguments: { steps, interval_ms } }, undefined, options);
  const logged = () => told.items.filter((n) => n.method === "notifications/message");

  await step("progress", async () => {
    const seen = [];
    const r = await countdown(4, 40, { onprogress: (p) => seen.push(p) });
    equal(seen, [1, 2, 3, 4].map((n) => ({ progress: n, total: 4, message: `${4 - n} left` })), "progress");
    contains(text(r), "Counted down 4 steps", "text");
  });
  await step("progress of calls in parallel", async () => {
    const seen = [[], []];
    await Promise.all(seen.map((mine, i) => countdown(3 + i, 30, { onprogress: (p) => mine.push(p.total) })));
    equal(seen, [[3, 3, 3], [4, 4, 4, 4]], "totals");
  });
  await step("logging", async () => {
    equal(await client.setLoggingLevel("info"), {}, "result");
    told.clear();
    await countdown(3, 20);
    equal(logged().map((n) => [n.params.level, n.params.logger, n.params.data]),
      [1, 2, 3].map((n) => ["info", "countdown", `step ${n} of 3, ${3 - n} left`]), "messages");
  });
  await step("logging by level", async () => {
    await client.setLoggingLevel("warning");
    told.clear();
    await client.callTool({ name: "test_logging_tool" });
    equal(logged().map((n) => n.params.level), ["warning", "error", "critical", "alert", "emergency"], "levels");
    await client.setLoggingLevel("emergency");
  });
  await step("cancellation", async () => {
    const controller = new AbortController();
    let seen = 0;
    const call = countdown(1000, 30, {
      signal: controller.signal,
      onprogress: () => {
        if (++seen === 2) controller.abort("enough");
      },
    });
    contains(String(await rejects(call)), "enough", "error");
    const after = seen;
    const r = await countdown(4, 50); // time in which the cancelled call would have gone on
    contains(text(r), "Counted down 4 steps", "text of the next call");
    equal(seen, after, "progress after the cancellation");
  });
  await step("time limit of the client", async () => {
    const e = await rejects(countdown(1000, 30, { timeout: 150 }));
    equal(e.code, -32001, "code");
    equal(await client.ping(), {}, "ping");
  });
  await step("tools list changed", async () => {
    told.clear();
    await client.callTool({ name: "test_trigger_tool_change" });
    await told.until((all) => all.find((n) => n.method === "notifications/tools/list_changed"), "list_changed");
  });
  await step("prompts list changed", async () => {
    told.clear();
    await client.callTool({ name: "test_trigger_prompt_change" });
    await told.until((all) => all.find((n) => n.method === "notifications/prompts/list_changed"), "list_changed");
  });
}
