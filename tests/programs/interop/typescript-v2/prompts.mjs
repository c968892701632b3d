// Prompts: the list, getting one, and completion of arguments.
import { contains, equal, rejects } from "../steps.mjs";

export async function prompts({ client, step }) {
  await step("prompts/list", async () => {
    const vacation = (await client.listPrompts()).prompts.find((p) => p.name === "plan-vacation");
    equal(vacation?.arguments.map((a) => [a.name, a.required ?? false]),
      [["destination", true], ["days", false], ["interests", false]], "arguments");
  });
  await step("prompts/get", async () => {
    const r = await client.getPrompt({ name: "plan-vacation", arguments: { destination: "Lisbon", days: "4" } });
    equal(r.messages.map((m) => [m.role, m.content.type]), [["user", "text"]], "messages");
    contains(r.messages[0].content.text, "4 days in Lisbon", "text");
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
