// Connecting in either era, as a client that can be asked everything.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { contains, equal, Inbox, rejects, step } from "../steps.mjs";

export const revisions = { legacy: "2025-11-25", modern: "2026-07-28" };

// connect returns the session that all steps of an era share:
//   client, options, modern, step (which names the era), way: the transport
//   asked: what the server asked, answer: functions by method that a step may replace
//   told: notifications, as { method, params }
//   wire: every message that came, in the order in which it came
//   requests: HTTP requests that the transport made, as { method, lastEventId, status }
export async function connect(options, era) {
  const session = {
    options, era, modern: era === "modern", answer: {},
    asked: new Inbox(), told: new Inbox(), wire: new Inbox(), requests: new Inbox(),
  };
  session.step = (name, body) => step(`${era} ${name}`, body);
  // HTTP+SSE has no modern revisions: there, let the SDK find that out.
  const client = make(session.modern ? { pin: revisions.modern } : options.sse ? "auto" : "legacy");
  session.client = client;
  for (const method of ["elicitation/create", "sampling/createMessage", "roots/list"]) {
    client.setRequestHandler(method, (request) => {
      session.asked.put(request);
      return session.answer[method](request.params);
    });
  }
  for (const name of ["message", "resources/updated", "resources/list_changed", "tools/list_changed", "prompts/list_changed"]) {
    client.setNotificationHandler(`notifications/${name}`, (n) => session.told.put(n));
  }
  await session.step(session.modern ? "server/discover" : "initialize", async () => {
    const way = (session.way = transport(options, session.requests));
    await client.connect(way);
    const deliver = way.onmessage;
    way.onmessage = (message, extra) => {
      session.wire.put(message);
      deliver(message, extra);
    };
    equal([client.getProtocolEra(), client.getNegotiatedProtocolVersion()], [era, revisions[era]], "era and revision");
    console.log(`speaks ${revisions[era]}`);
    equal(client.getServerVersion().name, "mcpedge", "server name");
    const can = client.getServerCapabilities();
    equal([can.tools.listChanged, can.prompts.listChanged], [true, true], "tools and prompts capabilities");
    equal([can.resources.listChanged, can.resources.subscribe], [true, true], "resources capability");
    contains(client.getInstructions(), "sample data", "instructions");
  });
  if (session.modern) {
    await session.step("negotiate", async () => {
      const found = make("auto"); // without a revision in mind
      await found.connect(transport(options, new Inbox()));
      equal([found.getProtocolEra(), found.getNegotiatedProtocolVersion()], [era, revisions[era]], "era and revision");
      await found.close();
    });
  } else {
    await session.step("ping", async () => equal(await client.ping(), {}, "result"));
  }
  return session;
}

// refused shows that HTTP+SSE does not pretend to have the modern revision.
export async function refused(options) {
  await step("modern refused", async () => {
    const e = await rejects(make({ pin: revisions.modern }).connect(transport(options, new Inbox())));
    equal(e.code, "ERA_NEGOTIATION_FAILED", "code");
  });
}

function make(mode) {
  return new Client({ name: "interop-typescript-v2", version: "1.0.0" }, {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } },
    versionNegotiation: { mode },
  });
}

function transport({ url, sse, command }, requests) {
  if (sse) return new SSEClientTransport(new URL(sse));
  if (command) return new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: "inherit" });
  const recording = async (where, init) => {
    const response = await fetch(where, init);
    requests.put({ method: init?.method ?? "GET", lastEventId: new Headers(init?.headers).get("last-event-id"), status: response.status });
    return response;
  };
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch: recording,
    reconnectionOptions: { initialReconnectionDelay: 50, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 2, maxRetries: 5 },
  });
}
