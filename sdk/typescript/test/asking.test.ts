import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  type Call,
  Declined,
  Dismissed,
  form,
  InputRequired,
  listRoots,
  rawQuestion,
  sampling,
  formSchema,
  Unanswered,
} from "@mcpedge/capability";
import { accepted, declined, dismissed, roots, sampled, TestClient } from "@mcpedge/capability/testing";
import { Answers } from "../dist/answers.js";
import { InputResponse } from "../dist/gen/mcpedge/v1/input.js";
import { make } from "./server.js";

const order = z.object({ cups: z.int().min(1).max(5) });

test("a question is a plain awaited call, and the handler runs again with the answer", async () => {
  const server = make();
  server.registerTool("brew", {}, async (_, call) => `${(await call.ask("cups", "How many?", order)).cups} cups`);
  const client = new TestClient(server, { answers: { cups: accepted({ cups: 2 }) } });
  const { result, rounds } = await client.callTool("brew");
  assert.deepEqual([result?.content[0]?.text, rounds], ["2 cups", 2]);
  const asked = await new TestClient(server).callTool("brew");
  const [question] = asked.inputRequired!.questions;
  assert.deepEqual([question?.key, question?.type, question?.message], ["cups", "form", "How many?"]);
  assert.equal(question?.schema?.properties?.cups?.maximum, 5);
});

test("declined and dismissed are ordinary errors of one class", async () => {
  const server = make();
  server.registerTool("brew", {}, async (_, call) => {
    try {
      await call.ask("cups", "How many?", order);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      return error instanceof Declined ? "declined" : error instanceof Dismissed ? "dismissed" : error.name;
    }
    return "accepted";
  });
  server.registerTool("plain", {}, async (_, call) => String((await call.ask("cups", "How many?", order)).cups));
  for (const [answer, says] of [
    [declined(), "declined"],
    [dismissed(), "dismissed"],
  ] as const) {
    const client = new TestClient(server, { answers: { cups: answer } });
    assert.equal((await client.callTool("brew")).result?.content[0]?.text, says);
  }
  const { result } = await new TestClient(server, { answers: { cups: declined() } }).callTool("plain");
  assert.deepEqual([result?.isError, result?.content[0]?.text], [true, "the user declined to answer"]);
});

test("a handler that swallows the unwinding ends in its questions all the same", async () => {
  const server = make();
  let effects = 0;
  server.registerTool("swallow", {}, async (_, call) => {
    let name = "nobody";
    try {
      name = (await call.askForm("name", "Who?", '{"type":"object","properties":{"name":{"type":"string"}}}')).action;
    } catch {
      // as a careless handler does
    }
    await call.once("effect", () => ++effects);
    return name;
  });
  const client = new TestClient(server, { answers: { name: accepted({ name: "A" }) } });
  assert.deepEqual((await new TestClient(server).callTool("swallow")).inputRequired?.questions.length, 1);
  assert.equal(effects, 0);
  assert.equal((await client.callTool("swallow")).result?.content[0]?.text, "accept");
  assert.equal(effects, 1);
});

test("several questions are asked in one round, by askAll and by Promise.all", async () => {
  const server = make();
  server.registerTool("all", {}, async (_, call) => {
    const hello = sampling("hello", { messages: [{ role: "user", content: "Say hello" }], maxTokens: 9 });
    const raw = rawQuestion("raw", { method: "x/y", params: {} });
    const [{ cups }, said, dirs, answer] = await call.askAll(form("cups", "?", order), hello, listRoots("roots"), raw);
    return `${cups} ${said.text} ${dirs[0]?.uri} ${JSON.stringify(answer)}`;
  });
  server.registerTool("promises", {}, async (_, call) => {
    const both = await Promise.all([call.ask("cups", "?", order), call.roots("roots")]);
    return JSON.stringify(both);
  });
  const answers = {
    cups: accepted({ cups: 3 }),
    hello: sampled("Hi"),
    roots: roots({ uri: "file:///a", name: "a" }),
    raw: { result: { b: 1 } },
  };
  const client = new TestClient(server, { answers });
  const all = await client.callTool("all");
  assert.deepEqual([all.result?.content[0]?.text, all.rounds], ['3 Hi file:///a {"b":1}', 2]);
  const promises = await client.callTool("promises");
  assert.deepEqual(
    [promises.result?.content[0]?.text, promises.rounds],
    ['[{"cups":3},[{"uri":"file:///a","name":"a"}]]', 2],
  );
});

