import { Annotations as WireAnnotations, Icon as WireIcon, Role as WireRole } from "./gen/mcpedge/v1/common.js";
import { ContentBlock, Resource as WireResource, ResourceContents as WireContents } from "./gen/mcpedge/v1/content.js";
import { encodeObject } from "./failure.js";

/** Who speaks. MCP: Role. */
export type Role = "user" | "assistant";

/** Raw bytes, never base64: a Buffer is one. */
export type Bytes = Uint8Array;

/** An image a client may show. MCP: Icon. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: "light" | "dark";
}

/** How a client should use an object. MCP: Annotations. */
export interface Annotations {
  audience?: Role[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** ISO 8601. */
  lastModified?: string;
}

/** What can be read. MCP: Resource. */
export interface Resource {
  /** Absolute. */
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number | bigint;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: object;
}

/**
 * What was read: text or a blob. When it is returned by a read, the URI that was read and the MIME type of the resource are
 * filled in. MCP: TextResourceContents, BlobResourceContents.
 */
export type ResourceContents = { uri?: string; mimeType?: string; _meta?: object } & (
  { text: string } | { blob: Bytes }
);

interface Extras {
  annotations?: Annotations;
  _meta?: object;
}

/** One piece of a result or of a message. "raw" is a whole block with its own `type`, passed on as it is. MCP: ContentBlock. */
export type Content = Extras &
  (
    | { type: "text"; text: string }
    | { type: "image"; data: Bytes; mimeType: string }
    | { type: "audio"; data: Bytes; mimeType: string }
    | ({ type: "resource_link" } & Resource)
    | { type: "resource"; resource: ResourceContents & { uri: string } }
    | { type: "raw"; block: { type: string } }
  );

/** Plain text content. */
export function text(text: string): Content {
  return { type: "text", text };
}

/** A picture: its raw bytes (not base64) and MIME type. */
export function image(data: Bytes, mimeType: string): Content {
  return { type: "image", data, mimeType };
}

/** A sound: its raw bytes (not base64) and MIME type. */
export function audio(data: Bytes, mimeType: string): Content {
  return { type: "audio", data, mimeType };
}

/** Refers to a resource the client may read. */
export function link(resource: Resource): Content {
  return { type: "resource_link", ...resource };
}

/** Carries a resource's contents along. */
export function embed(resource: ResourceContents & { uri: string }): Content {
  return { type: "resource", resource };
}

const kinds = ["text", "image", "audio", "resource_link", "resource", "raw"];

export function isContent(value: unknown): value is Content {
  return typeof value === "object" && value !== null && "type" in value && kinds.includes(value.type as string);
}

export function wireContent(c: Content): ContentBlock {
  const block = ContentBlock.create();
  switch (c.type) {
    case "text":
      block.text = { text: c.text };
      break;
    case "image":
    case "audio":
      block[c.type] = { data: Buffer.from(c.data), mimeType: c.mimeType };
      break;
    case "resource_link":
      block.resourceLink = wireResource(c);
      return block; // annotations and _meta are the link's own
    case "resource":
      block.resource = wireContents(c.resource);
      break;
    case "raw":
      block.rawJson = encodeObject("a raw content block", c.block);
      return block;
    default:
      throw new TypeError(
        `content of the type ${JSON.stringify((c as { type?: unknown }).type)}: use one of ${kinds.join(", ")}`,
      );
  }
  block.annotations = wireAnnotations(c.annotations);
  block.metaJson = encodeObject("_meta of content", c._meta);
  return block;
}

export function wireRole(role: Role): WireRole {
  return role === "user" ? WireRole.ROLE_USER : WireRole.ROLE_ASSISTANT;
}

export function roleOf(role: WireRole): Role {
  return role === WireRole.ROLE_USER ? "user" : "assistant";
}

export function wireIcons(icons: Icon[] = []): WireIcon[] {
  return icons.map((icon) => WireIcon.fromPartial(icon));
}

export function wireAnnotations(a: Annotations | undefined): WireAnnotations | undefined {
  return a && WireAnnotations.fromPartial({ ...a, audience: a.audience?.map(wireRole) });
}

/** What resources and templates have in common. */
export function described(r: Omit<Resource, "uri">) {
  const { name, title = "", description = "", mimeType = "" } = r;
  const metaJson = encodeObject("_meta of a resource", r._meta);
  return {
    name,
    title,
    description,
    mimeType,
    annotations: wireAnnotations(r.annotations),
    icons: wireIcons(r.icons),
    metaJson,
  };
}

export function wireResource(r: Resource): WireResource {
  return { ...described(r), uri: r.uri, size: r.size === undefined ? undefined : BigInt(r.size) };
}

/** Contents, with what is said of them elsewhere where they do not say it themselves. */
export function wireContents(c: ResourceContents, uri = "", mimeType = ""): WireContents {
  const body = "text" in c ? { text: c.text } : { blob: Buffer.from(c.blob) };
  const metaJson = encodeObject("_meta of resource contents", c._meta);
  return WireContents.fromPartial({ uri: c.uri || uri, mimeType: c.mimeType || mimeType, ...body, metaJson });
}
