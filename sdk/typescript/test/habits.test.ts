import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { type Call, type Replayed, structured } from "@mcpedge/capability";
import { accepted, TestClient, type TestOptions } from "@mcpedge/capability/testing";
import { bytes } from "@mcpedge/capability/zod";
import { make } from "./server.js";

test("values of which JSON.stringify makes nothing are errors that name their member", async () => {
  const server = make();
  const values: [string, unknown, RegExp][] = [
    ["promise", { total: Promise.resolve(1) }, /the promise at "total" is no JSON; await it/],
    ["map", new Map([["a", 1]]), /the Map is no JSON; use Object.fromEntries/],
    ["set", { s: [new Set()] }, /the Set at "0" is no JSON; use \[\.\.\.set\]/],
    ["buffer", { b: Buffer.from("x") }, /the Buffer at "b" is no JSON; use its base64/],
    ["bytes", { b: new Uint8Array(1) }, /the Buffer at "b" is no JSON/],
    ["big", { n: 1n }, /the bigint at "n" is no JSON; use String\(…\), or Number\(…\)/],
  ];
  const any = z.object({ total: z.any() });
  server.registerTool("any", { outputSchema: any }, () => ({ total: Promise.resolve(1) }));
  for (const [name, value] of values) server.registerTool(name, {}, () => structured(value));
  server.registerTool("undefined", {}, () => structured(undefined));
  server.registerTool("date", {}, () => structured({ at: new Date(0) }));
  const client = new TestClient(server);
  for (const [name, , message] of values) assert.match((await client.callTool(name)).failure?.message ?? "", message);
  assert.match((await client.callTool("any")).failure?.message ?? "", /the promise at "total"/);
  assert.match(
    (await client.callTool("undefined")).failure?.message ?? "",
    /structured\(undefined\) has no value: give null/,
  );
  assert.deepEqual((await client.callTool("date")).result?.structuredContent, { at: "1970-01-01T00:00:00.000Z" });
});

test("content that lacks a member is an error that names it", async () => {
  const server = make();
  const blocks: [object, RegExp][] = [
    [{ type: "image", data: "AAAA" }, /content of the type image has a mimeType, unlike/],
    [{ type: "audio", data: "AAAA" }, /content of the type audio has a mimeType, unlike/],
    [{ type: "resource_link", uri: "a://b" }, /content of the type resource_link has a name, unlike/],
    [{ type: "resource", resource: { text: "x" } }, /content of the type resource has a resource.uri, unlike/],
    [{ type: "resource" }, /content of the type resource has a resource.uri, unlike/],
    [{ type: "text", text: "", annotations: { audience: "user" } }, /audience is a list, as \["user"\], not "user"/],
  ];
  for (const [block, message] of blocks) {
    server.registerTool("t", {}, () => ({ content: [block as never] }));
    assert.match((await new TestClient(server).callTool("t")).failure?.message ?? "", message);
    server.removeTool("t");
  }
});

test("the variables of a template are typed by their names", async () => {
  const server = make();
  server.registerResourceTemplate("a", "a://{id}/{path}{?q,page}", {}, (_, { id, path, q, page }) => {
    const maybe: string | undefined = q;
    const sure: string = id + path;
    return sure + maybe + page;
  });
  const base = "b://x/" as string;
  server.registerResourceTemplate("b", `${base}{id}`, {}, (_, { id }) => id);
  server.registerResourceTemplate("f", base + "{any}", {}, (_, variables) => variables.any ?? "");
  // @ts-expect-error the template has the variable id
  server.registerResourceTemplate("c", "c://{id}", {}, (_, { userId }) => `user ${userId}`);
  // @ts-expect-error an expression of a query may be left out
  server.registerResourceTemplate("d", "d://x{?q}", {}, (_, { q }) => q.length.toString());
  server.registerResourceTemplate("e", "e://{a*}/{b:3}", {}, (_, { a, b }) => a + b);
  assert.equal((await new TestClient(server).readResource("a://1/2?q=4")).text, "124undefined");
});

