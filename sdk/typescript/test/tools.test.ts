import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { errorResult, Failure, form, formSchema, image, Result, structured, text } from "@mcpedge/capability";
import { TestClient } from "@mcpedge/capability/testing";
import { make } from "./server.js";

test("a tool has typed arguments and structured content", async () => {
  const server = make();
  const inputSchema = z.object({ a: z.number(), b: z.number().default(2) });
  server.registerTool("add", { inputSchema, outputSchema: z.object({ sum: z.number() }) }, ({ a, b }) => ({
    sum: a + b,
  }));
  const { result } = await new TestClient(server).callTool("add", { a: 1 });
  assert.equal(result?.structuredContent.sum, 3);
  const listed = server.tools.get("add")!.listed;
  assert.deepEqual(JSON.parse(listed.inputSchemaJson), {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number", default: 2 } },
    required: ["a"],
    additionalProperties: false,
  });
  assert.deepEqual(JSON.parse(listed.outputSchemaJson).required, ["sum"]);
});

test("schemas of arguments have no references", () => {
  const item: z.ZodType = z.lazy(() => z.object({ name: z.string(), items: z.array(item).optional() }));
  const json: z.ZodType = z.lazy(() => z.union([z.string(), z.array(json)]));
  const named = z.object({ $ref: z.string() }).meta({ id: "Named" });
  const inputSchema = z.object({
    item,
    json: json.describe("anything"),
    a: named,
    b: named,
    get self() {
      return inputSchema.optional();
    },
  });
  const server = make();
  server.registerTool("t", { inputSchema: inputSchema as z.ZodObject }, () => "");
  const { properties } = JSON.parse(server.tools.get("t")!.listed.inputSchemaJson);
  const above = "as the one above that holds it";
  assert.deepEqual(properties.item.properties.items.items, { type: "object", description: above });
  assert.deepEqual(properties.json.anyOf[1].items, { description: above });
  assert.equal(properties.json.description, "anything");
  assert.deepEqual(properties.a.properties, { $ref: { type: "string" } });
  assert.deepEqual(properties.b.properties, properties.a.properties);
  assert.deepEqual(properties.self, { type: "object", description: above });
});

test("a handler's value decides what the result has", async () => {
  const server = make();
  const picture = image(Buffer.from([1, 2]), "image/png");
  server.registerTool("string", {}, () => "yes");
  server.registerTool("content", {}, () => picture);
  server.registerTool("contents", {}, () => [text("a"), picture]);
  server.registerTool("nothing", {}, () => {});
  server.registerTool("structured", {}, () => structured([1, null]));
  server.registerTool("error", {}, () => errorResult("no"));
  server.registerTool("full", {}, () => new Result({ content: [text("x")], structuredContent: 7, _meta: { a: 1 } }));
  const client = new TestClient(server);
  const results = await Promise.all(
    server.tools.all().map(async ({ listed }) => {
      const { result } = await client.callTool(listed.name);
      const { content, structuredContent, isError, _meta } = result!;
      const pieces = content.map((c) => (c.type === "image" ? c.data.length : c.text));
      return [listed.name, pieces, structuredContent, isError, _meta];
    }),
  );
  assert.deepEqual(results, [
    ["string", ["yes"], undefined, false, undefined],
    ["content", [2], undefined, false, undefined],
    ["contents", ["a", 2], undefined, false, undefined],
    ["nothing", [], undefined, false, undefined],
    ["structured", [], [1, null], false, undefined],
    ["error", ["no"], undefined, true, undefined],
    ["full", ["x"], 7, false, { a: 1 }],
  ]);
});

