import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { type Call, Failure, InputRequired, Result, Server, start } from "@mcpedge/capability";
import { TestClient } from "@mcpedge/capability/testing";
import { bytes } from "@mcpedge/capability/zod";
import { make } from "./server.js";

test("unknown arguments are refused by name, unless a tool wants them", async () => {
  const server = make();
  const name = z.object({ name: z.string().default("?"), mood: z.string().optional() });
  const said = (args: object) => JSON.stringify(args);
  server.registerTool("closed", { inputSchema: name }, said);
  server.registerTool("none", {}, said);
  server.registerTool("dropped", { inputSchema: name, unknownArguments: "allow" }, said);
  server.registerTool("kept", { inputSchema: z.looseObject({ name: z.string() }) }, said);
  server.registerTool("any", { unknownArguments: "allow" }, said);
  server.registerTool("map", { inputSchema: z.record(z.string(), z.int()) }, said);
  server.registerPrompt("prompt", { argsSchema: z.object({ mood: z.string().optional() }) }, said);
  const client = new TestClient(server);
  const call = async (tool: string, args: object) => {
    const { result, failure } = await client.callTool(tool, args);
    return result?.content[0]?.text ?? [failure?.reason, failure?.message];
  };
  assert.deepEqual(await call("closed", { nmae: "A" }), [
    "InvalidArgument",
    'unknown argument "nmae": do you mean "name"?',
  ]);
  assert.deepEqual(await call("closed", { x: 1, y: 2 }), [
    "InvalidArgument",
    'unknown arguments "x", "y": known are "name", "mood"',
  ]);
  const many = Object.fromEntries("abcdefgh".split("").map((letter) => [letter, 1]));
  assert.deepEqual(await call("none", many), [
    "InvalidArgument",
    'unknown arguments "a", "b", "c", "d", "e" and 3 more: there are none',
  ]);
  assert.equal(await call("none", {}), "{}");
  assert.deepEqual(await call("none", []), ["InvalidArgument", "the arguments are no JSON object"]);
  assert.equal(await call("dropped", { x: 1 }), '{"name":"?"}');
  assert.equal(await call("kept", { name: "A", x: 1 }), '{"name":"A","x":1}');
  assert.equal(await call("any", { x: 1 }), '{"x":1}');
  assert.equal(await call("map", { x: 1 }), '{"x":1}');
  assert.equal(
    (await client.getPrompt("prompt", { mod: "" })).failure?.message,
    'unknown argument "mod": do you mean "mood"?',
  );
  const open = (tool: string) => JSON.parse(server.tools.get(tool)!.listed.inputSchemaJson).additionalProperties;
  const all = ["closed", "none", "dropped", "kept", "any", "map"].map(open);
  const integers = all.pop();
  assert.deepEqual(all, [false, false, undefined, {}, undefined]);
  assert.equal(integers.type, "integer");
});

test("misspelled options are refused by name", async () => {
  const server = make();
  const none = () => "";
  const misspelled: [string, (options: never) => unknown, object][] = [
    [
      'tool "t" has no option "descripton": do you mean "description"?',
      (o) => server.registerTool("t", o, none),
      { descripton: "" },
    ],
    ['tool "t" has no option "parameters": known are', (o) => server.registerTool("t", o, none), { parameters: {} }],
    ['tool "t": its options are an object, not function', (o) => server.registerTool("t", o, none), none],
    [
      'tool "t": its options are an object, not undefined',
      () => server.registerTool("t", undefined as never, none),
      {},
    ],
    [
      'resource "r" at "a://r": its options are an object, not null',
      () => server.registerResource("r", "a://r", null as never, none),
      {},
    ],
    [
      'annotations of tool "t" has no option "readOnly": known are',
      (o) => server.registerTool("t", o, none),
      { annotations: { readOnly: true } },
    ],
    [
      'task of tool "t" has no option "polInterval": do you mean "pollInterval"?',
      (o) => server.registerTool("t", o, none),
      { task: { mode: "optional", polInterval: 1 } },
    ],
    [
      'the mode of the task of tool "t" is one of "optional", "required", not "maybe"',
      (o) => server.registerTool("t", o, none),
      { task: { mode: "maybe" } },
    ],
    [
      'unknownArguments of tool "t" is one of "refuse", "allow", not true',
      (o) => server.registerTool("t", o, none),
      { unknownArguments: true },
    ],
    [
      'tool "t" has no option "unknownArguments"',
      (o) => server.registerRawTool("t", o, () => new Result({})),
      { unknownArguments: "allow" },
    ],
    [
      'prompt "p" has no option "argSchema": do you mean "argsSchema"?',
      (o) => server.registerPrompt("p", o, none),
      { argSchema: {} },
    ],
    [
      'resource "r" at "a://r" has no option "mimetype": do you mean "mimeType"?',
      (o) => server.registerResource("r", "a://r", o, none),
      { mimetype: "" },
    ],
    [
      'resource template "r" has no option "completes": do you mean "complete"?',
      (o) => server.registerResourceTemplate("r", "a://{r}", o, none),
      { completes: {} },
    ],
    ['a Server has no option "instruction": do you mean "instructions"?', (o) => make(o), { instruction: "" }],
    [
      'announce of a Server is one of "tools", "resources", "prompts", not "tool"',
      (o) => make(o),
      { announce: ["tool"] },
    ],
    ['listCache of a Server has no option "ttlMs"', (o) => make(o), { listCache: { ttlMs: 1 } }],
    ['a Failure has no option "scope": do you mean "scopes"?', (o) => new Failure("Internal", "", o), { scope: [] }],
    [
      'InputRequired has no option "retryafter": do you mean "retryAfter"?',
      (o) => new InputRequired(o),
      { retryafter: 1 },
    ],
    ['a Result has no option "structured"', (o) => new Result(o), { structured: 1 }],
  ];
  for (const [message, make, options] of misspelled) {
    assert.throws(
      () => make(options as never),
      (error: Error) => error.message.startsWith(message) || assert.equal(error.message, message),
    );
  }
  await assert.rejects(start(server, { listten: "" } as never), {
    message: 'what start is given has no option "listten": do you mean "listen"?',
  });
  const second = [{ name: "a", version: "1" }, { capabilities: {} }] as unknown as [never];
  assert.throws(() => new Server(...second), /a Server has no second options: instructions is one of the first/);
  assert.throws(
    () => new Failure("NOT_FOUND" as never, ""),
    /the reason of a Failure is one of "InvalidArgument", .* not "NOT_FOUND"/,
  );
  assert.equal(server.tools.all().length, 0);
});