test("two questions under one key are an error, and one that is repeated is not", async () => {
  const server = make();
  server.registerTool("loop", {}, async (_, call) => {
    const deleted = [];
    for (const file of ["a", "b"]) if (await call.ask("sure", `Delete ${file}?`, z.boolean())) deleted.push(file);
    return deleted.join();
  });
  server.registerTool("again", {}, async (_, call) => {
    const ask = () => call.ask("sure", "Sure?", z.boolean());
    return `${await ask()} ${await ask()}`;
  });
  const client = new TestClient(server, { answers: { sure: accepted(true) } });
  const { failure } = await client.callTool("loop");
  assert.equal(failure?.message, 'two different questions have the key "sure"; give each its own, as `sure-${id}`');
  assert.equal((await client.callTool("again")).text, "true true");
});

test("options of calls and of bytes are refused when they are misspelled", async () => {
  const server = make();
  server.registerTool("progress", {}, (_, call) => call.progress({ progress: 1 } as never));
  server.registerResource("r", "a://r", {}, (_, call) => (call.setCache(1, { share: true } as never), ""));
  const client = new TestClient(server);
  assert.match((await client.callTool("progress")).failure?.message ?? "", /failed by a fault/);
  assert.match((await client.readResource("a://r")).failure?.message ?? "", /failed by a fault/);
  assert.throws(() => bytes({ most: 5 } as never), /bytes has no option "most": known are "max"/);
});

test("handlers may take a call apart", async () => {
  const server = make();
  server.registerTool("apart", {}, async (_, { ask, log, progress, once, signal }) => {
    log("info", "begins");
    progress(1);
    const id = await once("id", () => 7);
    return `${id} ${await ask("ok", "?", z.boolean())} ${signal.aborted}`;
  });
  const called = await new TestClient(server, { answers: { ok: accepted(true) } }).callTool("apart");
  assert.deepEqual([called.text, called.logs.length, called.progress.length], ["7 true false", 2, 2]);
});

test("forms and raw tools take schemas that are objects", async () => {
  const server = make();
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  server.registerTool("ask", {}, async (_, call) => {
    const { action, content } = await call.askForm("ok", "Sure?", schema);
    return `${action} ${String(content?.ok)}`;
  });
  server.registerRawTool("raw", { inputSchema: schema }, (args) => ({ content: [{ type: "text", text: args }] }));
  const client = new TestClient(server, { answers: { ok: accepted(true) } });
  assert.equal((await client.callTool("ask")).text, "accept true");
  assert.equal((await client.callTool("raw", { ok: true })).text, '{"ok":true}');
  assert.deepEqual(JSON.parse(server.tools.get("raw")!.listed.inputSchemaJson), schema);
});

test("what the official SDK's completable has left on a schema completes", async () => {
  const server = make();
  const completable = <S extends object>(schema: S, complete: unknown): S =>
    Object.defineProperty(schema, Symbol.for("mcp.completable"), { value: { complete } });
  const tea = (value: string, context?: { arguments?: Record<string, string> }) => [value + context?.arguments?.mood];
  const argsSchema = z.object({
    mood: z.string(),
    tea: completable(z.string(), tea),
    cup: completable(z.string(), () => ["small"]).optional(),
  });
  server.registerPrompt("p", { argsSchema }, ({ mood }) => mood);
  const client = new TestClient(server);
  assert.deepEqual(await client.complete("p", "tea", "as ", { mood: "calm" }), ["as calm"]);
  assert.deepEqual(await client.complete("p", "cup", ""), ["small"]);
});

test("a failed assertion is a fault", async () => {
  const server = make();
  server.registerTool("t", {}, () => assert.fail("the password is x"));
  const { result, failure } = await new TestClient(server).callTool("t");
  assert.deepEqual([result, failure?.message], [undefined, "tool t failed by a fault of the service"]);
});

