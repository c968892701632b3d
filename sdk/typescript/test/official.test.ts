import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { type CallToolResult, type GetPromptResult, type ReadResourceResult, Result } from "@mcpedge/capability";
import { TestClient } from "@mcpedge/capability/testing";
import { make } from "./server.js";

const picture = Buffer.from([0, 1, 255]);

/** Returns the result of a tool whose handler returns out, or the message of its failure. */
async function given(out: unknown, outputSchema?: z.ZodType) {
  const server = make();
  server.registerTool("t", { outputSchema } as object, () => out as never);
  const { result, failure } = await new TestClient(server).callTool("t");
  if (!result) return failure?.message;
  const { content, structuredContent, isError, _meta } = result;
  return [content.map((c) => c.text ?? c.type), structuredContent, isError, _meta];
}

test("results of tools are taken as the official SDK has them", async () => {
  const content = [{ type: "text", text: "no" }];
  const sum = z.object({ sum: z.number() });
  assert.deepEqual(await given({ content }), [["no"], undefined, false, undefined]);
  assert.deepEqual(await given({ content, isError: true }), [["no"], undefined, true, undefined]);
  assert.deepEqual(await given({ content, isError: true }, sum), [["no"], undefined, true, undefined]);
  assert.deepEqual(await given({ content: [], structuredContent: { sum: 3 } }, sum), [
    [],
    { sum: 3 },
    false,
    undefined,
  ]);
  assert.deepEqual(await given({ structuredContent: { sum: 3 }, _meta: { a: 1 } }, sum), [
    [],
    { sum: 3 },
    false,
    { a: 1 },
  ]);
  assert.deepEqual(await given({ structuredContent: [1] }), [[], [1], false, undefined]);
  assert.deepEqual(await given({ isError: true }), [[], undefined, true, undefined]);
  assert.deepEqual(await given({ content, structuredContent: { why: 1 }, isError: true }, sum), [
    ["no"],
    { why: 1 },
    true,
    undefined,
  ]);
});

test("members of an output schema are not taken for those of a result", async () => {
  const page = z.object({ content: z.string() });
  const blocks = [{ type: "text", text: "no" }];
  assert.deepEqual(await given({ content: "a page" }, page), [[], { content: "a page" }, false, undefined]);
  assert.deepEqual(await given({ content: blocks, isError: true }, page), [["no"], undefined, true, undefined]);
  const whole = { content: blocks, structuredContent: { content: "a page" } };
  assert.deepEqual(await given(whole, page), [["no"], { content: "a page" }, false, undefined]);
  const said = z.object({ content: z.array(z.any()), isError: z.boolean() });
  assert.deepEqual(await given({ content: [], isError: true }, said), [
    [],
    { content: [], isError: true },
    false,
    undefined,
  ]);
  const either = z.union([z.object({ page: z.string() }), z.object({ content: z.string() })]);
  assert.deepEqual(await given({ content: "a page" }, either), [[], { content: "a page" }, false, undefined]);
  const full = new Result({ content: [{ type: "text", text: "no" }], isError: true });
  assert.deepEqual(await given(full, said), [["no"], undefined, true, undefined]);
});

test("what is no result and no value fails, by name and with what to write", async () => {
  const page = z.object({ content: z.string() });
  const value = "return structured({…}), or have an outputSchema with all of its members";
  const list = 'a list of content, as [{ type: "text", text: "…" }]';
  const wrong = (member: string, type: string) =>
    `tool "t" returned an object with "${member}", which in a result of a tool is ${type}: write that, or, for a value, ${value}`;
  assert.equal(await given({ content: "no", isError: true }), wrong("content", list));
  assert.equal(await given({ content: "no", isError: true }, page), wrong("content", list));
  assert.equal(await given({ content: [{ type: "txt", text: "no" }] }), wrong("content", list));
  assert.equal(await given({ content: [], isError: "yes" }), wrong("isError", "true or false"));
  assert.equal(await given({ content: [], _meta: 1 }), wrong("_meta", "an object"));
  assert.equal(
    await given({ content: "text", size: 4 }),
    `tool "t" returned an object with "content", as a result of a tool has, and "size", which it has not: for a value, ${value}`,
  );
  assert.match(
    String(await given({ content: [] }, z.object({ n: z.int() }))),
    /has an output schema, and gave no structured content/,
  );
  assert.match(
    String(await given([{ type: "text", text: "a" }, "b"])),
    /not all content: write text\("…"\) for each text/,
  );
  const schema = "for a value have an outputSchema, or return structured(…)";
  assert.equal(await given({ sum: 3 }), `tool "t" returned an object that is no result: ${schema}`);
  assert.equal(await given([{ sum: 3 }]), `tool "t" returned a list that is not all content: ${schema}`);
  assert.equal(await given(7), `tool "t" returned a number: return a string, as String(…); ${schema}`);
  assert.match(String(await given(picture)), /tool "t" returned bytes: return image\(data, mimeType\), audio/);
  assert.deepEqual(await given(null), [[], undefined, false, undefined]);
  const marked = await given({ type: "text", text: "no", isError: true });
  assert.match(String(marked), /with "isError", .* and "type", "text"/);
  assert.match(
    String(await given({ type: "text", txt: "a" })),
    /content of the type text has a text, unlike \{"type":"text"/,
  );
  assert.match(
    String(await given({ type: "image", data: "no base64!", mimeType: "image/png" })),
    /is a Buffer, or base64, not "no base64!"/,
  );
});

test("bytes are taken as base64, too", async () => {
  const data = picture.toString("base64");
  const server = make();
  server.registerTool("t", {}, () => ({
    content: [
      { type: "image", data, mimeType: "image/png" },
      { type: "audio", data, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "a://b", blob: data } },
      { type: "resource_link", uri: "a://b", name: "b" },
    ],
  }));
  server.registerResource("r", "a://r", {}, () => ({
    contents: [{ uri: "a://r", blob: data, mimeType: "image/png" }],
  }));
  const client = new TestClient(server);
  const { result } = await client.callTool("t");
  const [image, audio, embedded, link] = result!.content;
  assert.ok(image?.type === "image" && audio?.type === "audio" && embedded?.type === "resource");
  assert.deepEqual([image.data, audio.data, embedded.resource.blob], [picture, picture, picture]);
  assert.ok(link?.type === "resource_link" && link.uri === "a://b" && link.text === undefined);
  assert.deepEqual((await client.readResource("a://r")).result?.contents[0]?.blob, picture);
});