test("a shape and a JSON Schema are no schema, and errors say what to write", () => {
  const server = make();
  const shape = { a: z.string() } as never;
  const wrap = "this is the shape of an object: wrap it in z.object({…})";
  const none = () => "";
  assert.throws(() => server.registerTool("t", { inputSchema: shape }, none), {
    message: `tool "t", inputSchema: ${wrap}`,
  });
  assert.throws(() => server.registerTool("t", { outputSchema: shape }, none as never), {
    message: `tool "t", outputSchema: ${wrap}`,
  });
  assert.throws(() => server.registerPrompt("p", { argsSchema: shape }, none), {
    message: `prompt "p", argsSchema: ${wrap}`,
  });
  const json = { type: "object", properties: {} } as never;
  assert.throws(
    () => server.registerTool("t", { inputSchema: json }, none),
    /this is a JSON Schema: use one of zod 4\.2 or later, .* or registerRawTool/,
  );
  const template = { uriTemplate: "a://{b}" } as never;
  assert.throws(
    () => server.registerResource("r", template, {}, none),
    /its URI is a string: a template has server\.registerResourceTemplate/,
  );
});

test("what the official SDK's extra has and a call has not is an error, of the types and of the program", async () => {
  const logged: string[] = [];
  const error = (_: string, fields?: object) => void logged.push(JSON.stringify(fields));
  const server = make({ logger: { info() {}, warn() {}, error } });
  const inputSchema = z.object({ a: z.string().optional() });
  const official: [string, (extra: Call) => unknown][] = [
    // @ts-expect-error progress and logs have methods of their own
    ["sendNotification", (extra) => extra.sendNotification({ method: "notifications/progress", params: {} })],
    // @ts-expect-error questions have methods of their own
    ["sendRequest", (extra) => extra.sendRequest({ method: "elicitation/create" })],
    // @ts-expect-error it is the principal
    ["authInfo", (extra) => extra.authInfo?.clientId],
    // @ts-expect-error it is the call's id
    ["requestId", (extra) => extra.requestId],
    // @ts-expect-error there are no sessions
    ["sessionId", (extra) => extra.sessionId],
    // @ts-expect-error it is meta
    ["_meta", (extra) => extra._meta?.progressToken],
    // @ts-expect-error as version 2 has it
    ["mcpReq", (extra) => extra.mcpReq.signal],
  ];
  for (const [name, habit] of official) {
    server.registerTool(name, { inputSchema }, (_, extra) => String(habit(extra)));
    assert.equal((await new TestClient(server).callTool(name)).result, undefined);
    assert.match(logged.at(-1) ?? "", new RegExp(`a call has no ${name}: write `));
  }
  // @ts-expect-error a handler without an inputSchema has the call as its second argument, too
  server.registerTool("alone", {}, (extra) => String(extra.signal));
  server.registerTool("signal", { inputSchema }, (_, extra) => String(extra.signal.aborted));
  assert.equal((await new TestClient(server).callTool("signal")).result?.content[0]?.text, "false");
});

test("forms with nested members are errors of the types", () => {
  const ask = (call: Call) => [
    // @ts-expect-error a form has no object in it
    call.ask("a", "?", z.object({ o: z.object({ b: z.string() }) })),
    // @ts-expect-error nor a list of what is no text
    call.ask("b", "?", z.object({ list: z.array(z.number()) })),
    call.ask("c", "?", z.object({ ok: z.boolean(), size: z.enum(["s", "l"]).optional(), n: z.int().default(1) })),
    call.ask("d", "?", z.boolean()),
  ];
  assert.equal(typeof ask, "function");
});

