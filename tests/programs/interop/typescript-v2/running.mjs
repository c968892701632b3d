// Calls that run for a while: progress, log messages, cancellation; and changes of lists meanwhile.
import { LOG_LEVEL_META_KEY } from "@modelcontextprotocol/client";
import { contains, equal, fail, rejects, text } from "../steps.mjs";

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

export async function running({ client, told, wire, modern, step }) {
  const countdown = (steps, interval_ms, options, _meta) =>
    client.callTool({ name: "countdown", arguments: { steps, interval_ms }, ...(_meta && { _meta }) }, options);

  await step("progress", async () => {
    wire.clear();
    const seen = [];
    const r = await countdown(4, 40, { onprogress: (p) => seen.push([p.progress, p.total, p.message]) });
    contains(text(r), "Counted down 4 steps", "text");
    equal(progressed(wire), { 4: upTo(4) }, "progress");
    // The SDK drops progress that it reads together with the result.
    if (seen.length < 3) fail("progress handed over", "at least 3", seen);
    equal(seen, upTo(seen.length).map((n) => [n, 4, `${4 - n} left`]), "progress handed over");
  });
  await step("progress of calls in parallel", async () => {
    wire.clear();
    await Promise.all([3, 4, 5, 6].map((steps) => countdown(steps, 30, { onprogress: () => {} })));
    equal(progressed(wire), { 3: upTo(3), 4: upTo(4), 5: upTo(5), 6: upTo(6) }, "progress by total");
  });
  await step("logging", async () => {
    // In the modern era a call says what it wants to be told; before, the session does.
    const at = async (level, call) => {
      told.clear();
      if (!modern) await client.setLoggingLevel(level);
      await call(modern ? { [LOG_LEVEL_META_KEY]: level } : undefined);
      return told.items.filter((n) => n.method === "notifications/message").map((n) => n.params);
    };
    equal(await at("error", (meta) => countdown(2, 10, undefined, meta)), [], "messages below the level");
    equal((await at("info", (meta) => countdown(3, 20, undefined, meta))).map((p) => [p.level, p.logger, p.data]),
      upTo(3).map((n) => ["info", "countdown", `step ${n} of 3, ${3 - n} left`]), "messages");
    const warned = await at("warning", (_meta) => client.callTool({ name: "test_logging_tool", ...(_meta && { _meta }) }));
    equal(warned.map((p) => p.level), ["warning", "error", "critical", "alert", "emergency"], "levels");
    if (modern) {
      told.clear();
      await countdown(2, 10);
      equal(told.items, [], "messages that nobody asked for");
    } else {
      await client.setLoggingLevel("emergency");
    }
  });
  await step("cancellation", async () => {
    const controller = new AbortController();
    let seen = 0;
    const call = countdown(1000, 30, {
      signal: controller.signal,
      onprogress: () => {
        if (++seen === 2) controller.abort(new Error("enough"));
      },
    });
    contains(String(await rejects(call)), "enough", "error");
    const after = seen;
    // Time in which the cancelled call would have gone on.
    contains(text(await countdown(4, 50)), "Counted down 4 steps", "text of the next call");
    equal(seen, after, "progress after the cancellation");
  });
  await step("time limit of the client", async () => {
    const e = await rejects(countdown(1000, 30, { timeout: 150 }));
    contains(String(e).toLowerCase(), "timed out", "error");
    contains(text(await countdown(1, 1)), "Counted down 1 steps", "text of the next call");
  });
  await step("tools and prompts list changed", async () => {
    told.clear();
    const stream = modern ? await client.listen({ toolsListChanged: true, promptsListChanged: true }) : undefined;
    for (const kind of ["tool", "prompt"]) {
      await client.callTool({ name: `test_trigger_${kind}_change` });
      await told.until((all) => all.find((n) => n.method === `notifications/${kind}s/list_changed`), "list_changed");
    }
    await stream?.close();
  });
}
