// What tools, prompts and resources ask of the client: forms for its user, its model, its roots.
import { contains, equal, text } from "../steps.mjs";

const accept = ({ requestedSchema }) => ({
  action: "accept",
  content: requestedSchema.properties.confirm ? { confirm: true } : { seat: "aisle", room: "suite", insurance: true },
});

export async function asking({ client, asked, answer, modern, step }) {
  const book = () => client.callTool({ name: "book_trip", arguments: { destination: "Barcelona", nights: 2 } });
  const recommend = () => client.callTool({ name: "recommend_flight", arguments: { origin: "Zurich", destination: "New York" } });

  await step("elicitation accepted", async () => {
    asked.clear();
    answer["elicitation/create"] = accept;
    const r = await book();
    equal(r.structuredContent?.status, "booked", "status");
    equal(r.structuredContent.wishes, { seat: "aisle", room: "suite", insurance: true }, "wishes");
    equal(asked.items.map((q) => q.method), ["elicitation/create", "elicitation/create"], "questions");
    equal(asked.items[0].params.requestedSchema.properties.seat.enum, ["window", "aisle", "no preference"], "choices");
    contains(asked.items[1].params.message, "seat aisle, suite room", "second question");
  });
  for (const [action, status] of [["decline", "declined"], ["cancel", "cancelled"]]) {
    await step(`elicitation ${status}`, async () => {
      answer["elicitation/create"] = () => ({ action });
      equal((await book()).structuredContent?.status, status, "status");
    });
  }
  await step("sampling", async () => {
    asked.clear();
    answer["sampling/createMessage"] = () => ({
      model: "interop-model", role: "assistant", stopReason: "endTurn", content: { type: "text", text: "Take the first one." },
    });
    const r = await recommend();
    contains(text(r), "Take the first one.", "text");
    contains(text(r), "interop-model", "text");
    const p = asked.items[0].params;
    equal([p.maxTokens, p.temperature], [300, 0.2], "limits");
    contains(p.messages[0].content.text, "from Zurich to New York", "prompt");
  });
  await step("roots", async () => {
    for (const uris of [["file:///project/a", "file:///project/b"], ["file:///project/c"]]) {
      answer["roots/list"] = () => ({ roots: uris.map((uri) => ({ uri })) });
      if (!modern) await client.sendRootsListChanged();
      const r = await client.callTool({ name: "list_workspace" });
      equal(r.structuredContent?.roots.map((x) => x.uri), uris, "roots");
    }
  });
  await step("asked by a prompt and by a resource", async () => {
    answer["elicitation/create"] = ({ requestedSchema }) => ({
      action: "accept",
      content: Object.fromEntries(Object.keys(requestedSchema.properties).map((name) => [name, "interop"])),
    });
    const prompt = await client.getPrompt({ name: "test_input_required_result_prompt" });
    contains(JSON.stringify(prompt.messages), "interop", "messages");
    const read = await client.readResource({ uri: "test://ask/something" });
    contains(read.contents[0].text, "interop", "text");
  });
}
