// Connecting: the handshake, and a client that can be asked everything.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { contains, equal, Inbox, step } from "../steps.mjs";

// connect returns the session that all steps share:
//   client, transport, options
//   asked: what the server asked, answer: functions by method that a step may replace
//   told: notifications, as { method, params }
//   wire: every message that came, in the order in which it came
//   requests: HTTP requests that the transport made, as { method, lastEventId, status }
export async function connect(options) {
  const session = { options, asked: new Inbox(), told: new Inbox(), wire: new Inbox(), requests: new Inbox(), answer: {} };
  const client = new Client(
    { name: "interop-typescript-v1", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } } },
  );
  session.client = client;
  for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema]) {
    client.setRequestHandler(schema, (request) => {
      session.asked.put(request);
      return session.answer[request.method](request.params);
    });
  }
  for (const schema of [
    LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ResourceListChangedNotificationSchema,
    ToolListChangedNotificationSchema,
    PromptListChangedNotificationSchema,
  ]) {
    client.setNotificationHandler(schema, (n) => session.told.put(n));
  }
  session.transport = transport(session);
  await step("initialize", async () => {
    await client.connect(session.transport);
    const deliver = session.transport.onmessage;
    session.transport.onmessage = (message, extra) => {
      session.wire.put(message);
      deliver(message, extra);
    };
    equal(client.getServerVersion().name, "mcpedge", "server name");
    const can = client.getServerCapabilities();
    equal(can.tools, { listChanged: true }, "tools capability");
    equal(can.prompts, { listChanged: true }, "prompts capability");
    equal(can.resources, { listChanged: true, subscribe: true }, "resources capability");
    equal([can.logging, can.completions], [{}, {}], "logging and completions capabilities");
    contains(client.getInstructions(), "sample data", "instructions");
    console.log("speaks 2025-11-25");
    if (options.url) equal(session.transport.protocolVersion, "2025-11-25", "negotiated revision");
  });
  await step("ping", async () => equal(await client.ping(), {}, "result"));
  return session;
}

function transport(session) {
  const { url, sse, command } = session.options;
  if (url) return http(session);
  if (sse) return new SSEClientTransport(new URL(sse));
  return new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: "inherit" });
}

function http(session) {
  const url = new URL(session.options.url);
  const recording = async (where, init) => {
    const response = await fetch(where, init);
    session.requests.put({
      method: init?.method ?? "GET",
      lastEventId: new Headers(init?.headers).get("last-event-id"),
      status: response.status,
    });
    return response;
  };
  return new StreamableHTTPClientTransport(url, {
    fetch: recording,
    reconnectionOptions: { initialReconnectionDelay: 50, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 2, maxRetries: 5 },
  });
}
