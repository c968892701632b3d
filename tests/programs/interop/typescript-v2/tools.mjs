// Tools: the list, results of every kind, and errors.
import { contains, equal, rejects, text } from "../steps.mjs";

export async function tools({ client, step }) {
  await step("tools/list", async () => {
    const names = (await client.listTools()).tools.map((t) => t.name); // of all pages
    for (const name of ["calculator_arithmetic", "book_trip", "countdown", "test_simple_text"]) contains(names, name, "names");
    equal(new Set(names).size, names.length, "different names");
  });
  await step("tools/call structured", async () => {
    const r = await client.callTool({ name: "calculator_arithmetic", arguments: { expression: "2*(3+4)^2" } });
    equal(r.structuredContent, { result: 98, expression: "2*(3+4)^2" }, "structured content");
    equal(text(r), "98", "text");
  });
  await step("tools/call failing tool", async () => {
    const r = await client.callTool({ name: "calculator_arithmetic", arguments: { expression: "1/0" } });
    equal(r.isError, true, "isError");
    contains(text(r), "division by zero", "text");
  });
  await step("tools/call unknown tool", async () => {
    const e = await rejects(client.callTool({ name: "no_such_tool", arguments: {} }));
    equal(e.code, -32602, "code");
    contains(e.message, "no_such_tool", "message");
  });
  await step("tools/call content kinds", async () => {
    const r = await client.callTool({ name: "test_multiple_content_types" });
    equal(r.content.map((c) => c.type), ["text", "image", "resource"], "content types");
    const audio = await client.callTool({ name: "test_audio_content" });
    equal([audio.content[0].type, audio.content[0].mimeType], ["audio", "audio/wav"], "audio");
  });
  await step("tools/call with an argument in a header", async () => {
    const r = await client.callTool({ name: "test_x_mcp_header", arguments: { region: "Zürich" } });
    equal(r.isError ?? false, false, "isError");
  });
  await step("tools/call in parallel", async () => {
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    const results = await Promise.all(
      numbers.map((n) => client.callTool({ name: "calculator_arithmetic", arguments: { expression: `${n}*2` } })),
    );
    equal(results.map((r) => r.structuredContent.result), numbers.map((n) => n * 2), "results");
  });
}
