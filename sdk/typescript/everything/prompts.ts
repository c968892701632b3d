import { embed, image, type Server } from "@mcpedge/capability";
import { z } from "zod";
import { redPixel } from "./content.js";

export const contextForm =
  '{"type":"object","properties":{"context":{"type":"string","description":"What it is about"}},"required":["context"]}';

export function addPrompts(server: Server): void {
  const simple = { title: "Simple prompt", description: "A text" };
  server.registerPrompt("test_simple_prompt", simple, () => "This is a simple prompt for testing.");
  const withArguments = {
    title: "Prompt with arguments",
    description: "A text with two arguments",
    argsSchema: z.object({
      arg1: z.string().describe("First test argument"),
      arg2: z.string().describe("Second test argument"),
    }),
    complete: { arg1: ["paris", "park", "party"], arg2: ["london", "lisbon"] },
  };
  server.registerPrompt("test_prompt_with_arguments", withArguments, ({ arg1, arg2 }) => {
    return `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`;
  });
  const withResource = {
    title: "Prompt with a resource",
    description: "An embedded resource and a text",
    argsSchema: z.object({ resourceUri: z.string().describe("URI of the resource to embed") }),
  };
  server.registerPrompt("test_prompt_with_embedded_resource", withResource, ({ resourceUri: uri }) => [
    { role: "user", content: embed({ uri, mimeType: "text/plain", text: "Embedded resource content for testing." }) },
    { role: "user", content: "Please process the embedded resource above." },
  ]);
  const withImage = { title: "Prompt with an image", description: "An image and a text" };
  server.registerPrompt("test_prompt_with_image", withImage, () => [
    { role: "user", content: image(redPixel, "image/png") },
    { role: "user", content: "Please analyze the image above." },
  ]);
  const asking = { title: "Asking prompt", description: "A text that the user is asked about first" };
  server.registerPrompt("test_input_required_result_prompt", asking, async (_, call) => {
    const message = "What context should the prompt use?";
    const { action, content } = await call.askForm("user_context", message, contextForm);
    if (action !== "accept") return `Prompt without context (${action})`;
    return `Prompt with context: ${String(content?.context)}`;
  });
}
