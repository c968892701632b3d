// Resources: lists, reading, templates with completion, subscriptions and changes.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { contains, equal, fail, pagesOf, rejects, step, walk } from "../steps.mjs";

export async function resources({ client, told, options }) {
  const file = join(options.dir, `typescript-v1-${process.pid}.txt`);
  const uri = pathToFileURL(file).href;

  await step("resources/list by pages", async () => {
    const [all, pages] = await walk((p) => client.listResources(p), "resources");
    contains(all.map((r) => r.uri), "test://static-text", "URIs");
    contains(all.map((r) => r.name), "note.txt", "names");
    equal(pages, pagesOf(all, options), "pages");
  });
  await step("resources/read", async () => {
    const note = await client.readResource({ uri: pathToFileURL(join(options.dir, "note.txt")).href });
    equal([note.contents[0].text, note.contents[0].mimeType], ["first\n", "text/plain"], "text");
    const picture = await client.readResource({ uri: "test://static-binary" });
    equal(picture.contents[0].mimeType, "image/png", "type");
    equal(Buffer.from(picture.contents[0].blob, "base64").subarray(1, 4).toString(), "PNG", "bytes");
  });
  await step("resources/read not found", async () => {
    const e = await rejects(client.readResource({ uri: "test://no-such-resource" }));
    equal(e.code, -32002, "code");
    equal(e.data?.uri, "test://no-such-resource", "data.uri");
  });
  await step("resources/templates/list and read", async () => {
    const [all] = await walk((p) => client.listResourceTemplates(p), "resourceTemplates");
    contains(all.map((t) => t.uriTemplate), "weather://forecast/{city}/{date}", "templates");
    const r = await client.readResource({ uri: "weather://forecast/Tokyo/2026-07-28" });
    equal(JSON.parse(r.contents[0].text).city, "Tokyo", "city");
  });
  await step("completion/complete of a template", async () => {
    const complete = (argument, context) =>
      client.complete({ ref: { type: "ref/resource", uri: "travel://flights/{origin}/{destination}" }, argument, context });
    const all = (await complete({ name: "destination", value: "" })).completion.values;
    const some = (await complete({ name: "destination", value: "" }, { arguments: { origin: "Zurich" } })).completion.values;
    if (!(some.length > 0 && some.length < all.length)) fail("places connected to Zurich", `fewer than ${all.length}`, some);
  });
  await step("resources list changed", async () => {
    told.clear();
    await writeFile(file, "one\n");
    await told.until((all) => all.find((n) => n.method === "notifications/resources/list_changed"), "list_changed");
    const [all] = await walk((p) => client.listResources(p), "resources");
    contains(all.map((r) => r.uri), uri, "URIs");
  });
  await step("resources/subscribe", async () => {
    told.clear();
    equal(await client.subscribeResource({ uri }), {}, "result");
    await writeFile(file, "two\n");
    const n = await told.until((all) => all.find((n) => n.method === "notifications/resources/updated"), "updated");
    equal(n.params.uri, uri, "uri");
    equal((await client.readResource({ uri })).contents[0].text, "two\n", "text");
  });
  await step("resources/unsubscribe", async () => {
    const other = pathToFileURL(join(options.dir, "note.txt")).href;
    await client.subscribeResource({ uri: other });
    equal(await client.unsubscribeResource({ uri }), {}, "result");
    told.clear();
    await writeFile(file, "three\n");
    await writeFile(join(options.dir, "note.txt"), "first\n");
    await told.until((all) => all.find((n) => n.params?.uri === other), "updated of the other");
    equal(told.items.filter((n) => n.params?.uri === uri), [], "updates of what is no longer subscribed");
    await client.unsubscribeResource({ uri: other });
    await rm(file);
  });
}
