// Broken connections: the SDK resumes its streams by Last-Event-ID, and nothing is lost or doubled.
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { writeFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { contains, drain, equal, fail, kill, restore, step, text } from "../steps.mjs";
import { progressed, upTo } from "./running.mjs";

export async function broken({ client, told, asked, answer, requests, wire, options }) {
  const cut = async () => {
    const r = await fetch(options.cut, { method: "POST" });
    const n = Number(await r.text());
    if (!(n > 0)) fail("broken connections", "at least one", n);
  };
  const resumed = () => requests.items.filter((r) => r.method === "GET" && r.lastEventId && r.status === 200).length;

  await step("resume a call", async () => {
    // A busy machine may cut the connection only after the call has ended: the next call takes longer.
    for (const interval_ms of [60, 300, 1500]) {
      requests.clear();
      wire.clear();
      let cutting;
      const r = await client.callTool({ name: "countdown", arguments: { steps: 12, interval_ms } }, undefined, {
        onprogress: (p) => {
          if (p.progress === 3) cutting = cut();
        },
      });
      await cutting;
      contains(text(r), "Counted down 12 steps", "text");
      equal(progressed(wire), { 12: upTo(12) }, "progress");
      if (resumed() > 0) return;
    }
    fail("requests", "a GET with Last-Event-ID", requests.items);
  });
  await step("resume a call twice", async () => {
    wire.clear();
    const cuts = [];
    const r = await client.callTool({ name: "countdown", arguments: { steps: 30, interval_ms: 50 } }, undefined, {
      onprogress: (p) => {
        if (p.progress === 3 || p.progress === 20) cuts.push(cut());
      },
    });
    await Promise.all(cuts);
    contains(text(r), "Counted down 30 steps", "text");
    equal(progressed(wire), { 30: upTo(30) }, "progress");
  });
  await step("resume while the user is asked", async () => {
    let first = true;
    answer["elicitation/create"] = async (params) => {
      if (first) {
        first = false;
        await cut();
      }
      return {
        action: "accept",
        content: params.requestedSchema.properties.confirm ? { confirm: true } : { seat: "aisle", room: "single", insurance: false },
      };
    };
    asked.clear();
    const r = await client.callTool({ name: "book_trip", arguments: { destination: "Rome" } });
    equal(r.structuredContent?.status, "booked", "status");
    equal(asked.items.length, 2, "questions");
  });
  await step("changes after a broken connection", async () => {
    const file = join(options.dir, `typescript-v1-broken-${process.pid}.txt`);
    const uri = pathToFileURL(file).href;
    await writeFile(file, "one\n");
    await told.until((all) => all.find((n) => n.method === "notifications/resources/list_changed"), "list_changed");
    await client.subscribeResource({ uri });
    told.clear();
    await cut();
    await writeFile(file, "two\n");
    await told.until((all) => all.find((n) => n.params?.uri === uri), "updated");
    await client.unsubscribeResource({ uri });
    await rm(file);
  });
  await step("resume a call in another client", async () => {
    const info = { name: "interop-typescript-v1", version: "1.0.0" };
    const call = { method: "tools/call", params: { name: "countdown", arguments: { steps: 12, interval_ms: 60 } } };
    const first = new Client(info);
    const before = new StreamableHTTPClientTransport(new URL(options.url));
    await first.connect(before);
    let token;
    let left;
    const leaving = new Promise((resolve) => (left = resolve));
    const abandoned = first.request(call, CallToolResultSchema, {
      onresumptiontoken: (t) => (token = t),
      onprogress: (p) => p.progress === 3 && left(),
    });
    abandoned.catch(() => {}); // the connection is closed under it
    await leaving;
    await first.close();
    const second = new Client(info);
    const after = new StreamableHTTPClientTransport(new URL(options.url), { sessionId: before.sessionId });
    await second.connect(after);
    after.setProtocolVersion(before.protocolVersion);
    const r = await second.request(call, CallToolResultSchema, { resumptionToken: token });
    contains(text(r), "Counted down 12 steps", "text");
    await after.terminateSession();
    await second.close();
  });
}

// drained shows that a replica may end while it runs a call.
export async function drained({ client, wire, options }) {
  // ended runs a call whose replica ends meanwhile: the call is answered, and its progress comes once.
  const ended = async (end) => {
    wire.clear();
    let ending;
    const r = await client.callTool({ name: "countdown", arguments: { steps: 30, interval_ms: 100 } }, undefined, {
      onprogress: (p) => {
        if (p.progress === 3) ending = end(options);
      },
    });
    await ending;
    contains(text(r), "Counted down 30 steps", "text");
    equal(progressed(wire), { 30: upTo(30) }, "progress");
  };
  const next = async () => {
    const r = await client.callTool({ name: "calculator_arithmetic", arguments: { expression: "1+1" } });
    equal(text(r), "2", "text");
  };
  await step("a replica drained in a call", () => ended(drain));
  await step("a call on the other replica", next);
  await step("a replica killed in a call", async () => {
    await restore(options);
    await ended(kill);
    await next();
  });
}
