// Prompts: the list, getting one, and completion of arguments.
import { contains, equal, pagesOf, rejects, step, walk } from "../steps.mjs";

export async function prompts({ client, options }) {
  await step("prompts/list by pages", async () => {
    const [all, pages] = await walk((p) => client.listPrompts(p), "prompts");
    const vacation = all.find((p) => p.name === "plan-vacation");
    equal(vacation?.arguments.map((a) => [a.name, a.required ?? false]),
      [["destination", true], ["days", false], ["interests", false]], "arguments");
    equal(pages, pagesOf(all, options), "pages");
  });
  await step("prompts/get", async () => {
    const r = await client.getPrompt({ name: "plan-vacation", arguments: { destination: "Lisbon", days: "4" } });
    equal(r.messages.map((m) => [m.role, m.content.type]), [["user", "text"]], "messages");
    contains(r.messages[0].content.text, "4 days in Lisbon", "text");
  });
  await step("prompts/get content kinds", async () => {
    const picture = await client.getPrompt({ name: "test_prompt_with_image" });
    contains(picture.messages.map((m) => m.content.type), "image", "content types");
    const embedded = await client.getPrompt({ name: "test_prompt_with_embedded_resource", arguments: { resourceUri: "test://a" } });
    equal(embedded.messages.find((m) => m.content.type === "resource")?.content.resource.uri, "test://a", "resource");
  });
  await step("prompts/get invalid", async () => {
    equal((await rejects(client.getPrompt({ name: "no-such-prompt" }))).code, -32602, "code of an unknown prompt");
    equal((await rejects(client.getPrompt({ name: "plan-vacation" }))).code, -32602, "code of a missing argument");
  });
  await step("completion/complete of a prompt", async () => {
    const r = await client.complete({ ref: { type: "ref/prompt", name: "code_review" }, argument: { name: "language", value: "Ja" } });
    equal(r.completion.values, ["Java", "JavaScript"], "values");
  });
}