test("a level that is none is a fault, whatever the client wants", async () => {
  const server = make();
  server.registerTool("t", {}, (_, call) => call.log("warn" as never, "x"));
  const client = new TestClient(server, { logLevel: "off" });
  assert.match((await client.callTool("t")).failure?.message ?? "", /failed by a fault/);
});

test("enums of arguments and variables are completed by themselves", async () => {
  const server = make();
  const argsSchema = z.object({
    mood: z.enum(["calm", "cross"]).describe("How"),
    tea: z.enum(["assam"]).optional(),
    note: z.string(),
  });
  server.registerPrompt("p", { argsSchema, complete: { tea: ["other"] } }, ({ mood }) => mood);
  const variablesSchema = z.object({ tea: z.enum(["assam", "sencha"]), cup: z.string().optional() });
  server.registerResourceTemplate("t", "tea://{tea}{?cup}", { variablesSchema }, (_, { tea, cup = "none" }) => {
    const typed: "assam" | "sencha" = tea;
    return `${typed} ${cup}`;
  });
  assert.deepEqual(server.prompts.get("p")!.completers, { mood: ["calm", "cross"], tea: ["other"] });
  assert.deepEqual(server.templates.get("tea://{tea}{?cup}")!.completers, { tea: ["assam", "sencha"] });
  const client = new TestClient(server);
  assert.equal((await client.readResource("tea://assam?cup=2")).result?.contents[0]?.text, "assam 2");
  assert.equal((await client.readResource("tea://sencha")).result?.contents[0]?.text, "sencha none");
  assert.equal((await client.readResource("tea://mint")).failure?.message, 'there is no resource "tea://mint"');
  const misfit = (schema: z.ZodType) => () =>
    server.registerResourceTemplate("u", "u://{a}/{b}", { variablesSchema: schema as never }, () => "");
  assert.throws(
    misfit(z.object({ a: z.string() })),
    /its variablesSchema must have each variable as a string or an enum, unlike "b"/,
  );
  assert.throws(
    misfit(z.object({ a: z.string(), b: z.string(), c: z.string() })),
    /unlike "c": the template has the variables "a", "b"/,
  );
  assert.throws(misfit(z.object({ a: z.string(), b: z.number() })), /unlike "b"/);
});

test("NOT_FOUND of a tool is for the model, and a tool that is not there is a protocol error", async () => {
  const server = make();
  const fail = (name: string, error: Error) =>
    server.registerTool(name, {}, () => {
      throw error;
    });
  fail("failure", new Failure("NotFound", "there is no order 7"));
  fail("status", Object.assign(new Error("5 NOT_FOUND: no row"), { code: 5, details: "no row" }));
  server.registerRawTool("raw", {}, () => {
    throw new Failure("NotFound", "there is no order 7");
  });
  server.registerPrompt("prompt", {}, () => {
    throw new Failure("NotFound", "there is no order 7");
  });
  const client = new TestClient(server);
  for (const [name, text] of Object.entries({
    failure: "there is no order 7",
    status: "no row",
    raw: "there is no order 7",
  })) {
    const { result } = await client.callTool(name);
    assert.deepEqual([result?.isError, result?.content[0]?.text], [true, text], name);
  }
  assert.equal((await client.callTool("other")).failure?.reason, "NotFound");
  assert.equal((await client.getPrompt("prompt")).failure?.reason, "NotFound");
});

test("a file among the arguments is decoded and bounded", async () => {
  const server = make();
  const inputSchema = z.object({ file: bytes({ max: 4 }).describe("A small file"), more: bytes().optional() });
  server.registerTool("size", { inputSchema }, ({ file }) => {
    const data: Buffer = file;
    return `${data.length}: ${data.toString("hex")}`;
  });
  const { properties } = JSON.parse(server.tools.get("size")!.listed.inputSchemaJson);
  const file = { type: "string", contentEncoding: "base64", maxLength: 8, description: "A small file" };
  assert.deepEqual(properties.file, file);
  assert.equal(properties.more.maxLength, 1398104);
  const client = new TestClient(server);
  const call = async (file: unknown) => {
    const { result, failure } = await client.callTool("size", { file });
    return result?.content[0]?.text ?? failure?.message;
  };
  assert.equal(await call(Buffer.from([0, 255]).toString("base64")), "2: 00ff");
  assert.equal(await call(""), "0: ");
  assert.match(
    String(await call(Buffer.alloc(5).toString("base64"))),
    /the arguments do not fit: "file": 5 bytes, above 4/,
  );
  assert.match(String(await call(Buffer.alloc(50).toString("base64"))), /"file": above 4 bytes/);
  for (const bad of ["AA", "A===", "AA-_", "AAA=\n", "AA==AA=="]) {
    assert.match(String(await call(bad)), /"file": no base64: standard alphabet/, bad);
  }
});