test("answers survive rounds, cannot be changed later, and are asked for again when they do not fit", async () => {
  const server = make();
  server.registerTool("two", {}, async (_, call) => {
    const { cups } = await call.ask("cups", "?", order);
    await call.answer(
      formSchema("sure", "?", '{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}'),
    );
    return String(cups);
  });
  let asked: string[] = [];
  const client = new TestClient(server, {
    answers: ({ key }) => {
      asked.push(key);
      if (key === "sure") return accepted({ ok: asked.filter((k) => k === "sure").length > 1 ? true : "yes" });
      return accepted({ cups: asked.length === 1 ? 99 : 4 });
    },
  });
  const { result, rounds } = await client.callTool("two");
  assert.equal(result?.content[0]?.text, "4");
  assert.deepEqual([asked, rounds], [["cups", "cups", "sure", "sure"], 5]);
  await assert.rejects(
    client.callTool("two", {}, { answers: () => accepted({ n: 2 }) }),
    /still asks after 32 rounds, with the answers cups: \{"n":2\}: a question is repeated if its answer/,
  );
});

test("once keeps a value over the rounds", async () => {
  const server = make();
  let made = 0;
  server.registerTool("order", {}, async (_, call) => {
    const id = await call.once("id", async () => ({ n: ++made }));
    await call.ask("cups", "?", order);
    await call.roots("roots");
    return `order ${id.n}`;
  });
  const answers = { cups: accepted({ cups: 1 }), roots: roots() };
  const { result, rounds } = await new TestClient(server, { answers }).callTool("order");
  assert.deepEqual([result?.content[0]?.text, rounds, made], ["order 1", 3, 1]);
});

test("a step under the key of another one ends the call, whatever the handler catches", async () => {
  const server = make();
  let made: string[] = [];
  const step = (call: Call, key: string, item: string) => call.once(key, () => made.push(item));
  server.registerTool("loop", {}, async (_, call) => {
    for (const item of ["a", "b"]) await step(call, "order", item);
    return "done";
  });
  server.registerTool("joined", {}, async (_, call) => {
    await Promise.all(["a", "b"].map((item) => step(call, "order", item)));
    return "done";
  });
  server.registerTool("caught", {}, async (_, call) => {
    await step(call, "order", "a");
    return step(call, "order", "b").then(String, () => "could not");
  });
  server.registerTool("replayed", {}, async (_, call) => {
    await step(call, "order", "a");
    await call.ask("cups", "?", order);
    return String(await step(call, "order", "b"));
  });
  server.registerTool("unkept", {}, (_, call) => call.once("order", () => new Map()).then(String, () => "could not"));
  server.registerTool("empty", {}, (_, call) => call.once("", () => 1).then(String));
  server.registerTool("long", {}, (_, call) => call.once("k".repeat(129), () => 1).then(String));
  server.registerTool("again", {}, async (_, call) => {
    const fails = () => Promise.reject<number>(new Error("not yet"));
    await call.once("order", fails).catch(() => {});
    return String(await call.once("order", () => 2));
  });
  const client = new TestClient(server, { answers: { cups: accepted({ cups: 1 }) } });
  const outcomeOf = async (tool: string) => {
    made = [];
    const { failure, text } = await client.callTool(tool);
    return [failure?.message ?? text, made.join()];
  };
  const twice =
    'once "order" came twice in one round, where the second has the value of the first; give each its own key, as `order-${id}`';
  for (const tool of ["loop", "joined", "caught", "replayed"])
    assert.deepEqual(await outcomeOf(tool), [twice, "a"], tool);
  assert.match((await outcomeOf("unkept"))[0]!, /once "order": the Map is no JSON/);
  assert.match((await outcomeOf("empty"))[0]!, /the key of once has 1 to 128 bytes, not 0/);
  assert.match((await outcomeOf("long"))[0]!, /the key of once has 1 to 128 bytes, not 129/);
  assert.deepEqual(await outcomeOf("again"), ["2", ""]);
});

