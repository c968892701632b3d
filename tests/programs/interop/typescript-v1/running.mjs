// Calls that run for a while: progress, log messages, cancellation; and changes of lists meanwhile.
import { contains, equal, fail, rejects, step, text } from "../steps.mjs";

// progressed is the progress that came, by the totals of the calls it was for.
export function progressed(wire) {
  const by = {};
  for (const m of wire.items) {
    if (m.method === "notifications/progress") (by[m.params.total] ??= []).push(m.params.progress);
  }
  return by;
}

// upTo is [1, …, n].
export const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);

export async function running({ client, told, wire }) {
  const countdown = (steps, interval_ms, options) =>
    client.callTool({ name: "countdown", arguments: { steps, interval_ms } }, undefined, options);
  const logged = () => told.items.filter((n) => n.method === "notifications/message");

  await step("progress", async () => {
    wire.clear();
    const seen = [];
    const r = await countdown(4, 40, { onprogress: (p) => seen.push(p) });
    contains(text(r), "Counted down 4 steps", "text");
    equal(progressed(wire), { 4: upTo(4) }, "progress");
    // The SDK drops progress that it reads together with the result.
    if (seen.length < 3) fail("progress handed over", "at least 3", seen);
    equal(seen, upTo(seen.length).map((n) => ({ progress: n, total: 4, message: `${4 - n} left` })), "progress handed over");
  });
  await step("progress of calls in parallel", async () => {
    wire.clear();
    await Promise.all([3, 4, 5, 6].map((steps) => countdown(steps, 30, { onprogress: () => {} })));
    equal(progressed(wire), { 3: upTo(3), 4: upTo(4), 5: upTo(5), 6: upTo(6) }, "progress by total");
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
