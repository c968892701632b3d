// What tools ask of the client: forms for its user, its model, its roots.
import { contains, equal, step, text } from "../steps.mjs";

export async function asking({ client, asked, answer }) {
  const book = () => client.callTool({ name: "book_trip", arguments: { destination: "Barcelona", nights: 2 } });

  await step("elicitation accepted", async () => {
    asked.clear();
    answer["elicitation/create"] = (params) => ({
      action: "accept",
      content: params.requestedSchema.properties.confirm
        ? { confirm: true }
        : { seat: "aisle", room: "suite", insurance: true },
    });
    const r = await book();
    equal(r.structuredContent?.status, "booked", "status");
    equal(r.structuredContent.wishes, { seat: "aisle", room: "suite", insurance: true }, "wishes");
    equal(asked.items.map((q) => q.method), ["elicitation/create", "elicitation/create"], "questions");
    equal(asked.items[0].params.requestedSchema.properties.seat.enum, ["window", "aisle", "no preference"], "choices");
    contains(asked.items[1].params.message, "seat aisle, suite room", "second question");
  });
  await step("elicitation declined", async () => {
    answer["elicitation/create"] = () => ({ action: "decline" });
    const r = await book();
    equal(r.structuredContent?.status, "declined", "status");
  });
  await step("elicitation cancelled", async () => {
    answer["elicitation/create"] = () => ({ action: "cancel" });
    const r = await book();
    equal(r.structuredContent?.status, "cancelled", "status");
  });
  await step("elicitation of every kind of field", async () => {
    asked.clear();
    answer["elicitation/create"] = () => ({ action: "accept", content: {
      untitledSingle: "option1", titledSingle: "value1", legacyEnum: "opt1", untitledMulti: ["option1"], titledMulti: ["value1"],
    } });
    const r = await client.callTool({ name: "test_elicitation_sep1330_enums" });
    equal(r.isError ?? false, false, "isError");
    const p = asked.items[0].params.requestedSchema.properties;
    equal(Object.keys(p).sort(), ["legacyEnum", "titledMulti", "titledSingle", "untitledMulti", "untitledSingle"], "fields");
    equal([p.untitledMulti.type, p.titledMulti.type], ["array", "array"], "types of multiple choices");
  });
  await step("sampling", async () => {
    asked.clear();
    answer["sampling/createMessage"] = () => ({
      model: "interop-model", role: "assistant", stopReason: "endTurn", content: { type: "text", text: "Take the first one." },
    });
    const r = await client.callTool({ name: "recommend_flight", arguments: { origin: "Zurich", destination: "New York" } });
    contains(text(r), "Take the first one.", "text");
    contains(text(r), "interop-model", "text");
    const p = asked.items[0].params;
    equal([p.maxTokens, p.temperature], [300, 0.2], "limits");
    contains(p.messages[0].content.text, "from Zurich to New York", "prompt");
  });
  await step("sampling refused", async () => {
    answer["sampling/createMessage"] = () => {
      throw Object.assign(new Error("the user said no"), { code: -1 });
    };
    const r = await client.callTool({ name: "recommend_flight", arguments: { origin: "Zurich", destination: "New York" } });
    equal(r.isError, true, "isError");
  });
  await step("roots", async () => {
    answer["roots/list"] = () => ({ roots: [{ uri: "file:///project/a", name: "A" }, { uri: "file:///project/b" }] });
    const r = await client.callTool({ name: "list_workspace" });
    equal(r.structuredContent?.roots.map((x) => x.uri), ["file:///project/a", "file:///project/b"], "roots");
  });
  await step("roots changed", async () => {
    answer["roots/list"] = () => ({ roots: [{ uri: "file:///project/c" }] });
    await client.sendRootsListChanged();
    const r = await client.callTool({ name: "list_workspace" });
    equal(r.structuredContent?.roots.map((x) => x.uri), ["file:///project/c"], "roots");
  });
}
