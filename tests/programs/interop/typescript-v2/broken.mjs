// Broken connections: the SDK resumes its streams by Last-Event-ID, and nothing is lost or doubled.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { contains, drain, equal, fail, kill, restore, text } from "../steps.mjs";
import { progressed, upTo } from "./running.mjs";

export async function broken({ client, told, wire, requests, options, step }) {
  const cut = async () => {
    const n = Number(await (await fetch(options.cut, { method: "POST" })).text());
    if (!(n > 0)) fail("broken connections", "at least one", n);
  };
  await step("resume a call", async () => {
    requests.clear();
    wire.clear();
    let cutting;
    const r = await client.callTool({ name: "countdown", arguments: { steps: 12, interval_ms: 60 } }, {
      onprogress: (p) => {
        if (p.progress === 3) cutting = cut();
      },
    });
    await cutting;
    contains(text(r), "Counted down 12 steps", "text");
    equal(progressed(wire), { 12: upTo(12) }, "progress");
    if (!requests.items.some((r) => r.method === "GET" && r.lastEventId && r.status === 200)) {
      fail("requests", "a GET with Last-Event-ID", requests.items);
    }
  });
  await step("changes after a broken connection", async () => {
    const file = join(options.dir, `typescript-v2-broken-${process.pid}.txt`);
    told.clear();
    await writeFile(file, "one\n");
    await told.until((all) => all.find((n) => n.method === "notifications/resources/list_changed"), "list_changed");
    await rm(file);
  });
}

// drained shows that a replica may end while it runs a call.
export async function drained({ client, wire, options, step }) {
  // ended runs a call whose replica ends meanwhile: the call is answered, and its progress comes once.
  const ended = async (end) => {
    wire.clear();
    let ending;
    const r = await client.callTool({ name: "countdown", arguments: { steps: 30, interval_ms: 100 } }, {
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
