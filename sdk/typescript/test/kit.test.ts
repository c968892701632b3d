import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { Failure, image, type Principal, sampling, text } from "@mcpedge/capability";
import { accepted, type Answer, type Asked, declined, TestClient } from "@mcpedge/capability/testing";
import { make } from "./server.js";

test("the caller of a call is the one that a test names, with its claims", async () => {
  const server = make();
  server.registerTool("who", {}, (_, call) => {
    const { subject, scopes, claims }: Principal = call.principal;
    return JSON.stringify([subject, scopes, claims, call.claim("tenant"), call.claim("other"), call.clientInfo?.name]);
  });
  const clientInfo = { name: "tea", version: "1" };
  const client = new TestClient(server, { clientInfo });
  const principal = { subject: "ada", scopes: ["a"], claims: { tenant: { id: 7 } } };
  const ada = await client.callTool("who", {}, { principal });
  assert.equal(ada.text, '["ada",["a"],{"tenant":{"id":7}},{"id":7},null,"tea"]');
  assert.equal((await client.callTool("who")).text, '["",[],{},null,null,"tea"]');
});

test("capabilities of a client are own objects", async () => {
  const server = make();
  server.registerTool("can", {}, (_, { clientCapabilities: c }) =>
    [c.elicitation?.form, c.elicitation?.url, !!c.sampling, !!c.roots, JSON.stringify(c.extensions)].join(),
  );
  assert.equal((await new TestClient(server).callTool("can")).text, "true,true,true,true,{}");
  const clientCapabilities = { elicitation: { form: true, url: false }, extensions: { "x/y": { z: 1 } } };
  const some = new TestClient(server, { clientCapabilities });
  assert.equal((await some.callTool("can")).text, 'true,false,false,false,{"x/y":{"z":1}}');
});

test("events and results have members of MCP", async () => {
  const server = make();
  server.registerTool("run", {}, (_, call) => {
    call.progress(1, 2, "half");
    call.log("warning", { a: 1 }, "tea");
    call.log("debug", "detail");
    return [image(Buffer.from([1]), "image/png"), text("a"), text("b")];
  });
  const called = await new TestClient(server, { logLevel: "info" }).callTool("run");
  assert.deepEqual(called.progress, [{ progress: 1, total: 2, message: "half" }]);
  assert.deepEqual(called.logs, [{ level: "warning", data: { a: 1 }, logger: "tea" }]);
  assert.deepEqual([called.text, called.isError, called.result?.content[1]?.text], ["a\nb", false, "a"]);
});

test("suggestions and the cancellation of a task can be tested", async () => {
  const server = make();
  const argsSchema = z.object({ mood: z.enum(["calm", "cross"]), tea: z.string().optional() });
  const tea = (value: string, chosen: Record<string, string>) => [`${value} for ${chosen.mood}`];
  server.registerPrompt("p", { argsSchema, complete: { tea } }, ({ mood }) => mood);
  server.registerResourceTemplate("t", "a://{b}", { complete: { b: ["one", "two"] } }, () => "");
  let cancelled = "";
  const onCancel = (call: { state?: Uint8Array }) => void (cancelled = Buffer.from(call.state ?? []).toString());
  server.registerTool("job", { task: { mode: "optional" }, onCancel }, () => "");
  const client = new TestClient(server);
  assert.deepEqual(await client.complete("p", "mood", "CR"), ["cross"]);
  assert.deepEqual(await client.complete("p", "tea", "as", { mood: "calm" }), ["as for calm"]);
  assert.deepEqual(await client.complete("a://{b}", "b", "t"), ["two"]);
  await client.cancel("job", Buffer.from("job-7"));
  assert.equal(cancelled, "job-7");
  await assert.rejects(client.cancel("other"), /tool "other" has no onCancel/);
});