test("a loop that asks one question until it likes the answer ends, and so does one that catches two under one key", async () => {
  const server = make();
  server.registerTool("until", {}, async (_, call) => {
    for (;;) {
      const { cups } = await call.ask("cups", "?", order);
      if (cups > 3) return "many";
    }
  });
  server.registerTool("caught", {}, async (_, call) => {
    await call.ask("cups", "How many a?", order);
    return call.ask("cups", "How many b?", order).then(String, () => "could not");
  });
  const client = new TestClient(server, { answers: { cups: accepted({ cups: 1 }) } });
  const failureOf = async (tool: string) => (await client.callTool(tool)).failure?.message;
  assert.equal(
    await failureOf("until"),
    'one round asked the question "cups" 1000 times, and its answer stays the same; ask again under another key, as `cups-${attempt}`',
  );
  assert.equal(
    await failureOf("caught"),
    'two different questions have the key "cups"; give each its own, as `sure-${id}`',
  );
});

test("no client can say what once keeps", () => {
  const forged = InputResponse.fromPartial({ key: "\0once:price", rawJson: "1" });
  const said = InputResponse.fromPartial({ key: "cups", rawJson: "2" });
  const answers = new Answers([], new Answers([forged, said]).memory(true));
  assert.deepEqual(
    [answers.remembered("price"), answers.memory().includes("cups"), answers.memory().includes("price")],
    [undefined, true, false],
  );
});

test("a handler may keep its own account of the rounds", async () => {
  const server = make();
  server.registerTool("poll", {}, (_, call) => {
    if (!call.state) throw new InputRequired({ state: Buffer.from("job-7"), retryAfter: 1500, repeatable: true });
    return Buffer.from(call.state).toString();
  });
  const first = await new TestClient(server).callTool("poll");
  assert.deepEqual([first.result?.content[0]?.text, first.rounds], ["job-7", 2]);
});

test("what cannot be asked is a clear failure", async () => {
  const server = make();
  const q = (key: string) => listRoots(key);
  server.registerTool("many", {}, (_, call) =>
    call.askAll(...Array.from({ length: 17 }, (_, i) => q(`k${i}`))).then(String),
  );
  server.registerTool("twice", {}, () => Promise.reject(new InputRequired({ questions: [q("a"), q("a")] })));
  server.registerTool("long", {}, (_, call) => call.answer(q("k".repeat(129))).then(String));
  server.registerTool("big", {}, (_, call) => {
    call.setState(Buffer.alloc(65 << 10));
    return call.answer(q("a")).then(String);
  });
  server.registerTool("nested", {}, (_, call) =>
    call.ask("a", "?", z.object({ o: z.object({}) }) as never).then(String),
  );
  const client = new TestClient(server);
  const message = async (tool: string) => (await client.callTool(tool)).failure?.message ?? "";
  assert.match(await message("many"), /17 questions in one round; ask at most 16/);
  assert.match(await message("twice"), /two questions of one round have the key "a"/);
  assert.match(await message("long"), /the key of a question has 1 to 128 bytes, not 129/);
  assert.match(await message("big"), /above the 65536 that survive a round/);
  assert.match(await message("nested"), /tool nested failed by a fault of the service/);
});

test("tasks: defer, checkpoints and the state after a lost replica", async () => {
  const server = make();
  server.registerTool("job", { task: { mode: "optional", pollInterval: 500 } }, async (_, call) => {
    const from = call.state ? Number(Buffer.from(call.state)) : 0;
    call.defer();
    call.defer();
    call.checkpoint(Buffer.from(String(from + 1)));
    return `from ${from} as ${call.taskId ?? "no task"}`;
  });
  const client = new TestClient(server, { task: true });
  const first = await client.callTool("job");
  assert.deepEqual(
    [first.result?.content[0]?.text, first.deferred, first.checkpoints.length],
    ["from 0 as no task", true, 1],
  );
  const listed = server.tools.get("job")!.listed.taskSupport!;
  assert.deepEqual([listed.mode, listed.start, listed.pollInterval], [2, 0, { seconds: 0n, nanos: 500_000_000 }]);
});

