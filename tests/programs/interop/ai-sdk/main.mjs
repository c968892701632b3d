// Drives an edge with the MCP client of the AI SDK (@ai-sdk/mcp), in both eras; HTTP+SSE has the former only.
import { contains, drain, equal, kill, options, rejects, restore, step, text, uses, walk } from "../steps.mjs";
import { connect } from "./connect.mjs";

const o = options();
await uses("@ai-sdk/mcp", import.meta.url);
console.log("lacks progress: it takes no notifications");
console.log("lacks logging: it takes no notifications");
console.log("lacks list changes: it takes no notifications");
console.log("lacks subscriptions: it takes no notifications");
console.log("lacks sampling: it declares elicitation only");
console.log("lacks roots: it declares elicitation only");
console.log("notes kill: it does not notice that the stream of the call was cut: the call ends by its `signal`, if it has one");
for (const era of o.sse ? ["legacy"] : ["legacy", "modern"]) {
  const { client, answer, ...session } = await connect(o, era);
  const named = (name, body) => step(`${era} ${name}`, body);
  await named("tools/list", async () => {
    const tools = await client.tools();
    for (const name of ["calculator_arithmetic", "book_trip", "countdown"]) contains(Object.keys(tools), name, "names");
    const [all, pages] = await walk((params) => client.listTools({ params }), "tools");
    equal(all.map((t) => t.name).sort(), Object.keys(tools).sort(), "names on all pages");
    if (!o.drain && pages < 2) throw new Error(`${pages} pages`);
  });
  await named("tools/call structured", async () => {
    const tools = await client.tools();
    const r = await tools.calculator_arithmetic.execute({ expression: "2*(3+4)^2" }, { toolCallId: "1", messages: [] });
    equal(r.structuredContent, { result: 98, expression: "2*(3+4)^2" }, "structured content");
    equal(text(r), "98", "text");
  });
  await named("tools/call failing tool", async () => {
    const r = await client.callTool({ name: "calculator_arithmetic", arguments: { expression: "1/0" } });
    equal(r.isError, true, "isError");
    contains(text(r), "division by zero", "text");
    const e = await rejects(client.callTool({ name: "no_such_tool", arguments: {} }));
    contains(String(e), "no_such_tool", "error");
  });
  await named("tools/call in parallel", async () => {
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    const results = await Promise.all(
      numbers.map((n) => client.callTool({ name: "calculator_arithmetic", arguments: { expression: `${n}*2` } })),
    );
    equal(results.map((r) => r.structuredContent.result), numbers.map((n) => n * 2), "results");
  });
  await named("a call that runs", async () => {
    contains(text(await client.callTool({ name: "countdown", arguments: { steps: 30, interval_ms: 60 } })), "Counted down 30 steps", "text");
  });
  await named("cancellation", async () => {
    const call = client.callTool({
      name: "countdown", arguments: { steps: 1000, interval_ms: 30 }, options: { signal: AbortSignal.timeout(200) },
    });
    await rejects(call);
    contains(text(await client.callTool({ name: "countdown", arguments: { steps: 1, interval_ms: 1 } })), "Counted down 1 steps", "next");
  });
  await named("elicitation", async () => {
    answer.elicitation = ({ params }) => ({
      action: "accept",
      content: params.requestedSchema.properties.confirm ? { confirm: true } : { seat: "aisle", room: "suite", insurance: true },
    });
    const r = await client.callTool({ name: "book_trip", arguments: { destination: "Barcelona", nights: 2 } });
    equal(r.structuredContent?.status, "booked", "status");
    answer.elicitation = () => ({ action: "decline" });
    const no = await client.callTool({ name: "book_trip", arguments: { destination: "Barcelona", nights: 2 } });
    equal(no.structuredContent?.status, "declined", "status");
  });
  await named("resources", async () => {
    const [all] = await walk((params) => client.listResources({ params }), "resources");
    contains(all.map((r) => r.uri), "test://static-text", "URIs");
    const note = await client.readResource({ uri: session.note });
    equal(note.contents[0].text, "first\n", "text");
    const { resourceTemplates } = await client.listResourceTemplates();
    if (resourceTemplates.length === 0) throw new Error("no templates");
  });
  await named("prompts", async () => {
    const [all] = await walk((params) => client.listPrompts({ params }), "prompts");
    contains(all.map((p) => p.name), "plan-vacation", "names");
    const r = await client.getPrompt({ name: "plan-vacation", arguments: { destination: "Lisbon", days: "3" } });
    contains(r.messages[0].content.text, "3 days in Lisbon", "prompt");
  });
  await named("completion", async () => {
    const r = await client.complete({ ref: { type: "ref/prompt", name: "code_review" }, argument: { name: "language", value: "Ja" } });
    equal(r.completion.values, ["Java", "JavaScript"], "values");
  });
  if (o.drain && era === "legacy") {
    await named("a replica drained in a call", async () => {
      const call = client.callTool({ name: "countdown", arguments: { steps: 40, interval_ms: 100 } });
      await new Promise((resolve) => setTimeout(resolve, 1500)); // its stream is open
      await drain(o);
      contains(text(await call), "Counted down 40 steps", "text");
    });
    await named("a call on the other replica", async () => {
      equal(text(await client.callTool({ name: "calculator_arithmetic", arguments: { expression: "1+1" } })), "2", "text");
    });
    await named("a call after its replica was killed", async () => {
      await restore(o);
      const call = client.callTool({
        name: "countdown", arguments: { steps: 40, interval_ms: 100 }, options: { signal: AbortSignal.timeout(8000) },
      });
      call.catch(() => {}); // it is awaited later
      await new Promise((resolve) => setTimeout(resolve, 1500)); // its stream is open
      await kill(o);
      contains(String(await rejects(call)).toLowerCase(), "abort", "error");
      equal(text(await client.callTool({ name: "calculator_arithmetic", arguments: { expression: "1+1" } })), "2", "text of the next call");
    });
  }
  await named("close", () => client.close());
}
process.exit(0);