test("what a handler throws becomes the right failure, and no stack is shown", async () => {
  const server = make();
  const fail = (name: string, what: unknown) =>
    server.registerTool(name, {}, () => {
      throw what;
    });
  fail("plain", new Error("the shop is closed"));
  fail("kind", new Failure("Unavailable", "no orders now", { data: { id: 1 } }));
  fail("status", Object.assign(new Error("14 UNAVAILABLE: away"), { code: 14, details: "away" }));
  fail("fault", new TypeError("cannot read properties of undefined"));
  fail("string", "a string");
  fail("fetch", new TypeError("fetch failed", { cause: new Error("refused") }));
  const client = new TestClient(server);
  const plain = await client.callTool("plain");
  assert.equal(plain.result?.isError, true);
  assert.equal(plain.result.content[0]?.text, "the shop is closed");
  const kind = await client.callTool("kind");
  assert.deepEqual(
    [kind.failure?.reason, kind.failure?.message, kind.failure?.options.data],
    ["Unavailable", "no orders now", { id: 1 }],
  );
  assert.deepEqual((await client.callTool("status")).status, { code: 14, details: "away" });
  for (const name of ["fault", "string"]) {
    const { failure } = await client.callTool(name);
    assert.deepEqual(
      [failure?.reason, failure?.message],
      ["Internal", `tool ${name} failed by a fault of the service`],
    );
  }
  assert.equal((await client.callTool("fetch")).result?.content[0]?.text, "fetch failed");
  assert.equal((await client.callTool("unknown")).failure?.message, 'there is no tool "unknown"');
});

test("a number that JSON does not have is an error that names its member", async () => {
  const server = make();
  server.registerTool("whole", {}, () => structured(NaN));
  server.registerTool("member", {}, () => structured({ a: [{ share: -Infinity }] }));
  const client = new TestClient(server);
  const failureOf = async (name: string) => (await client.callTool(name)).failure?.message;
  const why = "is no JSON; use null or a text instead";
  assert.equal(await failureOf("whole"), `the result cannot be encoded: the number NaN ${why}`);
  assert.equal(await failureOf("member"), `the result cannot be encoded: the number -Infinity at "share" ${why}`);
});

test("a call is not disturbed when its tool is removed", async () => {
  const server = make();
  server.registerTool("last", {}, () => {
    server.removeTool("last");
    throw new Error("the shop is closed");
  });
  const { result } = await new TestClient(server).callTool("last");
  assert.deepEqual([result?.isError, result?.content[0]?.text], [true, "the shop is closed"]);
});