test("what is asked and not awaited is an error of the call, in the first round and with the answer", async () => {
  const server = make();
  const later = () => new Promise<void>((resolve) => setImmediate(resolve));
  server.registerTool("ask", {}, (_, call) => {
    void call.ask("cups", "?", order);
    return "done";
  });
  server.registerTool("late", {}, async (_, call) => {
    void call.askAll(form("cups", "?", order), listRoots("roots"));
    await later();
    return "done";
  });
  server.registerTool("then", {}, (_, call) => {
    void call.ask("cups", "?", order).then(() => {});
    return "done";
  });
  const helper = async (call: Call) => (await call.ask("cups", "?", order)).cups;
  server.registerTool("helper", {}, (_, call) => {
    void helper(call);
    return "done";
  });
  server.registerTool("once", {}, (_, call) => {
    void call.once("order", () => 1);
    return "done";
  });
  server.registerPrompt("prompt", {}, (_, call) => {
    void call.roots("roots");
    return "done";
  });
  server.registerTool("second", {}, async (_, call) => {
    const { cups } = await call.ask("cups", "?", order);
    void call.roots("roots");
    return String(cups);
  });
  const client = new TestClient(server, { answers: { cups: accepted({ cups: 2 }), roots: roots() } });
  const failureOf = async (name: string) => (await client.callTool(name)).failure?.message;
  const write = "was not awaited: write await before the call, or return it";
  assert.equal(await failureOf("ask"), `question "cups" ${write}`);
  assert.equal(await failureOf("late"), `questions "cups", "roots" ${write}`);
  assert.equal(await failureOf("then"), `question "cups" ${write}`);
  assert.equal(await failureOf("helper"), `question "cups" ${write}`);
  assert.equal(await failureOf("once"), `once "order" ${write}`);
  assert.equal(await failureOf("second"), `question "roots" ${write}`);
  assert.equal((await client.getPrompt("prompt")).failure?.message, `question "roots" ${write}`);
  assert.equal((await client.callTool("ask")).inputRequired, undefined);
});

test("questions may be asked first and awaited later, and an error before that is the call's", async () => {
  const server = make();
  server.registerTool("later", {}, async (_, call) => {
    const cups = call.ask("cups", "?", order);
    const dirs = call.roots("roots");
    return `${(await cups).cups} cups, ${(await dirs).length} roots`;
  });
  server.registerTool("broken", {}, async (_, call) => {
    const cups = call.ask("cups", "?", order);
    if (call.round > 0) throw new Error("the shop is closed");
    return String(await cups);
  });
  server.registerTool("returned", {}, (_, call) => call.ask("sure", "Sure?", z.boolean()).then(String));
  const answers = { cups: accepted({ cups: 2 }), roots: roots(), sure: accepted(true) };
  const client = new TestClient(server, { answers });
  const said = async (name: string) => {
    const { result, rounds } = await client.callTool(name);
    return [result?.content[0]?.text, rounds];
  };
  assert.deepEqual(await said("later"), ["2 cups, 0 roots", 2]);
  assert.deepEqual(await said("broken"), ["the shop is closed", 1]);
  assert.deepEqual(await said("returned"), ["true", 2]);
});

test("a handler whose user refuses one question may leave the others", async () => {
  const server = make();
  const refused = (error: unknown) => {
    if (error instanceof Unanswered) return "no";
    throw error;
  };
  server.registerTool("started", {}, (_, call) => {
    const cups = call.ask("cups", "?", order);
    const dirs = call.roots("roots");
    return cups.then(async () => String((await dirs).length), refused);
  });
  server.registerTool("all", {}, (_, call) =>
    Promise.all([call.ask("cups", "?", order), call.ask("sure", "?", z.boolean())]).then(String, refused),
  );
  // The answer to the other does not fit, and is not asked for again.
  const answers = { cups: declined(), roots: roots(), sure: accepted("yes") };
  const client = new TestClient(server, { answers });
  for (const name of ["started", "all"]) {
    const { result, rounds, failure } = await client.callTool(name);
    assert.deepEqual([result?.content[0]?.text, rounds, failure], ["no", 2, undefined], name);
  }
});

