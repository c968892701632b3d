// Resources: lists, reading, templates with completion, and changes in the manner of either era.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ResourceNotFoundError } from "@modelcontextprotocol/client";
import { contains, equal, fail, rejects } from "../steps.mjs";

export async function resources(session) {
  const { client, options, era, modern, step } = session;
  const file = join(options.dir, `typescript-v2-${era}-${process.pid}.txt`);
  const uri = pathToFileURL(file).href;
  // The SDK keeps lists and contents for as long as they say they are fresh.
  const read = async (which) => (await client.readResource({ uri: which }, { cacheMode: "bypass" })).contents[0];
  const names = async () => (await client.listResources(undefined, { cacheMode: "bypass" })).resources.map((r) => r.name);

  await step("resources/list", async () => {
    const all = (await client.listResources()).resources;
    contains(all.map((r) => r.uri), "test://static-text", "URIs");
    contains(all.map((r) => r.name), "note.txt", "names");
  });
  await step("resources/read", async () => {
    const note = await read(pathToFileURL(join(options.dir, "note.txt")).href);
    equal([note.text, note.mimeType], ["first\n", "text/plain"], "text");
    const picture = await read("test://static-binary");
    equal(Buffer.from(picture.blob, "base64").subarray(1, 4).toString(), "PNG", "bytes");
  });
  await step("resources/read not found", async () => {
    const e = await rejects(read("test://no-such-resource"));
    equal(e instanceof ResourceNotFoundError, true, "known by its kind"); // whichever code the revision has for it
    equal(e.uri, "test://no-such-resource", "uri");
  });
  await step("resources/templates/list and read", async () => {
    const all = (await client.listResourceTemplates()).resourceTemplates;
    contains(all.map((t) => t.uriTemplate), "weather://forecast/{city}/{date}", "templates");
    equal(JSON.parse((await read("weather://forecast/Tokyo/2026-07-28")).text).city, "Tokyo", "city");
  });
  await step("completion/complete of a template", async () => {
    const complete = (context) => client.complete({
      ref: { type: "ref/resource", uri: "travel://flights/{origin}/{destination}" }, argument: { name: "destination", value: "" }, context,
    });
    const all = (await complete()).completion.values;
    const some = (await complete({ arguments: { origin: "Zurich" } })).completion.values;
    if (!(some.length > 0 && some.length < all.length)) fail("places connected to Zurich", `fewer than ${all.length}`, some);
  });
  await (modern ? listened : subscribed)(session, file, uri, read, names);
  await rm(file);
}

const method = (name) => (all) => all.find((n) => n.method === `notifications/resources/${name}`);

// subscribed is told of changes in the revisions with sessions.
async function subscribed({ client, told, step }, file, uri, read, names) {
  await step("resources list changed", async () => {
    told.clear();
    await writeFile(file, "one\n");
    await told.until(method("list_changed"), "list_changed");
    contains((await names()).join(), file.split("/").at(-1), "names");
  });
  await step("resources/subscribe", async () => {
    told.clear();
    equal(await client.subscribeResource({ uri }), {}, "result");
    await writeFile(file, "two\n");
    equal((await told.until(method("updated"), "updated")).params.uri, uri, "uri");
    equal((await read(uri)).text, "two\n", "text");
    equal(await client.unsubscribeResource({ uri }), {}, "result");
  });
}

// listened is told of changes in the revision without sessions.
async function listened({ client, told, step }, file, uri, read, names) {
  await step("subscriptions/listen to the list", async () => {
    told.clear();
    const stream = await client.listen({ resourcesListChanged: true });
    equal(stream.honoredFilter, { resourcesListChanged: true }, "honoured");
    await writeFile(file, "one\n");
    await told.until(method("list_changed"), "list_changed");
    contains((await names()).join(), file.split("/").at(-1), "names");
    await stream.close();
    equal(await stream.closed, "local", "end");
  });
  await step("subscriptions/listen to a resource", async () => {
    told.clear();
    const stream = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    equal(stream.honoredFilter, { toolsListChanged: true, resourceSubscriptions: [uri] }, "honoured");
    await writeFile(file, "two\n");
    equal((await told.until(method("updated"), "updated")).params.uri, uri, "uri");
    equal((await read(uri)).text, "two\n", "text");
    await stream.close();
    equal(await stream.closed, "local", "end");
  });
}
