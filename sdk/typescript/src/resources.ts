import type { Call } from "./call.js";
import { checkCompleters, type Completers } from "./completion.js";
import {
  type Annotations,
  type Bytes,
  described,
  type Icon,
  type ResourceContents,
  wireContents,
  wireResource,
} from "./content.js";
import { Failure, noResource, quote } from "./failure.js";
import { Resource as WireResource, ResourceContents as WireContents } from "./gen/mcpedge/v1/content.js";
import { ResourceTemplate } from "./gen/mcpedge/v1/resources.js";
import { UriTemplate } from "./template.js";

/** What is known of a resource, or of all that a template describes. */
export interface ResourceConfig {
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Annotations;
  icons?: Icon[];
  _meta?: object;
}

/**
 * What was read. A string is text; bytes are text when they are valid UTF-8 and the MIME type does not deny it, else binary;
 * both under the URI that was read. Nothing is NOT_FOUND.
 */
export type ReadOutput = string | Bytes | ResourceContents | ResourceContents[] | undefined;

export type Read = (uri: string, call: Call) => Promise<WireContents[]>;

export interface ResourceEntry {
  listed: WireResource;
  read: Read;
}

export interface TemplateEntry {
  listed: ResourceTemplate;
  template: UriTemplate;
  completers: Completers;
  read: Read;
}

export function buildResource(
  name: string,
  uri: string,
  config: ResourceConfig & { size?: number | bigint },
  read: (uri: string, call: Call) => ReadOutput | Promise<ReadOutput>,
): ResourceEntry {
  if (!name || !URL.canParse(uri)) {
    throw new TypeError(
      `resource ${JSON.stringify(name)} at ${JSON.stringify(uri)}: a name and an absolute URI are required`,
    );
  }
  const { mimeType } = config;
  return {
    listed: wireResource({ ...config, name, uri }),
    read: async (uri, call) => contentsOf(uri, mimeType, await reading(uri, () => read(uri, call))),
  };
}

export function buildTemplate(
  name: string,
  uriTemplate: string,
  config: ResourceConfig & { complete?: Completers },
  read: (uri: string, variables: Record<string, string>, call: Call) => ReadOutput | Promise<ReadOutput>,
): TemplateEntry {
  const { complete: completers = {}, mimeType } = config;
  const owner = `resource template ${JSON.stringify(name)}`;
  if (!name) throw new TypeError(`resource template ${JSON.stringify(uriTemplate)}: a name is required`);
  const template = new UriTemplate(uriTemplate);
  checkCompleters(owner, completers, template.variables);
  return {
    listed: { ...described({ ...config, name }), uriTemplate },
    template,
    completers,
    read: async (uri, call) =>
      contentsOf(uri, mimeType, await reading(uri, () => read(uri, template.match(uri) ?? {}, call))),
  };
}

/** Gives the errors of files their reasons. */
export async function reading<T>(uri: string, read: () => T | Promise<T>): Promise<T> {
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
export function contentsOf(uri: string, mimeType: string | undefined, out: ReadOutput): WireContents[] {
  if (typeof out === "string") out = { text: out };
  if (out instanceof Uint8Array) out = bytesContents(out, mimeType);
  const all = out === undefined ? [] : Array.isArray(out) ? out : [out];
  if (all.length === 0) throw noResource(uri);
  return all.map((contents) => {
    if (!("text" in contents) && !("blob" in contents)) {
      throw new Failure("Internal", `the read of ${quote(uri)} returned contents without text or blob`);
    }
    return wireContents(contents, uri, mimeType);
  });
}

/** Text when the bytes are valid UTF-8 and the MIME type does not deny it, else a blob. */
export function bytesContents(data: Bytes, mimeType = ""): ResourceContents {
  if (binaryType(mimeType)) return { blob: data, mimeType };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data), mimeType };
  } catch {
    return { blob: data, mimeType };
  }
}

/** Whether contents of a MIME type are never text, whatever their bytes. */
function binaryType(mimeType: string): boolean {
  if (/\+(xml|json)$/.test(mimeType)) return false;
  return /^(image|audio|video|font)\/|^application\/(octet-stream|pdf|zip|gzip|wasm)$/.test(mimeType);
}