test("a schema that has no JSON Schema is an error that names the member and its replacement", () => {
  const server = make();
  const node = z.object({
    id: z.string(),
    get children() {
      return z.array(node);
    },
    added: z.date(),
  });
  const inputs: [z.ZodObject, RegExp][] = [
    [
      z.object({ since: z.coerce.date().optional() }),
      /"since" makes no JSON Schema: Date.*: write z\.iso\.datetime\(\)\.tr/,
    ],
    [
      z.object({ rows: z.array(z.object({ n: z.bigint() })) }),
      /"rows\.n" makes no JSON Schema: BigInt.*: write z\.int\(\)/,
    ],
    [z.object({ by: z.map(z.string(), z.string()) }), /"by" makes no JSON Schema: Map.*: write z\.record\(/],
    [z.object({ ids: z.set(z.string()) }), /"ids" makes no JSON Schema: Set.*: write z\.array\(/],
    [z.object({ id: z.custom<string>() }), /"id" makes no JSON Schema: Custom.*: write z\.string\(\)\.refine\(/],
    [z.object({ to: z.union([z.string(), z.date()]) }), /"to" makes no JSON Schema: Date/],
    [z.object({ picture: z.file() }), /"picture" makes no JSON Schema: a File is no JSON: write bytes\(\) of @mcpedge/],
    [node, /"added" makes no JSON Schema: Date/],
  ];
  for (const [inputSchema, message] of inputs) {
    assert.throws(() => server.registerTool("t", { inputSchema }, () => ""), message);
  }
  const outputs: [z.ZodObject, RegExp][] = [
    [
      z.object({ at: z.date() }),
      /outputSchema: "at" makes no JSON Schema: Date.*: write z\.iso\.datetime\(\), and return d/,
    ],
    [
      z.object({ n: z.string().transform(Number) }),
      /"n" makes no JSON Schema: Transforms.*: transform it in the handler/,
    ],
    [z.object({ file: z.file() }), /"file" makes no JSON Schema: a File is no JSON: return content, as embed\(/],
  ];
  for (const [outputSchema, message] of outputs) {
    assert.throws(() => server.registerTool("t", { outputSchema }, () => ({})), message);
  }
});

test("a form that has no JSON Schema is a fault of the service, as other invalid forms are", async () => {
  const server = make();
  server.registerTool("t", {}, async (_, call) => String(await call.ask("at", "When?", z.date() as never)));
  const { result, failure } = await new TestClient(server).callTool("t");
  assert.deepEqual([result, failure?.message], [undefined, "tool t failed by a fault of the service"]);
});

test("a value of once that is no JSON is an error that names it", async () => {
  const server = make();
  const values: [unknown, string][] = [
    [new Map(), 'once "k": the Map is no JSON; use Object.fromEntries(…)'],
    [{ n: 1n }, 'once "k": the bigint at "n" is no JSON; use String(…), or Number(…)'],
    [
      Buffer.from("x"),
      'once "k": the Buffer is no JSON; use its base64, toString("base64"), or content such as image(…)',
    ],
  ];
  for (const [value, message] of values) {
    server.registerTool("t", {}, async (_, call) => String(await call.once("k", () => value)));
    assert.equal((await new TestClient(server).callTool("t")).failure?.message, message);
    server.removeTool("t");
  }
});

test("a value of once has the type that is left of it in JSON", async () => {
  interface Row {
    id: number;
    at: Date;
    tags?: string[];
    pair: [Date, 1];
    save(): void;
  }
  const row = (): Row => ({ id: 1, at: new Date(0), pair: [new Date(0), 1], save() {} });
  const server = make();
  server.registerTool("t", {}, async (_, call) => {
    const { id, at, tags, pair } = await call.once("row", row);
    const texts: [string, 1] = pair;
    const kind: "a" | "b" = await call.once("kind", () => "a" as "a" | "b");
    const any: number = await call.once("any", () => JSON.parse("1"));
    const nothing: void = await call.once("nothing", () => {});
    return `${id} ${at.slice(0, 4)} ${tags?.join()} ${texts[0].slice(0, 4)} ${kind} ${any} ${nothing}`;
  });
  const wrong = async (call: Call) => {
    // @ts-expect-error of a Date there is its text
    (await call.once("at", () => new Date(0))).getTime();
    // @ts-expect-error methods are not in JSON
    (await call.once("row", row)).save();
    const known: Replayed<unknown> = await call.once("unknown", (): unknown => 1);
    return known;
  };
  assert.equal(typeof wrong, "function");
  assert.equal((await new TestClient(server).callTool("t")).text, "1 1970 undefined 1970 a 1 null");
});

test("once takes a function", async () => {
  const server = make();
  const seen: string[] = [];
  server.registerTool("t", {}, async (_, call) => {
    await call.once("k", Promise.resolve(1) as never).catch((error: Error) => seen.push(error.message));
    return "";
  });
  await new TestClient(server).callTool("t");
  assert.deepEqual(seen, ['once "k" takes a function: write call.once("k", () => …)']);
});

test("a resource whose URI is a template is an error that names registerResourceTemplate", () => {
  const register = () => make().registerResource("note", "notes://{id}", {}, () => "");
  assert.throws(
    register,
    /resource "note" at "notes:\/\/\{id\}": a URI has no braces: a template has server\.registerResourceT/,
  );
});

test("an error that is returned, not thrown, is an error that says so", async () => {
  const server = make();
  server.registerTool("t", {}, () => new Error("sold out") as never);
  assert.equal((await new TestClient(server).callTool("t")).failure?.message, 'tool "t" returned an error: throw it');
});

test("the kit refuses misspelled members of a caller, and a Buffer as an argument", async () => {
  const server = make();
  server.registerTool(
    "t",
    { inputSchema: z.object({ file: bytes().optional() }) },
    (_, call) => call.principal.subject,
  );
  const called = (options: object) => new TestClient(server).callTool("t", {}, options as TestOptions);
  await assert.rejects(
    called({ principal: { sub: "ada" } }),
    /the principal of a call has no option "sub": known are "subj/,
  );
  await assert.rejects(
    called({ clientCapabilities: { elicit: {} } }),
    /the clientCapabilities of a call has no option "elicit"/,
  );
  const { text } = await new TestClient(server).callTool("t", { file: Buffer.from("x") });
  const { failure } = await new TestClient(server).callTool("t", { file: Buffer.from("x") });
  assert.match(text + failure?.message, /"file": expected a string of base64, as buffer\.toString\("base64"\)/);
});

test("a record with the names of its own members is a value, not a result of MCP", async () => {
  const server = make();
  const outputSchema = z.record(
    z.string(),
    z.union([z.int(), z.array(z.object({ type: z.string(), text: z.string() }))]),
  );
  const counts = { content: 3, _meta: 1 };
  server.registerTool("words", { outputSchema }, () => counts);
  server.registerTool("blocks", { outputSchema }, () => ({ content: [{ type: "text", text: "a" }] }));
  server.registerTool("named", { outputSchema: z.object({ words: z.int() }).catchall(z.int()) }, () => ({
    words: 1,
    content: 3,
  }));
  server.registerTool("whole", { outputSchema }, () => ({ content: [], structuredContent: { a: 1 } }));
  server.registerTool("error", { outputSchema }, () => ({ content: [{ type: "text", text: "no" }], isError: true }));
  const client = new TestClient(server);
  const value = async (name: string) => (await client.callTool(name)).result?.structuredContent as unknown;
  assert.deepEqual(await value("words"), counts);
  assert.match((await client.callTool("blocks")).failure?.message ?? "", /gave no structured content/);
  assert.deepEqual(await value("named"), { words: 1, content: 3 });
  assert.deepEqual(await value("whole"), { a: 1 });
  const { text, isError } = await client.callTool("error");
  assert.deepEqual([text, isError], ["no", true]);
});

test("completers that are one function, or return no list of strings, are errors that say what to write", async () => {
  const server = make();
  const argsSchema = z.object({ tea: z.string() });
  const register = (complete: unknown) =>
    server.registerPrompt("p", { argsSchema, complete: complete as never }, () => "");
  assert.throws(() => register(() => ["assam"]), /prompt "p": complete has the completers by name: write { tea: … }/);
  for (const [wrong, what] of [
    [{ values: ["assam"] }, "an object"],
    [undefined, "undefined"],
    [[1], "a list of other values"],
  ]) {
    register({ tea: () => wrong });
    const message = `what completes "tea" returned ${String(what)}: return a list of strings`;
    await assert.rejects(new TestClient(server).complete("p", "tea", ""), { message });
    server.removePrompt("p");
  }
});

test("a message of a prompt with a list of content is an error that says what to write", async () => {
  const server = make();
  const content = [{ type: "text", text: "a" }] as never;
  server.registerPrompt("p", {}, () => ({ messages: [{ role: "user", content }] }));
  const { failure } = await new TestClient(server).getPrompt("p");
  const message = 'prompt "p": the content of a message is one block, not a list: give a message for each';
  assert.equal(failure?.message, message);
});
