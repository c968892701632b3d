// Drives an edge with the command lines of the MCP Inspector in both eras: @modelcontextprotocol/inspector --cli, one process
// for each request, as scripts use it, and for tasks also mcpdo, which holds connections. Two replicas meet mcpdo alone.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { contains, equal, fail, options, step, text, uses } from "../steps.mjs";
import { inspector } from "./inspector.mjs";
import { tasks } from "./tasks.mjs";

const o = options();
await uses("@modelcontextprotocol/inspector", import.meta.url);
const inspect = await inspector(o);

// the steps of one era: [name, body]
function steps(era) {
  const ask = (...args) => inspect("--protocol-era", era, "--method", ...args);
  const result = async (...args) => {
    const r = await ask(...args);
    if (r.status !== 0) fail(args.join(" "), "status 0", r);
    return r.result;
  };
  const modern = era === "modern";
  return [
    ["initialize", async () => {
      const r = await result("initialize");
      equal([r.protocolVersion, r.serverInfo.name], [modern ? "2026-07-28" : "2025-11-25", "mcpedge"], "revision and name");
      console.log(`speaks ${r.protocolVersion}`);
      contains(r.instructions, "sample data", "instructions");
    }],
    ["tools/list", async () => {
      const { tools } = await result("tools/list");
      for (const name of ["calculator_arithmetic", "countdown", "test_simple_text"]) contains(tools.map((t) => t.name), name, "names");
    }],
    ["tools/list strictly", async () => {
      const r = await ask("tools/list", "--strict");
      equal(r.status, 0, "status (6: a schema that clients would refuse)");
    }],
    ["tools/call structured", async () => {
      const r = await result("tools/call", "--tool-name", "calculator_arithmetic", "--tool-arg", "expression=2*(3+4)^2");
      equal(r.structuredContent, { result: 98, expression: "2*(3+4)^2" }, "structured content");
      equal(text(r), "98", "text");
    }],
    ["tools/call running", async () => {
      const r = await result("tools/call", "--tool-name", "countdown", "--tool-args-json", '{"steps":3,"interval_ms":30}');
      contains(text(r), "Counted down 3 steps", "text");
    }],
    ["tools/call with metadata", async () => {
      const r = await result("tools/call", "--tool-name", "test_simple_text", "--metadata", "example.com/a=b");
      contains(text(r), "simple text", "text");
    }],
    ["tools/call with an argument in a header", async () => {
      const r = await result("tools/call", "--tool-name", "test_x_mcp_header", "--tool-arg", "region=Zürich");
      equal(r.isError ?? false, false, "isError");
    }],
    ["tools/call failing tool", async () => {
      const r = await ask("tools/call", "--tool-name", "calculator_arithmetic", "--tool-arg", "expression=1/0");
      equal([r.status, r.error?.code, r.result?.isError], [5, "tool_is_error", true], "status, error and isError");
    }],
    ["tools/call without the capability it needs", async () => {
      const r = await ask("tools/call", "--tool-name", "book_trip", "--tool-arg", "destination=Rome");
      equal(r.status, modern ? 1 : 5, "status");
      contains(modern ? r.error.message : text(r.result), "elicitation", "message");
    }],
    ["tools/call under load", async () => {
      const r = await result("tools/call", "--tool-name", "calculator_arithmetic", "--tool-arg", "expression=1+1",
        "--load", "--load-requests", "200", "--load-concurrency", "20");
      equal([r.ok, r.errors, r.toolErrors], [200, 0, 0], "calls, errors and failures of the tool");
    }],
    // In 2025-11-25 it asks for a task only where there is nothing else.
    ...(modern ? [["tasks by tools/call", async () => {
      const r = await result("tools/call", "--tool-name", "slow_compute", "--tool-args-json", '{"seconds":0.5,"label":"x"}');
      contains(text(r), "x was computed", "text");
    }]] : []),
    ["tasks of a tool that has nothing else", async () => {
      const r = await ask("tools/call", "--tool-name", "failing_job");
      equal([r.status, r.error?.code], modern ? [5, "tool_is_error"] : [1, "error"], "status and error");
    }],
    ["resources/list", async () => {
      const { resources } = await result("resources/list");
      contains(resources.map((r) => r.name), "note.txt", "names");
      contains(resources.map((r) => r.uri), "test://watched-resource", "URIs");
    }],
    ["resources/templates/list", async () => {
      const { resourceTemplates } = await result("resources/templates/list");
      contains(resourceTemplates.map((t) => t.uriTemplate), "weather://forecast/{city}/{date}", "templates");
    }],
    ["resources/read", async () => {
      const r = await result("resources/read", "--uri", pathToFileURL(join(o.dir, "note.txt")).href);
      equal(r.contents[0].text, "first\n", "text");
    }],
    ["resources/read not found", async () => {
      const r = await ask("resources/read", "--uri", "test://no-such-resource");
      equal(r.status, 1, "status");
      contains(r.error.message, "test://no-such-resource", "message");
    }],
    ["prompts/list", async () => {
      const { prompts } = await result("prompts/list");
      contains(prompts.map((p) => p.name), "plan-vacation", "names");
    }],
    ["prompts/get", async () => {
      const r = await result("prompts/get", "--prompt-name", "plan-vacation", "--prompt-args", "destination=Lisbon", "days=4");
      contains(r.messages[0].content.text, "4 days in Lisbon", "text");
    }],
    ["prompts/get not found", async () => {
      const r = await ask("prompts/get", "--prompt-name", "no-such-prompt");
      equal(r.status, 1, "status");
      contains(r.error.message, "no-such-prompt", "message");
    }],
    // The revision without sessions has no such request.
    ...(modern ? [] : [["logging/setLevel", async () => equal(await result("logging/setLevel", "--log-level", "info"), {}, "result")]]),
  ];
}

const eras = o.sse ? ["legacy"] : ["legacy", "modern"]; // HTTP+SSE has no modern revisions
if (!o.drain) {
  // A process takes most of its time to start: do two at a time.
  const waiting = eras.flatMap((era) => steps(era).map(([name, body]) => [`${era} ${name}`, body]));
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await step(...next);
  };
  await Promise.all([worker(), worker()]);
}
await tasks(o, eras);
console.log("lacks questions of tasks in 2025-11-25: it opens tasks/result only when a task has ended");
process.exit(0);
