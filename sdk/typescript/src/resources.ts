import { isUtf8 } from "node:buffer";
import type { Call } from "./call.js";
import { checkCompleters, completables, type Completers, enumerated } from "./completion.js";
import * as content from "./content.js";
import { type Awaitable, encodeObject, Failure, mustBeFunction, noResource, quote } from "./failure.js";
import type { Resource as WireResource } from "./gen/mcpedge/v1/content.js";
import { type ReadResourceResult as WireResult, ResourceTemplate } from "./gen/mcpedge/v1/resources.js";
import { type Official, strayMember, wrongType } from "./official.js";
import { mustKnow, type Names, quoted } from "./options.js";
import type { Entry, Work } from "./registry.js";
import { type JsonSchema, type MaybeSchema, objectSchema, type Schema, valid } from "./schema.js";
import { UriTemplate } from "./template.js";
import type { Bytes } from "./types.js";

/** A complete result of a read, as in the official SDK. MCP: ReadResourceResult. */
export interface ReadResourceResult {
  contents: content.ResourceContents[];
  _meta?: object;
}

/**
 * The return value of a read. A string is text; bytes are text if they are valid UTF-8 and the MIME type permits it, else binary;
 * both under the URI that was read. null and undefined mean NOT_FOUND.
 */
export type ReadOutput =
  string | Bytes | content.ResourceContents | content.ResourceContents[] | ReadResourceResult | null | undefined;

export type ReadHandler = (uri: string, call: Call) => Awaitable<ReadOutput>;
/**
 * The variables of a URI, decoded: as the variablesSchema has them, or strings by the names in the template T. A variable that a
 * URI leaves out is absent.
 */
export type Variables<V, T extends string = string> =
  V extends Schema<any, infer Output> ? Output : string extends T ? Record<string, string> : Named<T>;
export type TemplateHandler<V, T extends string = string> = (
  uri: string,
  variables: Variables<V, T>,
  call: Call,
) => Awaitable<ReadOutput>;

/** The variables of each expression of a template. Those after an operator are optional in a URI. */
type Named<T extends string> = T extends `${infer _}{${infer Expression}}${infer Rest}`
  ? InExpression<Expression> & Named<Rest>
  : {};
type InExpression<E extends string> = E extends `+${infer Names}` | `#${infer Names}`
  ? { [N in NamesOf<Names>]: string }
  : E extends `${"?" | "&" | ";" | "/" | "."}${infer Names}`
    ? { [N in NamesOf<Names>]?: string }
    : { [N in NamesOf<E>]: string };
type NamesOf<List extends string> = List extends `${infer First},${infer Rest}`
  ? Bare<First> | NamesOf<Rest>
  : Bare<List>;
/** A name without its modifier: * or : and a length. */
type Bare<Name extends string> = Name extends `${infer N}*` ? N : Name extends `${infer N}:${infer _}` ? N : Name;
export type ResourceOptions = content.ResourceConfig & { size?: number | bigint };
export type TemplateOptions<V extends MaybeSchema = undefined> = content.ResourceConfig & {
  /**
   * An object of strings and enums, one for each variable; those that are not optional must be in a URI. A URI that it refuses is
   * NOT_FOUND. Absent: any strings.
   */
  variablesSchema?: V;
  /** Suggestions for variables. An enum suggests its values by itself. */
  complete?: Completers;
};

const options: Names<content.ResourceConfig> = {
  title: true,
  description: true,
  icons: true,
  _meta: true,
  annotations: true,
  mimeType: true,
};

export type Read = Work<{ uri: string }, WireResult>;
export type ResourceEntry = Entry<WireResource, { uri: string }, WireResult>;
export type TemplateEntry = Read & { listed: ResourceTemplate; template: UriTemplate; completers: Completers };

const templated = 'a template has server.registerResourceTemplate("…", "notes://{id}", …)';

export function buildResource(name: string, uri: string, config: ResourceOptions, handler: ReadHandler): ResourceEntry {
  const owner = `resource ${JSON.stringify(name)} at ${JSON.stringify(uri)}`;
  if (typeof uri !== "string") throw new TypeError(`resource ${name}: its URI is a string: ${templated}`);
  if (!name || !URL.canParse(uri)) throw new TypeError(`${owner}: a name and an absolute URI are required`);
  if (/[{}]/.test(uri)) throw new TypeError(`${owner}: a URI has no braces: ${templated}`);
  mustKnow(owner, config, { ...options, size: true });
  mustBeFunction(owner, handler);
  return { listed: content.wireResource({ ...config, name, uri }), handle: readBy(handler, config.mimeType) };
}

