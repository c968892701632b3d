// Tasks by mcpdo, over connections that its daemon holds, in both eras.
import { contains, drain, equal, fail, step, text } from "../steps.mjs";
import { holder } from "./inspector.mjs";

export async function tasks(options, eras) {
  const run = await holder(options);
  await Promise.all(eras.map((era) => ofEra(run, options, era)));
  if (options.drain) await drained(run, options);
}

// asking returns a function that runs mcpdo over the connection to era, and resolves to its result; what it ends with
// otherwise is expected by the status in expect.
function asking(run, era, expect = 0) {
  return async (...args) => {
    const r = await run("--connection", era, ...args);
    if (r.status !== expect) fail(args.join(" "), `status ${expect}`, r);
    return expect === 0 ? r.result : r.error;
  };
}

async function ofEra(run, options, era) {
  const [ask, refused] = [asking(run, era), asking(run, era, 1)];
  const call = (name, args = {}) => ask("tools/call", name, "--task", "--tool-args-json", JSON.stringify(args));
  const modern = era === "modern";

  await step(`${era} connect and hold`, async () => {
    const r = await run("connect", era, "--era", era);
    equal([r.status, r.result?.protocolEra], [0, era], "status and era");
  });
  await step(`${era} tasks to their result`, async () => {
    const r = await call("slow_compute", { seconds: 1, label: "x" });
    contains(text(r), "x was computed", "text");
    if (!modern) equal(typeof r._meta["io.modelcontextprotocol/related-task"].taskId, "string", "related task");
  });
  await step(`${era} tasks that fail`, async () => {
    const error = await asking(run, era, modern ? 5 : 1)("tools/call", "failing_job", "--task");
    equal(error.code, modern ? "tool_is_error" : "error", "error");
  });
  if (modern) {
    await step("modern tasks that ask by elicitation", async () => {
      let r = await call("multi_input");
      for (const answer of ["Ada", "green"]) {
        equal(r.elicitationPending?.origin, "task-input-required", "origin of the question");
        r = await ask("elicitation/respond", r.elicitationPending.elicitationId, `answer:=${answer}`);
      }
      contains(text(r), '{"answer":"Ada"}; action=accept, content={"answer":"green"}', "text");
    });
  }
  if (options.url) await byId(options, era, ask, refused);
  await step(`${era} tasks that are unknown`, async () => {
    contains((await refused("tasks/get", "no-such-task")).message, "no-such-task", "message");
  });
  if (!options.drain) await step(`${era} disconnect`, async () => equal((await run("disconnect", era)).status, 0, "status"));
}

// byId takes tasks up that another client has begun.
async function byId(options, era, ask, refused) {
  await step(`${era} tasks taken up by their ids`, async () => {
    const id = await begin(options, "slow_compute", { seconds: 1.5, label: "y" });
    const { task } = await ask("tasks/get", id);
    equal(task.taskId, id, "id");
    contains(text(await ask("tasks/result", id)), "y was computed", "text");
  });
  await step(`${era} tasks cancelled`, async () => {
    const id = await begin(options, "slow_compute", { seconds: 60, label: "z" });
    equal((await ask("tasks/get", id)).task.status, "working", "status before");
    equal(await ask("tasks/cancel", id), { cancelled: true, taskId: id }, "result");
    equal((await ask("tasks/get", id)).task.status, "cancelled", "status");
    contains((await refused("tasks/result", id)).message, "cancelled", "message");
  });
  if (era !== "modern") return;
  await step("modern tasks answered by tasks/update", async () => {
    const id = await begin(options, "multi_input", {});
    const keys = Object.keys((await ask("tasks/get", id)).task.raw.inputRequests);
    const answers = Object.fromEntries(keys.map((key) => [key, { action: "accept", content: { answer: key } }]));
    await ask("tasks/update", id, "--input-responses", JSON.stringify(answers));
    for (const key of keys) contains(text(await ask("tasks/result", id)), `"answer":"${key}"`, "text");
  });
}

async function drained(run, options) {
  await step("modern tasks while a replica ends", async () => {
    const call = asking(run, "modern")("tools/call", "slow_compute", "--tool-args-json", '{"seconds":3,"label":"w"}');
    await drain(options);
    contains(text(await call), "w was computed", "text");
  });
}

// begin has a client that knows of tasks call a tool, and returns the id of the task.
async function begin({ url }, name, args) {
  const version = "2026-07-28";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "interop-inspector", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta } }),
  });
  const { result } = await response.json();
  equal(result?.resultType, "task", "type of the result");
  return result.taskId;
}