test("no catch keeps a handler from ending in its questions", async () => {
  const server = make();
  const caught: [string, (asked: Promise<unknown>) => Promise<unknown>][] = [
    ["catch", (asked) => asked.catch(() => "swallowed")],
    ["then", (asked) => asked.then(String, () => "swallowed")],
    ["settled", (asked) => Promise.allSettled([asked])],
    ["race", (asked) => Promise.race([asked, new Promise(() => {})]).catch(() => "swallowed")],
    ["wrapped", (asked) => asked.catch((cause: unknown) => Promise.reject(new Error("failed", { cause })))],
    ["read", (asked) => asked.catch((error: { response: { status: number } }) => error.response.status)],
    ["finally", (asked) => asked.finally(() => {})],
  ];
  for (const [name, swallow] of caught) {
    server.registerTool(name, {}, async (_, call) => String(await swallow(call.ask("cups", "?", order))));
  }
  for (const [name] of caught) {
    const { inputRequired } = await new TestClient(server).callTool(name);
    assert.deepEqual(
      inputRequired?.questions.map((r) => r.key),
      ["cups"],
      name,
    );
  }
});

test("a form of one value asks for it, and is asked for again when it does not fit", async () => {
  const server = make();
  server.registerTool("sure", {}, async (_, call) => String(await call.ask("sure", "Sure?", z.boolean())));
  server.registerTool("which", {}, async (_, call) => await call.ask("size", "Which?", z.enum(["small", "large"])));
  const asked = await new TestClient(server).callTool("sure");
  assert.deepEqual(asked.inputRequired!.questions[0]!.schema, {
    type: "object",
    properties: { sure: { type: "boolean" } },
    required: ["sure"],
  });
  let given: unknown = "yes";
  const answers = () => {
    const answer = accepted({ sure: given });
    given = false;
    return answer;
  };
  const { result, rounds } = await new TestClient(server, { answers }).callTool("sure");
  assert.deepEqual([result?.content[0]?.text, rounds], ["false", 3]);
  const client = new TestClient(server, { answers: { size: accepted("large") } });
  assert.equal((await client.callTool("which")).result?.content[0]?.text, "large");
});

test("a form that no client can show is refused before it is asked", () => {
  const list = "use a string, a number, a boolean, an enum or an array of an enum";
  const refused: [unknown, string][] = [
    [z.object({ o: z.object({ a: z.string() }) }), `member "o" of its form: ${list}`],
    [z.object({ list: z.array(z.string()) }), `member "list" of its form: ${list}`],
    [z.object({ none: z.string().nullable() }), `member "none" of its form: ${list}`],
    [z.object({ any: z.any() }), `member "any" of its form: ${list}`],
    [z.object({ n: z.literal([1, 2]) }), 'member "n" of its form: an enum has strings only'],
    [
      z.object({ id: z.uuid() }),
      'member "id" of its form: no client knows the format "uuid": known are email, uri, date and date-time',
    ],
    [z.record(z.string(), z.string()), "its form must name all of its members: use z.object({…})"],
    [z.array(z.string()), `member "q" of its form: ${list}`],
  ];
  for (const [schema, why] of refused) {
    assert.throws(() => form("q", "?", schema as never), { message: `question "q": ${why}` });
  }
  const verbatim = '{"type":"object","properties":{"o":{"type":"object"}}}';
  assert.throws(() => formSchema("q", "?", verbatim), { message: `question "q": member "o" of its form: ${list}` });
  const fields = {
    s: z.string(),
    n: z.number(),
    i: z.int(),
    b: z.boolean(),
    d: z.boolean().default(true),
    e: z.email(),
  };
  const choices = {
    one: z.enum(["a", "b"]),
    some: z.array(z.enum(["a"])),
    day: z.iso.date(),
    maybe: z.url().optional(),
  };
  form("q", "?", z.object({ ...fields, ...choices }));
  form("q", "?", z.object({}));
});

test("a fault is reported as a fault although questions are open", async () => {
  const logged: string[] = [];
  const logger = {
    info() {},
    warn() {},
    error: (_: string, fields?: object) => void logged.push(JSON.stringify(fields)),
  };
  const server = make({ logger });
  server.registerTool("broken", {}, async (_, call) => {
    void call.ask("cups", "?", order);
    await new Promise(setImmediate);
    throw new TypeError("no function");
  });
  const { failure, inputRequired } = await new TestClient(server).callTool("broken");
  assert.deepEqual([failure?.message, inputRequired], ["tool broken failed by a fault of the service", undefined]);
  assert.match(logged.join(), /no function/);
});
