import * as wire from "./gen/mcpedge/v1/common.js";
import { ContentBlock, Resource as WireResource, ResourceContents as WireContents } from "./gen/mcpedge/v1/content.js";
import { encodeObject, Failure } from "./failure.js";
import { quoted } from "./options.js";
import { unlessThrown } from "./schema.js";
import type { Annotations, Encoded, Icon, Role } from "./types.js";

/** Members that MCP and the contract represent differently. */
interface Extras {
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: object;
}

/** Common members of all listed objects. */
export type Shown = Omit<Extras, "annotations"> & { title?: string; description?: string };

/** Members of a resource, or of all resources of a template. */
export type ResourceConfig = Shown & Pick<Extras, "annotations"> & { mimeType?: string };

/** A readable object, at an absolute URI; the size is in bytes. MCP: Resource. */
export type Resource = ResourceConfig & { uri: string; name: string; size?: number | bigint };

/**
 * Contents: text or a blob. For a read, the URI that was read and the MIME type of the resource are filled in. MCP:
 * TextResourceContents, BlobResourceContents.
 */
export type ResourceContents = { uri?: string; mimeType?: string; _meta?: object } & (
  { text: string } | { blob: Encoded }
);

/**
 * The common part of content and of messages to a model. "raw" is a complete block with its own `type`, sent unchanged.
 */
export type BasicContent<Data = Encoded> = Omit<Extras, "icons"> &
  (
    | { type: "text"; text: string }
    | { type: "image"; data: Data; mimeType: string }
    | { type: "audio"; data: Data; mimeType: string }
    | { type: "raw"; block: { type: string } }
  );

/** One piece of a result or of a message. MCP: ContentBlock. */
export type Content =
  | BasicContent
  | ({ type: "resource_link" } & Resource)
  | { type: "resource"; resource: ResourceContents & { uri: string }; annotations?: Annotations; _meta?: object };

/** Plain text content. */
export const text = (text: string): Content => ({ type: "text", text });

/** An image: its bytes and MIME type. */
export const image = (data: Encoded, mimeType: string): Content => ({ type: "image", data, mimeType });

/** Audio: its bytes and MIME type. */
export const audio = (data: Encoded, mimeType: string): Content => ({ type: "audio", data, mimeType });

/** A link to a resource that the client may read. */
export const link = (resource: Resource): Content => ({ type: "resource_link", ...resource });

/** Embeds a resource's contents. */
export const embed = (resource: ResourceContents & { uri: string }): Content => ({ type: "resource", resource });

const kinds = ["text", "image", "audio", "resource_link", "resource", "raw"];

export function isContent(value: unknown): value is Content {
  return typeof value === "object" && value !== null && "type" in value && kinds.includes(value.type as string);
}

/** wireContent converts content. Throws a Failure if it is invalid. */
export function wireContent(c: Content): ContentBlock {
  if (!isContent(c)) throw new Failure("Internal", `content has a type, one of ${quoted(kinds)}, unlike ${shown(c)}`);
  if (c.type === "raw") return ContentBlock.fromPartial({ rawJson: encodeObject("a raw content block", c.block) });
  // Annotations and _meta of a link are its resource's.
  if (c.type === "resource_link") {
    mustHave(c, "uri", c.uri);
    mustHave(c, "name", c.name);
    return ContentBlock.fromPartial({ resourceLink: wireResource(c) });
  }
  return ContentBlock.fromPartial({ ...described("content", c), [c.type]: bodyOf(c) });
}

function bodyOf(c: Exclude<Content, { type: "raw" | "resource_link" }>): object {
  if (c.type === "resource") {
    mustHave(c, "resource.uri", c.resource?.uri);
    return wireContents(c.resource);
  }
  if (c.type === "text") {
    mustHave(c, "text", c.text, true);
    return c;
  }
  mustHave(c, "mimeType", c.mimeType);
  return { ...c, data: decoded(`the data of content of the type ${c.type}`, c.data) };
}

/** mustHave throws unless a member of content is a text that is not empty. */
function mustHave(c: Content, member: string, value: unknown, mayBeEmpty = false): void {
  if (typeof value === "string" && (value || mayBeEmpty)) return;
  throw new Failure("Internal", `content of the type ${c.type} has a ${member}, unlike ${shown(c)}`);
}

/** Returns bytes, decoded if they are base64. Throws a Failure if a text is not base64. */
export function decoded(what: string, data: Encoded): Buffer {
  if (data instanceof Uint8Array) return Buffer.from(data);
  if (typeof data === "string" && isBase64(data)) return Buffer.from(data, "base64");
  throw new Failure("Internal", `${what} is a Buffer, or base64, not ${shown(data)}`);
}

/** Returns whether a text is padded base64. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** Returns the beginning of a value, for an error. */
function shown(value: unknown): string {
  return String(unlessThrown(() => JSON.stringify(value))).slice(0, 80);
}

/** Converts a role to that of the contract. Throws a Failure for an unknown one. */
export function wireRole(role: Role): wire.Role {
  if (role !== "user" && role !== "assistant") {
    throw new Failure("Internal", `a role is "user" or "assistant", not ${shown(role)}`);
  }
  return role === "user" ? wire.Role.ROLE_USER : wire.Role.ROLE_ASSISTANT;
}

/** Returns an object of MCP with its annotations and `_meta` in the form of the contract. */
export function described<T extends Extras>(owner: string, object: T) {
  const { annotations: a, _meta, ...rest } = object;
  if (a?.audience !== undefined && !Array.isArray(a.audience)) {
    throw new Failure(
      "Internal",
      `annotations of ${owner}: the audience is a list, as ["user"], not ${shown(a.audience)}`,
    );
  }
  const annotations = a && { ...a, audience: a.audience?.map(wireRole) };
  return { ...rest, annotations, metaJson: encodeObject(`_meta of ${owner}`, _meta) };
}

export function wireResource(r: Resource): WireResource {
  return WireResource.fromPartial({ ...described("a resource", r), size: r.size && BigInt(r.size) });
}

/** wireContents converts contents; uri and mimeType are defaults. Throws a Failure if they are invalid. */
export function wireContents(c: ResourceContents, uri = "", mimeType = ""): WireContents {
  if (!isContents(c)) {
    throw new Failure("Internal", `contents of a resource have either a text or a blob, unlike ${shown(c)}`);
  }
  const body = "blob" in c ? { blob: decoded("the blob of contents", c.blob) } : { text: c.text };
  const metaJson = encodeObject("_meta of resource contents", c._meta);
  return WireContents.fromPartial({ uri: c.uri || uri, mimeType: c.mimeType || mimeType, ...body, metaJson });
}

function isContents(c: ResourceContents): boolean {
  const { text, blob } = (c ?? {}) as { text?: unknown; blob?: unknown };
  return text === undefined ? blob !== undefined : blob === undefined && typeof text === "string";
}
