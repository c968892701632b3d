import type { Content } from "./content.js";
import { Failure, reasonOf } from "./failure.js";
import * as wire from "./gen/mcpedge/v1/common.js";
import type { ContentBlock, Resource as WireResource } from "./gen/mcpedge/v1/content.js";
import type * as input from "./gen/mcpedge/v1/input.js";
import type { SamplingContent, SamplingResult } from "./sampling.js";
import type { Annotations, Bytes, ClientCapabilities, Principal, Role } from "./types.js";

/** parsedMeta returns the object of a `_meta` in JSON; undefined if there is none. */
export function parsedMeta(metaJson: string): Record<string, unknown> | undefined {
  return metaJson ? (JSON.parse(metaJson) as Record<string, unknown>) : undefined;
}

/** parsedAll returns the values of a map of JSON texts. */
export function parsedAll(texts: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, JSON.parse(text) as unknown]));
}

/** principalOf converts the caller of a request; undefined is anonymous. */
export function principalOf(given = wire.Principal.create()): Principal {
  const { claimsJson, ...rest } = given;
  return { ...rest, claims: parsedAll(claimsJson) };
}

/** capabilitiesOf converts the capabilities of a client; undefined is a client without any. */
export function capabilitiesOf(given = wire.ClientCapabilities.create()): ClientCapabilities {
  const { elicitation, sampling, roots, extensionsJson } = given;
  return {
    ...(elicitation && { elicitation: { form: elicitation.form, url: elicitation.url } }),
    ...(sampling && { sampling: { context: sampling.context, tools: sampling.tools } }),
    ...(roots && { roots: { listChanged: roots.listChanged } }),
    extensions: parsedAll(extensionsJson),
  };
}

/** failureOf converts a failure that was sent. */
export function failureOf({ reason, message, dataJson, scopes }: wire.Failure): Failure {
  const data = dataJson ? { data: JSON.parse(dataJson) as unknown } : {};
  return new Failure(reasonOf(reason), message, { ...data, ...(scopes.length > 0 && { scopes }) });
}

/** roleOf converts the author of a message. */
export function roleOf(role: wire.Role): Role {
  return role === wire.Role.ROLE_USER ? "user" : "assistant";
}

function annotationsOf(a: wire.Annotations): Annotations {
  const { audience, priority, lastModified } = a;
  return {
    ...(audience.length > 0 && { audience: audience.map(roleOf) }),
    ...(priority !== undefined && { priority }),
    ...(lastModified && { lastModified }),
  };
}

/** present drops members that are empty or absent, as they are in JSON of MCP. */
export function present<T extends object>(members: T): Partial<T> {
  const kept = Object.entries(members).filter(([, v]) => v !== undefined && v !== "" && !isEmptyList(v));
  return Object.fromEntries(kept) as Partial<T>;
}

const isEmptyList = (v: unknown) => Array.isArray(v) && v.length === 0;

/** Contents that were sent: a text or a blob. */
export interface ReceivedContents {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: Bytes;
  _meta?: Record<string, unknown>;
}

/** contentsOf converts contents of a resource. */
export function contentsOf(c: {
  uri: string;
  mimeType: string;
  metaJson: string;
  text?: string;
  blob?: Bytes;
}): ReceivedContents {
  const { uri, mimeType, text, blob, metaJson } = c;
  const rest = present({ mimeType, _meta: parsedMeta(metaJson) });
  return { uri, ...rest, ...(text !== undefined ? { text } : { blob }) };
}

/** The members of content without its body. */
interface Marked {
  annotations?: Annotations;
  _meta?: Record<string, unknown>;
}

/**
 * One piece of content that was sent: a union by type as Content, with bytes decoded. `text` may be read of each, and is undefined
 * where there is none.
 */
export type ReceivedContent =
  | (Marked & { type: "text"; text: string })
  | (Marked & { type: "image" | "audio"; data: Bytes; mimeType: string; text?: undefined })
  | (Extract<Content, { type: "resource_link" }> & { text?: undefined })
  | (Marked & { type: "resource"; resource: ReceivedContents; text?: undefined })
  | { type: "raw"; block: { type: string }; text?: undefined };

/** contentOf converts one piece of content. */
export function contentOf(c: ContentBlock): ReceivedContent {
  const annotations = c.annotations && annotationsOf(c.annotations);
  const marked: Marked = present({ annotations, _meta: parsedMeta(c.metaJson) });
  if (c.text) return { type: "text", text: c.text.text, ...marked };
  if (c.image) return { type: "image", ...c.image, ...marked };
  if (c.audio) return { type: "audio", ...c.audio, ...marked };
  if (c.resource) return { type: "resource", resource: contentsOf(c.resource), ...marked };
  if (c.resourceLink) return { type: "resource_link", ...resourceOf(c.resourceLink) };
  return { type: "raw", block: JSON.parse(c.rawJson || '{"type":"unknown"}') };
}

function resourceOf(r: WireResource): Omit<Extract<Content, { type: "resource_link" }>, "type"> {
  const { uri, name, size, annotations, metaJson, ...rest } = r;
  return {
    uri,
    name,
    ...present({ ...rest, size, annotations: annotations && annotationsOf(annotations), _meta: parsedMeta(metaJson) }),
  };
}

/** samplingResultOf converts the answer of a client's model. */
export function samplingResultOf(result: input.CreateMessageResult): SamplingResult {
  const { role, content, model, stopReason } = result;
  const text = content.flatMap((c) => (c.text ? [c.text.text] : [])).join("\n");
  return { role: roleOf(role), content: content.map(pieceOf), text, model, stopReason };
}

/** pieceOf converts a piece of a message to or from the client's model. */
export function pieceOf(piece: input.SamplingContent): SamplingContent<Bytes> {
  const { text, image, audio, toolUse, toolResult, rawJson, metaJson } = piece;
  const _meta = parsedMeta(metaJson);
  if (text) return { type: "text", ...text, _meta };
  if (image) return { type: "image", ...image, _meta };
  if (audio) return { type: "audio", ...audio, _meta };
  if (toolUse) {
    const { id, name, inputJson } = toolUse;
    return { type: "tool_use", id, name, input: JSON.parse(inputJson || "{}"), _meta };
  }
  if (!toolResult) return { type: "raw", block: rawJson ? JSON.parse(rawJson) : { type: "unknown" } };
  const { toolUseId, content, structuredContentJson, isError } = toolResult;
  const structuredContent: unknown = structuredContentJson ? JSON.parse(structuredContentJson) : undefined;
  return {
    type: "tool_result",
    toolUseId,
    content: content.map(contentOf) as Content[],
    structuredContent,
    isError,
    _meta,
  };
}
