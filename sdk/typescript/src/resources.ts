import { isUtf8 } from "node:buffer";
import type { Call } from "./call.js";
import { checkCompleters, type Completers } from "./completion.js";
import * as content from "./content.js";
import { type Awaitable, Failure, mustBeFunction, noResource, quote } from "./failure.js";
import { Resource as WireResource, ResourceContents as WireContents } from "./gen/mcpedge/v1/content.js";
import { type ReadResourceResult, ResourceTemplate } from "./gen/mcpedge/v1/resources.js";
import type { Entry, Work } from "./registry.js";
import { UriTemplate } from "./template.js";

/**
 * What was read. A string is text; bytes are text when they are valid UTF-8 and the MIME type does not deny it, else binary;
 * both under the URI that was read. Nothing is NOT_FOUND.
 */
export type ReadOutput = string | content.Bytes | content.ResourceContents | content.ResourceContents[] | undefined;

export type ReadHandler = (uri: string, call: Call) => Awaitable<ReadOutput>;
/** It gets the variables of the URI, decoded. */
export type TemplateHandler = (uri: string, variables: Record<string, string>, call: Call) => Awaitable<ReadOutput>;
export type ResourceOptions = content.ResourceConfig & { size?: number | bigint };
export type TemplateOptions = content.ResourceConfig & { complete?: Completers };

export type Read = Work<{ uri: string }, ReadResourceResult>;
export type ResourceEntry = Entry<WireResource, { uri: string }, ReadResourceResult>;
export type TemplateEntry = Read & { listed: ResourceTemplate; template: UriTemplate; completers: Completers };

export function buildResource(name: string, uri: string, config: ResourceOptions, handler: ReadHandler): ResourceEntry {
  const owner = `resource ${JSON.stringify(name)} at ${JSON.stringify(uri)}`;
  if (!name || !URL.canParse(uri)) throw new TypeError(`${owner}: a name and an absolute URI are required`);
  mustBeFunction(owner, handler);
  return { listed: content.wireResource({ ...config, name, uri }), handle: readBy(handler, config.mimeType) };
}

export function buildTemplate(
  name: string,
  uriTemplate: string,
  { complete: completers = {}, ...said }: TemplateOptions,
  handler: TemplateHandler,
): TemplateEntry {
  const owner = `resource template ${JSON.stringify(name)}`;
  if (!name) throw new TypeError(`resource template ${JSON.stringify(uriTemplate)}: a name is required`);
  mustBeFunction(owner, handler);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(uriTemplate)) {
    throw new TypeError(`${owner}: ${JSON.stringify(uriTemplate)} must begin with a scheme, as notes://{id} does`);
  }
  const template = new UriTemplate(uriTemplate);
  checkCompleters(owner, completers, template.variables);
  const listed = ResourceTemplate.fromPartial({ ...content.described(owner, said), name, uriTemplate });
  const handle = readBy((uri, call) => handler(uri, template.match(uri) ?? {}, call), said.mimeType);
  return { listed, template, completers, handle };
}

/** Makes reads of a handler, with the MIME type of what does not say its own. */
export function readBy(handler: ReadHandler, mimeType?: string): Read["handle"] {
  return async ({ uri }, call) => {
    const contents = contentsOf(uri, mimeType, await reading(uri, () => handler(uri, call)));
    return { contents, metaJson: "", cache: undefined };
  };
}

/** Gives the errors of files their reasons. */
export async function reading<T>(uri: string, read: () => Awaitable<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") throw noResource(uri);
    if (code === "EACCES" || code === "EPERM") {
      throw new Failure("PermissionDenied", `resource ${quote(uri)} may not be read`);
    }
    throw error;
  }
}

/** The answer to a read, complete. */
function contentsOf(uri: string, mimeType: string | undefined, out: ReadOutput): WireContents[] {
  if (typeof out === "string") out = { text: out };
  if (out instanceof Uint8Array) out = bytesContents(out, mimeType);
  const all = out === undefined ? [] : Array.isArray(out) ? out : [out];
  if (all.length === 0) throw noResource(uri);
  return all.map((contents) => {
    if (!("text" in contents) && !("blob" in contents)) {
      throw new Failure("Internal", `the read of ${quote(uri)} returned contents without text or blob`);
    }
    return content.wireContents(contents, uri, mimeType);
  });
}

/** Text when the bytes are valid UTF-8 and the MIME type does not deny it, else a blob. */
export function bytesContents(data: content.Bytes, mimeType = ""): content.ResourceContents {
  if (binaryType(mimeType) || !isUtf8(data)) return { blob: data, mimeType };
  return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(data), mimeType };
}

/** Whether contents of a MIME type are never text, whatever their bytes. */
function binaryType(mimeType: string): boolean {
  if (/\+(xml|json)$/.test(mimeType)) return false;
  return /^(image|audio|video|font)\/|^application\/(octet-stream|pdf|zip|gzip|wasm)$/.test(mimeType);
}
