import {
  type BasicContent,
  type Bytes,
  type Content,
  described,
  type Encoded,
  type Role,
  wireContent,
  wireRole,
} from "./content.js";
import { encodeJson, encodeObject } from "./failure.js";
import { Role as WireRole } from "./gen/mcpedge/v1/common.js";
import * as wire from "./gen/mcpedge/v1/input.js";

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

/** What to ask the client's model. MCP: CreateMessageRequestParams. */
export type SamplingRequest = Partial<
  Pick<wire.CreateMessage, "systemPrompt" | "temperature" | "stopSequences" | "includeContext">
> & {
  messages: SamplingMessage[];
  maxTokens: number;
  modelPreferences?: Partial<wire.ModelPreferences>;
  tools?: { name: string; description?: string; inputSchema: object }[];
  toolChoice?: "auto" | "required" | "none";
  metadata?: object;
  _meta?: object;
};

/** What the client's model said. MCP: CreateMessageResult. */
export interface SamplingResult {
  role: Role;
  content: SamplingContent<Bytes>[];
  /** All text in it, a line for each piece. */
  text: string;
  model: string;
  stopReason: string;
}

export function wireSampling(r: SamplingRequest): wire.CreateMessage {
  return wire.CreateMessage.fromPartial({
    ...described("a sampling request", r),
    messages: r.messages.map((m) => ({
      ...described("a message", m),
      role: wireRole(m.role),
      content: [m.content].flat().map(wirePiece),
    })),
    maxTokens: BigInt(r.maxTokens),
    tools: r.tools?.map((t) => ({ ...t, inputSchemaJson: encodeObject("a schema", t.inputSchema) })),
    toolChoiceMode: r.toolChoice,
    metadataJson: encodeObject("metadata of a sampling request", r.metadata),
  });
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

export function samplingResult({ role, content, model, stopReason }: wire.CreateMessageResult): SamplingResult {
  const text = content.flatMap((c) => (c.text ? [c.text.text] : [])).join("\n");
  const speaker = role === WireRole.ROLE_USER ? "user" : "assistant";
  return { role: speaker, content: content.map(pieceOf), text, model, stopReason };
}

/** A piece that a client's model gives: a tool_result is not among them. */
function pieceOf({ text, image, audio, toolUse, rawJson, metaJson }: wire.SamplingContent): SamplingContent<Bytes> {
  const _meta = metaJson ? (JSON.parse(metaJson) as object) : undefined;
  if (text) return { type: "text", ...text, _meta };
  if (image) return { type: "image", ...image, _meta };
  if (audio) return { type: "audio", ...audio, _meta };
  if (!toolUse) return { type: "raw", block: rawJson ? JSON.parse(rawJson) : { type: "unknown" } };
  const { id, name, inputJson } = toolUse;
  return { type: "tool_use", id, name, input: JSON.parse(inputJson || "{}"), _meta };
}