test("arguments that do not fit are named, and results that do not fit are faults", async () => {
  const server = make();
  const inputSchema = z.object({ who: z.object({ name: z.string() }) });
  server.registerTool("greet", { inputSchema, outputSchema: z.object({ n: z.int() }) }, () => ({ n: 0.5 }));
  const client = new TestClient(server);
  const wrong = await client.callTool("greet", { who: { name: 7 } });
  assert.equal(wrong.failure?.reason, "InvalidArgument");
  assert.match(wrong.failure!.message, /"who\.name": .*string/);
  const bad = await client.callTool("greet", { who: { name: "A" } });
  assert.equal(bad.failure?.reason, "Internal");
  assert.match(bad.failure!.message, /the result does not fit the tool's output schema: "n"/);
});

test("a mistake in a registration throws, names the tool and says what to do", () => {
  const server = make();
  server.registerTool("once", {}, () => "");
  const cases: [() => void, RegExp][] = [
    [
      () => server.registerTool("once", {}, () => ""),
      /tool "once" is registered already: choose another name, or remove it/,
    ],
    [() => server.registerTool("a b", {}, () => ""), /tool name "a b": use 1 to 64 of A-Z a-z 0-9 _ \. -/],
    [
      () => server.registerTool("t", { inputSchema: z.string() }, () => ""),
      /tool "t", inputSchema.*of an object, not of string/,
    ],
    [
      () => server.registerTool("t", { inputSchema: z.object({ d: z.date() }) }, () => ""),
      /tool "t", inputSchema.*makes no JSON Schema: Date/,
    ],
    [
      () => server.registerTool("t", { inputSchema: { type: "object" } as never }, () => ""),
      /tool "t", inputSchema.*zod 4\.2 or later/,
    ],
    [
      () => server.registerTool("t", {}, undefined as never),
      /tool "t": its handler is no function: pass one, as \(\) => "…"/,
    ],
    [
      () => server.registerTool("t", { outputSchema: z.object({ f: z.function() }) as never }, () => ({}) as never),
      /tool "t", outputSchema.*makes no JSON Schema/,
    ],
    [() => server.registerPrompt("p", {}, {} as never), /prompt "p": its handler is no function: pass one/],
    [
      () => server.registerResource("r", "a://r", {}, "text" as never),
      /resource "r" at "a:\/\/r": its handler is no function/,
    ],
    [
      () => server.registerResourceTemplate("r", "a://{x}", {}, undefined as never),
      /resource template "r": its handler is no function/,
    ],
    [
      () => server.registerResourceTemplate("r", "a://{x}", { complete: { y: [] } }, () => ""),
      /resource template "r" has no "y" to complete: it has x/,
    ],
    [
      () => {
        server.registerPrompt("twice", {}, () => "");
        server.registerPrompt("twice", {}, () => "");
      },
      /prompt "twice" is registered already: choose another name, or remove it first/,
    ],
    [
      () => {
        server.registerResource("r", "a://twice", {}, () => "");
        server.registerResource("s", "a://twice", {}, () => "");
      },
      /resource "a:\/\/twice" is registered already: choose another name, or remove it first/,
    ],
    [
      () => server.provide("", { list: () => [], read: () => "" }),
      /a provider needs a prefix of its URIs, such as "notes:\/\/"/,
    ],
    [
      () => form("who", "Who?", z.object({ born: z.object({}) }) as never),
      /question "who": member "born" of its form: use a string/,
    ],
    [() => formSchema("who", "Who?", "[]"), /the form of question "who" must be a JSON object/],
    [() => formSchema("who", "Who?", '{"type":"no such"}'), /question "who": its form is no JSON Schema/],
    [
      () => server.registerRawTool("t", { inputSchema: "[]" }, () => new Result({})),
      /the inputSchema of tool "t" must be a JSON object/,
    ],
    [
      () => server.registerPrompt("p", { argsSchema: z.object({ n: z.number() }) }, () => ""),
      /prompt "p": its argument "n" must be a string/,
    ],
    [
      () => server.registerPrompt("p", { complete: { n: ["1"] } }, () => ""),
      /prompt "p" has no "n" to complete: it has nothing/,
    ],
    [
      () => server.registerResource("r", "nowhere", {}, () => ""),
      /resource "r" at "nowhere": a name and an absolute URI/,
    ],
    [() => server.registerResourceTemplate("r", "a://{", {}, () => ""), /"a:\/\/\{" is no RFC 6570 template/],
    [
      () => server.registerResourceTemplate("r", "notes/{id}", {}, () => ""),
      /resource template "r": "notes\/\{id\}" must begin with a scheme, as notes:\/\/\{id\} does/,
    ],
    [
      () => server.registerResourceTemplate("r", "a://{a}/{a}", {}, () => ""),
      /"a:\/\/\{a\}\/\{a\}": \{a\} has the variable a twice: give each its own name/,
    ],
    [
      () => server.registerResourceTemplate("r", "a://{x}", { complete: { x: 5 as never } }, () => ""),
      /resource template "r": what completes "x" must be a list of strings or a function/,
    ],
    [
      () => server.registerTool("t", { onCancel: "job" as never }, () => ""),
      /onCancel of tool "t": its handler is no function: pass one/,
    ],
    [() => server.provide("q://", {} as never), /the provider of q:\/\/ needs list and read/],
  ];
  for (const [register, message] of cases) assert.throws(register, message);
  assert.equal(server.tools.all().length, 1);
});
