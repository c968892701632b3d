import { Buffer } from "node:buffer";
import {
  CreateMessage,
  CreateMessageResult,
  ModelPreferences,
  SamplingContent as WireContent,
  Tool,
} from "./gen/mcpedge/v1/input.js";
import {
  type Annotations,
  type Bytes,
  type Content,
  type Role,
  roleOf,
  wireAnnotations,
  wireContent,
  wireRole,
} from "./content.js";
import { encodeJson, encodeObject } from "./failure.js";

/** One piece of a SamplingMessage. MCP: SamplingMessageContentBlock. */
export type SamplingContent = { annotations?: Annotations; _meta?: object } & (
  | { type: "text"; text: string }
  | { type: "image"; data: Bytes; mimeType: string }
  | { type: "audio"; data: Bytes; mimeType: string }
  | { type: "tool_use"; id: string; name: string; input: object }
  | { type: "tool_result"; toolUseId: string; content: Content[]; structuredContent?: unknown; isError?: boolean }
  | { type: "raw"; block: { type: string } }
);

/** One turn of a conversation with the client's model; a string is text. MCP: SamplingMessage. */
export interface SamplingMessage {
  role: Role;
  content: string | SamplingContent | SamplingContent[];
  _meta?: object;
}

/** What to ask the client's model. MCP: CreateMessageRequestParams. */
export interface SamplingRequest {
  messages: SamplingMessage[];
  maxTokens: number;
  systemPrompt?: string;
  temperature?: number;
  stopSequences?: string[];
  modelPreferences?: { hints?: string[]; costPriority?: number; speedPriority?: number; intelligencePriority?: number };
  includeContext?: "none" | "thisServer" | "allServers";
  tools?: { name: string; description?: string; inputSchema: object }[];
  toolChoice?: "auto" | "required" | "none";
  metadata?: object;
  _meta?: object;
}

/** What the client's model said. MCP: CreateMessageResult. */
export interface SamplingResult {
  role: Role;
  content: SamplingContent[];
  /** All text in it, a line for each piece. */
  text: string;
  model: string;
  stopReason: string;
}

export function wireSampling(r: SamplingRequest): CreateMessage {
  return CreateMessage.fromPartial({
    messages: r.messages.map((m) => ({
      role: wireRole(m.role),
      content: piecesOf(m.content).map(wirePiece),
      metaJson: encodeObject("_meta of a message", m._meta),
    })),
    maxTokens: BigInt(r.maxTokens),
    systemPrompt: r.systemPrompt,
    temperature: r.temperature,
    stopSequences: r.stopSequences,
    modelPreferences: r.modelPreferences && ModelPreferences.fromPartial(r.modelPreferences),
    includeContext: r.includeContext,
    tools: r.tools?.map((t) =>
      Tool.fromPartial({
        name: t.name,
        description: t.description,
        inputSchemaJson: encodeObject("a schema", t.inputSchema),
      }),
    ),
    toolChoiceMode: r.toolChoice,
    metadataJson: encodeObject("metadata of a sampling request", r.metadata),
    metaJson: encodeObject("_meta of a sampling request", r._meta),
  });
}

function piecesOf(content: SamplingMessage["content"]): SamplingContent[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : [content];
}

function wirePiece(c: SamplingContent): WireContent {
  const piece = WireContent.create();
  switch (c.type) {
    case "text":
      piece.text = { text: c.text };
      break;
    case "image":
    case "audio":
      piece[c.type] = { data: Buffer.from(c.data), mimeType: c.mimeType };
      break;
    case "tool_use":
      piece.toolUse = { id: c.id, name: c.name, inputJson: encodeObject("input of a tool use", c.input) };
      break;
    case "tool_result": {
      const structuredContentJson = c.structuredContent === undefined ? "" : encodeJson(c.structuredContent);
      const { toolUseId, isError = false } = c;
      piece.toolResult = { toolUseId, content: c.content.map(wireContent), structuredContentJson, isError };
      break;
    }
    case "raw":
      piece.rawJson = encodeObject("a raw content block", c.block);
      return piece;
  }
  piece.annotations = wireAnnotations(c.annotations);
  piece.metaJson = encodeObject("_meta of sampling content", c._meta);
  return piece;
}

export function samplingResult(r: CreateMessageResult): SamplingResult {
  const content = r.content.map(pieceOf);
  const text = content.flatMap((c) => (c.type === "text" ? [c.text] : [])).join("\n");
  return { role: roleOf(r.role), content, text, model: r.model, stopReason: r.stopReason };
}

/** A piece that a client's model gives: a tool_result is not among them. */
function pieceOf(c: WireContent): SamplingContent {
  const _meta = c.metaJson ? (JSON.parse(c.metaJson) as object) : undefined;
  if (c.text) return { type: "text", text: c.text.text, _meta };
  if (c.image) return { type: "image", ...c.image, _meta };
  if (c.audio) return { type: "audio", ...c.audio, _meta };
  if (c.toolUse) {
    return {
      type: "tool_use",
      id: c.toolUse.id,
      name: c.toolUse.name,
      input: JSON.parse(c.toolUse.inputJson || "{}"),
      _meta,
    };
  }
  return { type: "raw", block: c.rawJson ? JSON.parse(c.rawJson) : { type: "unknown" } };
}
