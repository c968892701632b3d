// Connecting the SDK 2.x's client in either revision, and a session of tasks over it.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createApplicationInputHandler, createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import { equal, Inbox } from "../steps.mjs";

export const legacy = "2025-11-25";
export const modern = "2026-07-28";

const clientInfo = { name: "interop-ext-tasks", version: "1.0.0" };
const capabilities = { elicitation: { form: {} } };

// connect returns { client, session, asked }: asked has the forms that the session filled in, each as { request, context }.
export async function connect(options, revision) {
  const mode = revision === modern ? { pin: modern } : "legacy";
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode } });
  const way = transport(options);
  await client.connect(way);
  equal(client.getNegotiatedProtocolVersion(), revision, "revision");
  const asked = new Inbox();
  const session = createTaskSessionFromClient(client, {
    endpointId: "edge",
    onInputRequest: createApplicationInputHandler({
      elicitation: (request, context) => {
        asked.put({ request, context });
        return { action: "accept", content: { answer: "yes" } };
      },
    }),
    // The SDK's client refuses results that are tasks: such requests go past it.
    ...(revision === modern && {
      rawDispatch: dispatcher(way),
      v2RequestFraming: { protocolVersion: modern, clientInfo, clientCapabilities: capabilities },
    }),
  });
  return { client, session, asked };
}

// watch waits for a task's outcome and returns it, with each status that the task had.
export async function watch(execution) {
  const statuses = [];
  const onEvent = (event) => event.type === "task" && statuses.push(event.task.status);
  const { outcome } = await execution.settle({ onEvent });
  return { outcome, statuses };
}

function transport({ url, sse, command }) {
  if (url) return new StreamableHTTPClientTransport(new URL(url));
  if (sse) return new SSEClientTransport(new URL(sse));
  return new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: "inherit" });
}

// dispatcher sends requests over a connected transport beside those of its client, and takes their answers.
function dispatcher(way) {
  const waiting = new Map();
  const deliver = way.onmessage;
  way.onmessage = (message, extra) => {
    const answer = message.method === undefined && waiting.get(message.id);
    if (!answer) return deliver(message, extra);
    waiting.delete(message.id);
    answer(message.error ? { kind: "error", error: message.error } : { kind: "result", result: message.result });
  };
  let sent = 0;
  return (request, { signal, context } = {}) => new Promise((resolve, reject) => {
    const id = `task-request-${++sent}`;
    waiting.set(id, resolve);
    const give = (why) => {
      waiting.delete(id);
      reject(why);
    };
    signal?.addEventListener("abort", () => give(signal.reason), { once: true });
    way.send({ jsonrpc: "2.0", id, ...request }, { requestSignal: signal, headers: context?.headers }).catch(give);
  });
}