export function buildTemplate<V extends MaybeSchema, T extends string>(
  name: string,
  uriTemplate: T,
  config: TemplateOptions<V>,
  handler: TemplateHandler<V, T>,
): TemplateEntry {
  const owner = `resource template ${JSON.stringify(name)}`;
  if (!name) throw new TypeError(`resource template ${JSON.stringify(uriTemplate)}: a name is required`);
  mustKnow(owner, config, { ...options, complete: true, variablesSchema: true });
  mustBeFunction(owner, handler);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(uriTemplate)) {
    throw new TypeError(`${owner}: ${JSON.stringify(uriTemplate)} must begin with a scheme, as notes://{id} does`);
  }
  const { complete = {}, variablesSchema, ...said } = config;
  const template = new UriTemplate(uriTemplate);
  checkCompleters(owner, complete, template.variables);
  const known = variablesSchema && variablesOf(owner, variablesSchema, template);
  const listed = ResourceTemplate.fromPartial({ ...content.described(owner, said), name, uriTemplate });
  const read = async (uri: string, call: Call) => {
    const found: unknown = template.match(uri) ?? {};
    const values = variablesSchema ? await valid(variablesSchema, found, () => noResource(uri)) : found;
    return handler(uri, values as Variables<V, T>, call);
  };
  const completers = { ...(known && enumerated(known)), ...completables(variablesSchema), ...complete };
  return { listed, template, completers, handle: readBy(read, said.mimeType) };
}

/** The JSON Schema of a template's variables. Throws unless it has each of them, as a string. */
function variablesOf(owner: string, schema: Schema<any, any>, { variables }: UriTemplate): JsonSchema {
  const json = objectSchema(`${owner}, variablesSchema`, schema, "input");
  const properties = json.properties ?? {};
  const odd = [...variables, ...Object.keys(properties)].find(
    (name) => !variables.includes(name) || properties[name]?.type !== "string",
  );
  if (odd === undefined) return json;
  const has = `the template has the variables ${quoted(variables)}`;
  throw new TypeError(
    `${owner}: its variablesSchema must have each variable as a string or an enum, unlike ${quote(odd)}: ${has}`,
  );
}

/** readBy makes reads of a handler. mimeType is the default for contents. */
export function readBy(handler: ReadHandler, mimeType?: string): Read["handle"] {
  return async ({ uri }, call) => {
    const { contents, _meta } = wholeOf(uri, mimeType, await reading(uri, () => handler(uri, call)));
    if (contents.length === 0) throw noResource(uri);
    const metaJson = encodeObject(`_meta of the read of ${quote(uri)}`, _meta);
    return { contents: contents.map((c) => content.wireContents(c, uri, mimeType)), metaJson, cache: undefined };
  };
}

/** Converts errors of files to failures with a reason. */
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

/** wholeOf converts a handler's return value to a complete result. Throws, with the URI, if it cannot. */
function wholeOf(uri: string, mimeType: string | undefined, out: ReadOutput): ReadResourceResult {
  if (out === undefined || out === null) return { contents: [] };
  if (typeof out === "string") return { contents: [{ text: out }] };
  if (out instanceof Uint8Array) return { contents: [bytesContents(out, mimeType)] };
  if (typeof out !== "object" || !("contents" in out)) return { contents: [out].flat() };
  const value = "return a string, bytes, { text: … } or { blob: … }";
  const whole: Official = { result: "a read", owner: `the read of ${quote(uri)}`, value, out };
  strayMember(whole, ["contents", "_meta"]);
  wrongType(whole, "contents", "a list, as [{ uri, text: … }]", Array.isArray(out.contents));
  return out;
}

/** Returns contents of bytes: text if they are valid UTF-8 and the MIME type permits it, else a blob. */
export function bytesContents(data: Bytes, mimeType = ""): content.ResourceContents {
  if (binaryType(mimeType) || !isUtf8(data)) return { blob: data, mimeType };
  return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(data), mimeType };
}

/** Returns whether contents of a MIME type are never text. */
function binaryType(mimeType: string): boolean {
  if (/\+(xml|json)$/.test(mimeType)) return false;
  return /^(image|audio|video|font)\/|^application\/(octet-stream|pdf|zip|gzip|wasm)$/.test(mimeType);
}
