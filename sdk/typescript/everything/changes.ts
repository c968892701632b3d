import type { Server } from "@mcpedge/capability";
import { plain } from "./plain.js";

const annotations = { destructiveHint: false, openWorldHint: false };

/** Adds the tools that change the lists. Each call changes them once: what the tool adds, the next call removes. */
export function addChanges(server: Server): void {
  const tool = "test_dynamic_tool";
  const prompt = "test_dynamic_prompt";
  const description = "Adds a tool, or removes it again";
  server.registerTool("test_trigger_tool_change", { description, annotations }, () => {
    if (server.removeTool(tool)) return `Removed ${tool}.`;
    server.registerTool(tool, plain("Comes and goes by test_trigger_tool_change"), () => "This tool is here for now.");
    return `Added ${tool}.`;
  });
  const triggers = { description: "Adds a prompt, or removes it again", annotations };
  server.registerTool("test_trigger_prompt_change", triggers, () => {
    if (server.removePrompt(prompt)) return `Removed ${prompt}.`;
    const description = "Comes and goes by test_trigger_prompt_change";
    server.registerPrompt(prompt, { description }, () => "This prompt is here for now.");
    return `Added ${prompt}.`;
  });
}
