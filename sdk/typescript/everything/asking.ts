import type { ElicitResult, SamplingRequest, SamplingResult, Server } from "@mcpedge/capability";
import { z } from "zod";
import { plain } from "./plain.js";

const contactForm = `{"type":"object","properties":{
  "username":{"type":"string","description":"User's response"},
  "email":{"type":"string","description":"User's email address"}},
  "required":["username","email"]}`;

const defaultsForm = `{"type":"object","properties":{
  "name":{"type":"string","description":"User name","default":"John Doe"},
  "age":{"type":"integer","description":"User age","default":30},
  "score":{"type":"number","description":"User score","default":95.5},
  "status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
  "verified":{"type":"boolean","description":"Verification status","default":true}},
  "required":[]}`;

const enumsForm = `{"type":"object","properties":{
  "untitledSingle":{"type":"string","description":"Select one option","enum":["option1","option2","option3"]},
  "titledSingle":{"type":"string","description":"Select one option with titles","oneOf":[
    {"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
  "legacyEnum":{"type":"string","description":"Select one option (legacy)","enum":["opt1","opt2","opt3"],
    "enumNames":["Option One","Option Two","Option Three"]},
  "untitledMulti":{"type":"array","description":"Select multiple options","minItems":1,"maxItems":3,
    "items":{"type":"string","enum":["option1","option2","option3"]}},
  "titledMulti":{"type":"array","description":"Select multiple options with titles","minItems":1,"maxItems":3,
    "items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},
  "required":[]}`;

export const nameForm = `{"type":"object","properties":{"name":{"type":"string","description":"Your name"}},"required":["name"]}`;

export function addAsking(server: Server): void {
  const prompt = z.object({ prompt: z.string().describe("The prompt to send to the model") });
  const message = z.object({ message: z.string().describe("The message to show the user") });
  server.registerTool(
    "test_sampling",
    { ...plain("Asks the client's model"), inputSchema: prompt },
    async (args, call) => {
      return `LLM response: ${said(await call.sample("sampling", asking(args.prompt, 100)))}`;
    },
  );
  const contact = { ...plain("Asks the user for a name and an address"), inputSchema: message };
  server.registerTool("test_elicitation", contact, async (args, call) => {
    return `User response: ${answered(await call.askForm("contact", args.message, contactForm))}`;
  });
  const defaults = plain("Asks the user by a form with default values");
  server.registerTool("test_elicitation_sep1034_defaults", defaults, async (_, call) => {
    const what = "Please review and update the form fields with defaults";
    return `Elicitation completed: ${answered(await call.askForm("defaults", what, defaultsForm))}`;
  });
  const enums = plain("Asks the user by a form with every kind of choice");
  server.registerTool("test_elicitation_sep1330_enums", enums, async (_, call) => {
    const what = "Please select options from the enum fields";
    return `Elicitation completed: ${answered(await call.askForm("enums", what, enumsForm))}`;
  });
  server.registerTool("test_streaming_elicitation", plain("Reports progress, then asks the user"), async (_, call) => {
    call.progress(1, 2, "Before the question");
    const text = answered(await call.askForm("user_name", "What is your name?", nameForm));
    call.progress(2, 2, "After the answer");
    return `Elicitation completed: ${text}`;
  });
  server.registerTool("test_missing_capability", plain("Cannot do without the client's model"), async (_, call) => {
    return `The client's model said: ${said(await call.sample("needed", asking("Say something.", 100)))}`;
  });
}

export function asking(prompt: string, maxTokens: number): SamplingRequest {
  return { messages: [{ role: "user", content: prompt }], maxTokens };
}

/** Returns the response of the client's model as text. */
export function said(result: SamplingResult): string {
  return result.text || "(no text)";
}

/** Returns the user's reaction as text. */
export function answered({ action, contentJson = "{}" }: ElicitResult): string {
  return `action=${action}, content=${contentJson}`;
}