test("results of prompts and reads are taken as the official SDK has them", async () => {
  const server = make();
  const prompt = (name: string, out: unknown) => server.registerPrompt(name, {}, () => out as never);
  const read = (name: string, out: unknown) => server.registerResource(name, `a://${name}`, {}, () => out as never);
  const message = { role: "user", content: { type: "text", text: "Hi" } };
  prompt("whole", { messages: [message], description: "d", _meta: { a: 1 } });
  prompt("role", { messages: [{ ...message, role: "system" }] });
  prompt("stray", { messages: [message], model: "x" });
  prompt("messages", { messages: message });
  prompt("none", { message });
  read("whole", { contents: [{ uri: "b://1", text: "one" }, { text: "two" }], _meta: { a: 1 } });
  read("stray", { contents: [], ttl: 1 });
  read("object", { contents: { text: "" } });
  read("neither", { uri: "a://neither" });
  read("both", { text: "a", blob: "" });
  for (const name of ["null", "undefined", "empty"]) read(name, { null: null, empty: { contents: [] } }[name]);
  const client = new TestClient(server);
  const prompted = await client.getPrompt("whole");
  const { description, messages, _meta } = prompted.result!;
  assert.deepEqual([description, messages[0]?.content.text, _meta], ["d", "Hi", { a: 1 }]);
  const failureOf = async (name: string) => (await client.getPrompt(name)).failure?.message;
  const value = 'return a string, { role: "user", content: "…" }, or a list of them';
  assert.equal(await failureOf("role"), 'a role is "user" or "assistant", not "system"');
  assert.equal(
    await failureOf("stray"),
    `prompt "stray" returned an object with "messages", as a result of a prompt has, and "model", which it has not: for a value, ${value}`,
  );
  assert.match((await failureOf("messages")) ?? "", /"messages", which in a result of a prompt is a list of messages/);
  assert.equal(await failureOf("none"), `prompt "none" returned what is no message: ${value}`);
  const whole = await client.readResource("a://whole");
  assert.deepEqual(
    [whole.result?.contents.map((c) => [c.uri, c.text]), whole.result?._meta],
    [
      [
        ["b://1", "one"],
        ["a://whole", "two"],
      ],
      { a: 1 },
    ],
  );
  const why = async (name: string) => (await client.readResource(`a://${name}`)).failure?.message ?? "";
  assert.match(
    await why("stray"),
    /the read of "a:\/\/stray" returned an object with "contents", as a result of a read has, and "ttl"/,
  );
  assert.match(await why("object"), /"contents", which in a result of a read is a list/);
  assert.match(await why("neither"), /have either a text or a blob, unlike \{"uri"/);
  assert.match(await why("both"), /have either a text or a blob/);
  for (const name of ["null", "undefined", "empty"])
    assert.equal(await why(name), `there is no resource "a://${name}"`);
});

test("the types know results of the official SDK", () => {
  const server = make();
  // As the official SDK's types are: inferred from zod, with members of any name.
  type Loose = { [member: string]: unknown };
  type Text = Loose & { type: "text"; text: string };
  const tool = {} as Loose & { content: Text[]; structuredContent?: Loose; isError?: boolean; _meta?: Loose };
  const prompt = {} as Loose & { messages: { role: "user" | "assistant"; content: Text }[]; description?: string };
  const read = {} as Loose & { contents: { uri: string; text: string; mimeType?: string }[] };
  server.registerTool("a", {}, (): CallToolResult => tool);
  server.registerTool("b", {}, () => tool);
  server.registerTool("c", { outputSchema: z.object({ n: z.int() }) }, () => {
    if (Math.random() > 2) return { content: [{ type: "text", text: "no" }], isError: true };
    return { content: [], structuredContent: { n: 1 } };
  });
  server.registerPrompt("d", {}, (): GetPromptResult => prompt);
  server.registerResource("e", "a://e", {}, (): ReadResourceResult => read);
  server.registerResourceTemplate("f", "a://f/{id}", {}, async (uri) => ({ contents: [{ uri, text: "" }] }));
  // @ts-expect-error a value needs an outputSchema, or structured()
  server.registerTool("g", {}, () => ({ sum: 3 }));
  // @ts-expect-error its member is a number
  server.registerTool("h", { outputSchema: z.object({ sum: z.number() }) }, () => ({ sum: "3" }));
  // @ts-expect-error content is a list
  server.registerTool("i", {}, () => ({ content: "no", isError: true }));
});
