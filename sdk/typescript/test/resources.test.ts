import assert from "node:assert/strict";
import { mkdtemp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { SkillFolder } from "@mcpedge/capability/skills";
import { TestClient } from "@mcpedge/capability/testing";
import { page } from "../dist/page.js";
import { Feed } from "../dist/feed.js";
import { UriTemplate } from "../dist/template.js";
import { Tool } from "../dist/gen/mcpedge/v1/input.js";
import { make } from "./server.js";

test("URI templates have the values that all libraries agree on", async () => {
  const file = new URL("../../../tests/suites/capability/testdata/templates.json", import.meta.url);
  const vectors = JSON.parse(await readFile(file, "utf8")) as {
    template: string;
    uris: Record<string, object | null>;
  }[];
  assert.ok(vectors.length > 0);
  for (const { template, uris } of vectors) {
    for (const [uri, want] of Object.entries(uris)) {
      assert.deepEqual(new UriTemplate(template).match(uri) ?? null, want, `${template} of ${uri}`);
    }
  }
});

test("URI templates match by RFC 6570", () => {
  for (const [template, uri, want] of [
    ["a://{x}/b", "a://1/b", { x: "1" }],
    ["a://{x}/b", "a://1/2/b", undefined],
    ["a://{+path}", "a://1/2/b.txt", { path: "1/2/b.txt" }],
    ["a://x{/p*}", "a://x/1/2", { p: "1/2" }],
    ["a://x{?q,n}", "a://x?q=a%20b&n=3", { q: "a b", n: "3" }],
    ["a://x{?q,n}", "a://x", {}],
    ["a://{x}", "a://%E4", { x: "\uFFFD" }],
    ["a://{x}.{y}", "a://1.2", { x: "1", y: "2" }],
    ["a://{x}-{y}", "a://1-2-3", { x: "1-2", y: "3" }],
    ["a://{+x}/{y}", "a://1/2/3", { x: "1/2", y: "3" }],
    ["a://{x,y}", "a://1,2,3", { x: "1", y: "2,3" }],
    ["a://{x}20{y}", "a://b%2020c", { x: "b ", y: "c" }],
    ["a://{x}20{y}", "a://b%20c", undefined],
    ["a://x{?p*}", "a://x?p=1&p=2", { p: "1,2" }],
    ["a://x{;p}", "a://x;p=1", { p: "1" }],
    ["a://{x}", "a://%zz", undefined],
  ] as const) {
    assert.deepEqual(new UriTemplate(template).match(uri), want, `${template} of ${uri}`);
  }
  for (const [template, uri] of [
    ["a://{.x*}{y*}!", "a://." + "a.,".repeat(2000)],
    ["a://{+x}/{+y}/{+z}!", "a://" + "/".repeat(4000)],
    ["a://{x}-{y}-{z}!", "a://" + "-".repeat(4000)],
    ["a://{x}{y}{z}!", "a://" + "-".repeat(8000)],
    ["a://{x,y,z}!", "a://" + ",".repeat(4000)],
    ["a://{+x}{+y}{+z}!", "a://" + "/".repeat(4000)],
  ] as const) {
    const began = process.cpuUsage();
    assert.equal(new UriTemplate(template).match(uri), undefined);
    assert.ok(process.cpuUsage(began).user < 2_000_000, `matching ${template} takes for ever`); // µs of CPU time
  }
});

test("reads: resources, templates, providers, and what there is not", async () => {
  const server = make();
  server.registerResource("text", "a://text", { mimeType: "text/plain" }, () => "yes");
  server.registerResource("bytes", "a://bytes", {}, () => Buffer.from([0xff, 0]));
  server.registerResource("gone", "a://gone", {}, () =>
    Promise.reject(Object.assign(new Error("gone"), { code: "ENOENT" })),
  );
  server.registerResourceTemplate("t", "a://t/{id}", {}, (_, { id }, call) => {
    call.setCache(1500, { shared: true });
    return `id ${id}`;
  });
  server.provide("a://p/", { list: () => [], read: (uri) => (uri === "a://p/1" ? { text: "provided" } : undefined) });
  const client = new TestClient(server);
  const read = async (uri: string) => (await client.readResource(uri)).result;
  assert.deepEqual((await read("a://text"))?.contents[0], {
    uri: "a://text",
    mimeType: "text/plain",
    text: "yes",
  });
  assert.deepEqual((await read("a://bytes"))?.contents[0]?.blob, Buffer.from([0xff, 0]));
  const templated = await read("a://t/7");
  assert.equal(templated?.contents[0]?.text, "id 7");
  assert.deepEqual(templated?.cache, { ttl: 1500, shared: true });
  assert.equal((await read("a://p/1"))?.contents[0]?.text, "provided");
  for (const uri of ["a://gone", "a://p/2", "b://x"]) {
    assert.equal((await client.readResource(uri)).failure?.message, `there is no resource "${uri}"`);
  }
});

test("prompts have typed arguments", async () => {
  const server = make();
  const argsSchema = z.object({ mood: z.enum(["good", "bad"]).describe("How"), name: z.string().optional() });
  server.registerPrompt("p", { description: "d", argsSchema }, ({ mood }) => `a ${mood} day`);
  const client = new TestClient(server);
  const { result } = await client.getPrompt("p", { mood: "good" });
  assert.deepEqual([result?.description, result?.messages[0]?.content.text], ["d", "a good day"]);
  assert.deepEqual(
    server.prompts.get("p")!.listed.arguments.map((a) => [a.name, a.description, a.required]),
    [
      ["mood", "How", true],
      ["name", "", false],
    ],
  );
  assert.equal((await client.getPrompt("p", { mood: "so so" })).failure?.reason, "InvalidArgument");
});

test("pages go by count and by bytes, and a change between them shifts nothing", () => {
  const all = Array.from({ length: 5 }, (_, i) => Tool.fromPartial({ name: `t${i}` }));
  const cut = (list: typeof all, token: string, size: number) => page(list, (t) => t.name, Tool, token, size);
  const first = cut(all, "", 2);
  assert.deepEqual([first.items.map((t) => t.name), first.next !== ""], [["t0", "t1"], true]);
  const names = (list: typeof all) => cut(list, first.next, 2).items.map((t) => t.name);
  assert.deepEqual(names(all), ["t2", "t3"]);
  assert.deepEqual(names(all.slice(1)), ["t2", "t3"]);
  assert.deepEqual(names(all.filter((t) => t.name !== "t1")), ["t2", "t3"]);
  assert.throws(() => cut(all, "7", 2), { code: 3, message: /page token "7" was not given by this list/ });
  const large = Array.from({ length: 3 }, (_, i) =>
    Tool.fromPartial({ name: `l${i}`, description: "x".repeat(2 << 20) }),
  );
  assert.equal(cut(large, "", 0).items.length, 1);
});

test("a feed coalesces what a slow watcher has not taken", async () => {
  const feed = new Feed();
  const controller = new AbortController();
  const seen: string[] = [];
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const served = feed.serve(
    "a://",
    controller.signal,
    async () => {},
    async (uri) => {
      seen.push(uri);
      await gate;
    },
  );
  await new Promise(setImmediate);
  feed.publish("a://first");
  await new Promise(setImmediate);
  for (let i = 0; i < 3; i++) for (const uri of ["a://x", "a://y", "b://z"]) feed.publish(uri);
  release();
  await new Promise(setImmediate);
  assert.deepEqual(seen, ["a://first", "a://x", "a://y"]);
  for (let i = 0; i < 2000; i++) feed.publish(`a://${i}`);
  await new Promise(setImmediate);
  assert.ok(seen.length < 1100 && seen.includes("a://"), `${seen.length} events`);
  controller.abort();
  await served;
});

test("a folder of skills is checked when it is opened, and left out what is spoiled later", async () => {
  const root = await mkdtemp(join(tmpdir(), "skills-"));
  await mkdir(join(root, "tea", "references"), { recursive: true });
  const head = "---\nname: tea\ndescription: Brews tea\n---\n";
  await writeFile(join(root, "tea", "SKILL.md"), head);
  await writeFile(join(root, "tea", "references", "times.md"), "3 min");
  const warned: string[] = [];
  const log = { info() {}, error() {}, warn: (_: string, fields?: object) => void warned.push(JSON.stringify(fields)) };
  const folder = await SkillFolder.open(root, "skill://", log);
  const [skill] = await folder.skills();
  assert.deepEqual(skill?.frontmatter, { name: "tea", description: "Brews tea" });
  assert.deepEqual(
    skill.files.map((f) => [f.uri, f.size, f.sha256.length]),
    [
      ["skill://tea/SKILL.md", head.length, 32],
      ["skill://tea/references/times.md", 5, 32],
    ],
  );
  assert.deepEqual(
    (await folder.directory("skill://tea"))?.map((r) => [r.name, r.mimeType]),
    [
      ["tea", "text/markdown"],
      ["references", "inode/directory"],
    ],
  );
  assert.equal(await folder.read("skill://tea/../tea/SKILL.md"), undefined);
  await writeFile(join(root, "tea", "SKILL.md"), "---\nname: coffee\ndescription: x\n---\n");
  assert.deepEqual(await folder.skills(), []);
  assert.match(warned[0] ?? "", /it must be that of its directory/);
  await assert.rejects(SkillFolder.open(root, "skill://", log), /skill "tea": SKILL.md has the name "coffee"/);
});

test("a folder of skills that is not opened, awaited or under its prefix is an error that says what to write", async () => {
  const root = await mkdtemp(join(tmpdir(), "skills-"));
  const open = SkillFolder.open as (...args: unknown[]) => Promise<SkillFolder>;
  const write = /a SkillFolder has a folder and a prefix: write await SkillFolder\.open\("skills", "skill:\/\/"\)/;
  await assert.rejects(open(root), write);
  const Made = SkillFolder as unknown as new (root: string) => SkillFolder;
  assert.throws(() => new Made(root), write);
  const folder = await open(root, "skill://a/");
  const cases: [unknown[], RegExp][] = [
    [[folder], /a provider needs a prefix of its URIs, such as "notes:\/\/": write server\.provide\("notes:\/\/", …\)/],
    [["skill://a/", open(root, "skill://a/")], /the provider of skill:\/\/a\/ is a promise: await it/],
    [
      ["skill://b/", folder],
      /the provider of skill:\/\/b\/ has URIs that begin with skill:\/\/a\/: give both the same prefix/,
    ],
  ];
  for (const [args, message] of cases) assert.throws(() => make().provide(...(args as [string, never])), message);
  make().provide("skill://a/", folder);
  make().provide("skill://", folder);
  await rm(root, { recursive: true });
});