test("answers are those of a client of the official SDK, and one of another type is an error", async () => {
  const server = make();
  const request = { messages: [{ role: "user" as const, content: "Say" }], maxTokens: 9 };
  server.registerTool("ask", {}, async (_, call) => {
    const { n } = await call.ask("n", "?", z.object({ n: z.int() }));
    const { text, role } = await call.answer(sampling("say", request));
    return `${n} ${text} ${role} ${(await call.roots("roots")).length}`;
  });
  const asked: Asked[] = [];
  const given: Record<string, Answer> = {
    n: { action: "accept", content: { n: 2 } },
    say: { role: "assistant", content: { type: "text", text: "Hi" }, model: "m" },
    roots: { roots: [{ uri: "file:///a" }] },
  };
  const answers = (question: Asked) => (asked.push(question), given[question.key]);
  assert.equal((await new TestClient(server, { answers }).callTool("ask")).text, "2 Hi assistant 1");
  assert.deepEqual(
    asked.map(({ key, type }) => [key, type]),
    [
      ["n", "form"],
      ["say", "sampling"],
      ["roots", "roots"],
    ],
  );
  assert.deepEqual(asked[1]?.messages, [{ role: "user", content: [{ type: "text", text: "Say", _meta: undefined }] }]);
  const wrong = (answers: Record<string, Answer>) => new TestClient(server, { answers }).callTool("ask");
  await assert.rejects(wrong({ n: { roots: [] } }), /question "n", which is of the type form: write accepted/);
  await assert.rejects(wrong({ n: accepted(2), say: declined() }), /question "say", .* type sampling: write sampled/);
  const misspelled = { answer: {} } as object;
  assert.throws(() => new TestClient(server, misspelled), /a TestClient has no option "answer": do you mean "answers"/);
});

test("requests to the model are taken as the official SDK has them, and misspelled ones are errors", async () => {
  const messages = [{ role: "user" as const, content: { type: "text" as const, text: "Say" } }];
  sampling("m", {
    messages,
    maxTokens: 5,
    modelPreferences: { hints: [{ name: "small" }, "large"], costPriority: 1 },
    toolChoice: { mode: "auto" },
    includeContext: "none",
  });
  const misfit = (request: object) => () => sampling("m", request as never);
  assert.throws(misfit({ messages, maxToken: 5 }), /question "m" has no option "maxToken": do you mean "maxTokens"/);
  assert.throws(misfit({ messages }), /question "m": its maxTokens is a whole number, not undefined/);
  assert.throws(misfit({ messages: "Say", maxTokens: 5 }), /question "m": its messages are a list/);
  assert.throws(misfit({ messages, maxTokens: 5, toolChoice: "any" }), /toolChoice of question "m" is one of "auto"/);
});

test("maskErrors hides what has no reason, and nothing else", async () => {
  const logged: string[] = [];
  const logger = {
    info() {},
    warn() {},
    error: (_: string, fields?: object) => void logged.push(JSON.stringify(fields)),
  };
  const server = make({ maskErrors: true, logger });
  const fail = (name: string, error: Error) =>
    server.registerTool(name, {}, () => {
      throw error;
    });
  fail("plain", new Error("password is x"));
  fail("failure", new Failure("FailedPrecondition", "closed"));
  fail("missing", new Failure("NotFound", "no order 7"));
  fail("status", Object.assign(new Error("8"), { code: 8, details: "too many" }));
  server.registerTool("ask", {}, async (_, call) => String(await call.ask("ok", "?", z.boolean())));
  server.registerPrompt("prompt", {}, () => {
    throw new Error("password is x");
  });
  const client = new TestClient(server, { answers: { ok: declined() } });
  const hidden = await client.callTool("plain");
  assert.deepEqual(
    [hidden.result, hidden.failure?.message],
    [undefined, "tool plain failed by a fault of the service"],
  );
  assert.match((await client.getPrompt("prompt")).failure?.message ?? "", /failed by a fault/);
  assert.match(logged.join(), /password is x/);
  assert.equal((await client.callTool("failure")).failure?.message, "closed");
  assert.equal((await client.callTool("missing")).text, "no order 7");
  assert.equal((await client.callTool("status")).status?.details, "too many");
  assert.equal((await client.callTool("ask")).text, "the user declined to answer");
});

test("a failure of a tool that the edge gives to the model is an error in the kit, too", async () => {
  const server = make();
  const errors = {
    invalid: new Failure("InvalidArgument", "no"),
    state: new Failure("FailedPrecondition", "no"),
    missing: new Failure("NotFound", "no"),
    plain: new Error("no"),
    away: new Failure("Unavailable", "no"),
  };
  for (const [name, error] of Object.entries(errors)) {
    server.registerTool(name, {}, () => Promise.reject(error));
    server.registerResource(name, `a://${name}`, {}, () => Promise.reject(error));
  }
  const client = new TestClient(server);
  for (const name of Object.keys(errors)) {
    const { isError, text } = await client.callTool(name);
    assert.deepEqual([isError, text], name === "away" ? [false, ""] : [true, "no"], name);
    assert.equal((await client.readResource(`a://${name}`)).isError, false, name);
  }
  assert.equal((await client.callTool("plain", { stray: 1 })).isError, true);
});
