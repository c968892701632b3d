// Tools: the list, results of every kind, and errors.
import { contains, equal, fail, pagesOf, rejects, step, text, walk } from "../steps.mjs";

export async function tools({ client, options }) {
  await step("tools/list by pages", async () => {
    const [all, pages] = await walk((p) => client.listTools(p), "tools");
    const names = all.map((t) => t.name);
    for (const name of ["calculator_arithmetic", "book_trip", "countdown", "test_simple_text"]) contains(names, name, "names");
    equal(new Set(names).size, names.length, "different names");
    equal(pages, pagesOf(names, options), "pages");
    const calculator = all.find((t) => t.name === "calculator_arithmetic");
    equal([calculator.title, calculator.inputSchema.required], ["Calculator", ["expression"]], "calculator");
    equal(calculator.annotations.readOnlyHint, true, "read-only hint");
  });
  await step("tools/call", async () => {
    const r = await client.callTool({ name: "weather_current", arguments: { city: "Barcelona" } });
    contains(text(r), "Barcelona, Spain, now: ", "text");
    equal(r.isError ?? false, false, "isError");
  });
  await step("tools/call structured", async () => {
    await client.listTools(); // the SDK checks results by the schemas it has seen
    const r = await client.callTool({ name: "calculator_arithmetic", arguments: { expression: "2*(3+4)^2" } });
    equal(r.structuredContent, { result: 98, expression: "2*(3+4)^2" }, "structured content");
    equal(text(r), "98", "text");
  });
  await step("tools/call nested structured", async () => {
    const r = await client.callTool({ name: "search_flights", arguments: { origin: "Zurich", destination: "JFK" } });
    equal([r.structuredContent.origin, r.structuredContent.destination], ["Zurich", "New York"], "route");
    if (!(r.structuredContent.flights[0].priceEur > 0)) fail("first flight", "a price", r.structuredContent.flights[0]);
  });
  await step("tools/call failing tool", async () => {
    const r = await client.callTool({ name: "calculator_arithmetic", arguments: { expression: "1/0" } });
    equal(r.isError, true, "isError");
    contains(text(r), "division by zero", "text");
  });
  await step("tools/call invalid arguments", async () => {
    const r = await client.callTool({ name: "calculator_arithmetic", arguments: { expression: 7 } });
    equal(r.isError, true, "isError");
  });
  await step("tools/call unknown tool", async () => {
    const e = await rejects(client.callTool({ name: "no_such_tool" }));
    equal(e.code, -32602, "code");
    contains(e.message, "no_such_tool", "message");
  });
  await step("tools/call content kinds", async () => {
    const r = await client.callTool({ name: "test_multiple_content_types" });
    equal(r.content.map((c) => c.type), ["text", "image", "resource"], "content types");
    equal(r.content[2].resource.uri, "test://mixed-content-resource", "resource");
    const audio = await client.callTool({ name: "test_audio_content" });
    equal([audio.content[0].type, audio.content[0].mimeType], ["audio", "audio/wav"], "audio");
  });
  await step("tools/call in parallel", async () => {
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    const results = await Promise.all(
      numbers.map((n) => client.callTool({ name: "calculator_arithmetic", arguments: { expression: `${n}*2` } })),
    );
    equal(results.map((r) => r.structuredContent.result), numbers.map((n) => n * 2), "results");
  });
}
