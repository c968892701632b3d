// A tea house: a tool that asks its user and reports its progress, a resource template and a prompt.
import "./tracing.js";
import { setTimeout } from "node:timers/promises";
import { Failure, serve, Server, Unanswered } from "@mcpedge/capability";
import { trace } from "@opentelemetry/api";
import { z } from "zod";

const teas = { assam: "strong and malty", oolong: "between green and black", sencha: "fresh and grassy" };
const names = Object.keys(teas) as (keyof typeof teas)[];
const base = "tea://typescript/";
const server = new Server({ name: "teahouse-typescript", version: "1.0.0" });

const brew = { description: "Brews as many cups as asked", inputSchema: z.object({ tea: z.enum(names) }) };
const brewed = z.object({ tea: z.string(), cups: z.int(), trace: z.string().optional() });
server.registerTool("brew", { ...brew, outputSchema: brewed }, async ({ tea }, call) => {
  const order = z.object({ cups: z.int().min(1).max(5) });
  const { cups } = await call.ask("cups", `How many cups of ${tea}?`, order).catch((error: unknown) => {
    if (error instanceof Unanswered) return { cups: 0 };
    throw error;
  });
  for (let cup = 1; cup <= cups; cup++) {
    call.progress(cup, cups, `cup ${cup} of ${cups}`);
    await setTimeout(50, undefined, { signal: call.signal });
  }
  return { tea, cups, trace: trace.getActiveSpan()?.spanContext().traceId };
});

// A call that may become a task, and may be run again from its beginning when an edge is lost. That is all there is.
const steep = { description: "Steeps for minutes", annotations: { idempotentHint: true }, task: { mode: "optional" as const } };
const long = z.object({ minutes: z.int().min(1) });
server.registerTool("steep", { ...steep, inputSchema: long, outputSchema: long }, async ({ minutes }, call) => {
  call.signal.addEventListener("abort", () => console.error("steeping was cancelled")); // when a task is cancelled, its call is
  for (let minute = 1; minute <= minutes; minute++) {
    call.progress(minute, minutes, `minute ${minute} of ${minutes}`);
    await setTimeout(250, undefined, { signal: call.signal });
  }
  return { minutes };
});

for (const name of names) {
  server.registerResource(name, base + name, { mimeType: "text/plain" }, () => `${name} is ${teas[name]}`);
}
const template = { mimeType: "text/plain", complete: { name: names } };
server.registerResourceTemplate("tea", `${base}{name}`, template, (uri) => {
  throw new Failure("NotFound", `there is no tea at ${uri}: known are ${names.join(", ")}`);
});

const mood = z.object({ mood: z.string().describe("How the guest feels") });
server.registerPrompt("recommend", { description: "Recommends a tea", argsSchema: mood }, ({ mood }) => {
  return `Recommend one of ${names.join(", ")} to a guest who feels ${mood}.`;
});

await serve(server);
