import { type BasicContent, type Content, described, wireContent, wireRole } from "./content.js";
import { encodeJson, encodeObject } from "./failure.js";
import * as wire from "./gen/mcpedge/v1/input.js";
import { mustBeOneOf, mustKnow, type Names } from "./options.js";
import type { Bytes, Encoded, Role } from "./types.js";

/** One piece of a SamplingMessage. MCP: SamplingMessageContentBlock. */
export type SamplingContent<Data = Encoded> =
  | BasicContent<Data>
  | { type: "tool_use"; id: string; name: string; input: object; _meta?: object }
  | {
      type: "tool_result";
      toolUseId: string;
      content: Content[];
      structuredContent?: unknown;
      isError?: boolean;
      _meta?: object;
    };

/** One turn of a conversation with the client's model; a string is text. MCP: SamplingMessage. */
export interface SamplingMessage {
  role: Role;
  content: string | SamplingContent | SamplingContent[];
  _meta?: object;
}

/** A request to the client's model. MCP: CreateMessageRequestParams. */
export interface SamplingRequest {
  messages: SamplingMessage[];
  maxTokens: number;
  systemPrompt?: string;
  temperature?: number;
  stopSequences?: string[];
  modelPreferences?: ModelPreferences;
  includeContext?: "none" | "thisServer" | "allServers";
  tools?: { name: string; description?: string; inputSchema: object }[];
  toolChoice?: ToolChoice | { mode?: ToolChoice };
  metadata?: object;
  _meta?: object;
}

/** Whether the model may, must, or must not use a tool. MCP: ToolChoice. */
export type ToolChoice = "auto" | "required" | "none";

/** Which model to use: names, best first, and how much each property counts, from 0 to 1. MCP: ModelPreferences. */
export interface ModelPreferences {
  hints?: (string | { name?: string })[];
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

/** The answer of the client's model. MCP: CreateMessageResult. */
export interface SamplingResult {
  role: Role;
  content: SamplingContent<Bytes>[];
  /** All text in it, a line for each piece. */
  text: string;
  model: string;
  stopReason: string;
}

const members: Names<SamplingRequest> = {
  messages: true,
  maxTokens: true,
  systemPrompt: true,
  temperature: true,
  stopSequences: true,
  modelPreferences: true,
  includeContext: true,
  tools: true,
  toolChoice: true,
  metadata: true,
  _meta: true,
};
const preferences: Names<ModelPreferences> = {
  hints: true,
  costPriority: true,
  speedPriority: true,
  intelligencePriority: true,
};

/** wireSampling converts a request to the client's model. owner is for errors. */
export function wireSampling(owner: string, r: SamplingRequest): wire.CreateMessage {
  mustKnow(owner, r, members);
  const { messages, maxTokens, modelPreferences, tools, toolChoice, metadata, ...rest } = r;
  if (!Array.isArray(messages))
    throw new TypeError(`${owner}: its messages are a list: write messages: [{ role, content }]`);
  if (!Number.isSafeInteger(maxTokens))
    throw new TypeError(`${owner}: its maxTokens is a whole number, not ${maxTokens}`);
  const toolChoiceMode = typeof toolChoice === "object" ? toolChoice.mode : toolChoice;
  mustBeOneOf(`toolChoice of ${owner}`, toolChoiceMode, ["auto", "required", "none"]);
  if (modelPreferences) mustKnow(`modelPreferences of ${owner}`, modelPreferences, preferences);
  const hints = modelPreferences?.hints?.map((hint) => (typeof hint === "string" ? hint : (hint.name ?? "")));
  return wire.CreateMessage.fromPartial({
    ...described("a sampling request", rest),
    messages: messages.map((m) => ({
      ...described("a message", m),
      role: wireRole(m.role),
      content: wirePieces(m.content),
    })),
    maxTokens: BigInt(maxTokens),
    modelPreferences: modelPreferences && { ...modelPreferences, hints },
    tools: tools?.map((t) => ({ ...t, inputSchemaJson: encodeObject("a schema", t.inputSchema) })),
    toolChoiceMode,
    metadataJson: encodeObject("metadata of a sampling request", metadata),
  });
}

/** wirePieces converts the content of a message; a string is text. */
export function wirePieces(content: SamplingMessage["content"]): wire.SamplingContent[] {
  return [content].flat().map(wirePiece);
}

function wirePiece(c: string | SamplingContent): wire.SamplingContent {
  if (typeof c === "string") return wire.SamplingContent.fromPartial({ text: { text: c } });
  if (c.type !== "tool_use" && c.type !== "tool_result") return wire.SamplingContent.fromPartial(wireContent(c));
  const { metaJson } = described("sampling content", c);
  if (c.type === "tool_use") {
    const inputJson = encodeObject("input of a tool use", c.input);
    return wire.SamplingContent.fromPartial({ toolUse: { ...c, inputJson }, metaJson });
  }
  const structuredContentJson = c.structuredContent === undefined ? "" : encodeJson(c.structuredContent);
  const toolResult = { ...c, content: c.content.map(wireContent), structuredContentJson };
  return wire.SamplingContent.fromPartial({ toolResult, metaJson });
}
