import * as wire from "./gen/mcpedge/v1/common.js";
import { ContentBlock, Resource as WireResource, ResourceContents as WireContents } from "./gen/mcpedge/v1/content.js";
import { encodeObject } from "./failure.js";

/** Who speaks. MCP: Role. */
export type Role = "user" | "assistant";

/** Raw bytes, never base64: a Buffer is one. */
export type Bytes = Uint8Array;

/** An image a client may show. MCP: Icon. */
export type Icon = Pick<wire.Icon, "src"> & Partial<wire.Icon>;

/** How a client should use an object; the priority is from 0 (optional) to 1 (required). MCP: Annotations. */
export type Annotations = Partial<Omit<wire.Annotations, "audience">> & { audience?: Role[] };

/** What MCP says in another way than the contract. */
interface Extras {
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: object;
}

/** What is shown of all that is listed. */
export type Shown = Omit<Extras, "annotations"> & { title?: string; description?: string };

/** What is known of a resource, or of all that a template describes. */
export type ResourceConfig = Shown & Pick<Extras, "annotations"> & { mimeType?: string };

/** What can be read, at an absolute URI; the size is in bytes. MCP: Resource. */
export type Resource = ResourceConfig & { uri: string; name: string; size?: number | bigint };

/**
 * What was read: text or a blob. When it is returned by a read, the URI that was read and the MIME type of the resource are
 * filled in. MCP: TextResourceContents, BlobResourceContents.
 */
export type ResourceContents = { uri?: string; mimeType?: string; _meta?: object } & (
  { text: string } | { blob: Bytes }
);

/** What content and messages to a model have in common. "raw" is a whole block with its own `type`, passed on as it is. */
export type BasicContent = Omit<Extras, "icons"> &
  (
    | { type: "text"; text: string }
    | { type: "image"; data: Bytes; mimeType: string }
    | { type: "audio"; data: Bytes; mimeType: string }
    | { type: "raw"; block: { type: string } }
  );

/** One piece of a result or of a message. MCP: ContentBlock. */
export type Content =
  | BasicContent
  | ({ type: "resource_link" } & Resource)
  | { type: "resource"; resource: ResourceContents & { uri: string }; annotations?: Annotations; _meta?: object };

/** Plain text content. */
export const text = (text: string): Content => ({ type: "text", text });

/** A picture: its raw bytes (not base64) and MIME type. */
export const image = (data: Bytes, mimeType: string): Content => ({ type: "image", data, mimeType });

/** A sound: its raw bytes (not base64) and MIME type. */
export const audio = (data: Bytes, mimeType: string): Content => ({ type: "audio", data, mimeType });

/** Refers to a resource the client may read. */
export const link = (resource: Resource): Content => ({ type: "resource_link", ...resource });

/** Carries a resource's contents along. */
export const embed = (resource: ResourceContents & { uri: string }): Content => ({ type: "resource", resource });

const kinds = ["text", "image", "audio", "resource_link", "resource", "raw"];

export function isContent(value: unknown): value is Content {
  return typeof value === "object" && value !== null && "type" in value && kinds.includes(value.type as string);
}

export function wireContent(c: Content): ContentBlock {
  if (!isContent(c)) {
    throw new TypeError(`content is an object whose type is one of ${kinds.join(", ")}, not ${JSON.stringify(c)}`);
  }
  if (c.type === "raw") return ContentBlock.fromPartial({ rawJson: encodeObject("a raw content block", c.block) });
  // Annotations and _meta of a link are its resource's.
  if (c.type === "resource_link") return ContentBlock.fromPartial({ resourceLink: wireResource(c) });
  const body = c.type === "resource" ? wireContents(c.resource) : c;
  return ContentBlock.fromPartial({ ...described("content", c), [c.type]: body });
}

export function wireRole(role: Role): wire.Role {
  return role === "user" ? wire.Role.ROLE_USER : wire.Role.ROLE_ASSISTANT;
}

/** An object of MCP with those members as the contract has them that differ: annotations and `_meta`. */
export function described<T extends Extras>(owner: string, object: T) {
  const { annotations: a, _meta, ...rest } = object;
  const annotations = a && { ...a, audience: a.audience?.map(wireRole) };
  return { ...rest, annotations, metaJson: encodeObject(`_meta of ${owner}`, _meta) };
}

export function wireResource(r: Resource): WireResource {
  return WireResource.fromPartial({ ...described("a resource", r), size: r.size && BigInt(r.size) });
}

/** Contents, with what is said of them elsewhere where they do not say it themselves. */
export function wireContents(c: ResourceContents, uri = "", mimeType = ""): WireContents {
  const body = "text" in c ? { text: c.text } : { blob: Buffer.from(c.blob) };
  const metaJson = encodeObject("_meta of resource contents", c._meta);
  return WireContents.fromPartial({ uri: c.uri || uri, mimeType: c.mimeType || mimeType, ...body, metaJson });
}
