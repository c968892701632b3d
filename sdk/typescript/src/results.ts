import { type Content, isContent, text, wireContent } from "./content.js";
import { encodedAs, encodeObject, Failure } from "./failure.js";
import { CallToolResult as WireResult } from "./gen/mcpedge/v1/tools.js";
import { type Official, strayMember, wrongType } from "./official.js";
import { mustKnow } from "./options.js";
import type { Schema } from "./schema.js";
import * as schemas from "./schema.js";

interface Parts<S> {
  /** May be absent: with structured content the edge then adds its serialization as text. */
  content?: Content[];
  /** Any JSON value, or a RawJson. */
  structuredContent?: S;
  /** Marks a failure that the model should see. */
  isError?: boolean;
  _meta?: object;
}

/** A complete result of a tool, as in the official SDK. MCP: CallToolResult. */
export type CallToolResult<S = unknown> = Parts<S> & ({ content: Content[] } | { structuredContent: S });

/** A complete result of a tool, also if its members are those of the output schema. */
export class Result {
  constructor(readonly parts: Parts<unknown>) {
    mustKnow("a Result", parts, { content: true, structuredContent: true, isError: true, _meta: true });
  }
}

/** Structured content without a schema: any JSON value. Throws for undefined. */
export function structured(value: unknown): Result {
  if (value === undefined) {
    throw new Failure(
      "Internal",
      "structured(undefined) has no value: give null, or return nothing for an empty result",
    );
  }
  return new Result({ structuredContent: value });
}

/** A failure that the model sees and can act on. */
export function errorResult(message: string): Result {
  return new Result({ content: [text(message)], isError: true });
}

/** The output of a tool: its schema, and the names of its members. */
export interface Output {
  schema: Schema<any, any>;
  members: string[];
  /** Whether it permits members of any name, as a record does. */
  open: boolean;
}

export function outputOf(schema: Schema<any, any>, made: schemas.JsonSchema): Output {
  return { schema, members: membersOf(made), open: (made.additionalProperties ?? false) !== false };
}

/** Returns the names of a schema's members, in any of its branches. */
function membersOf({ properties = {}, ...rest }: schemas.JsonSchema): string[] {
  const branches = ["anyOf", "oneOf", "allOf"].flatMap((keyword) => (rest[keyword] ?? []) as schemas.JsonSchema[]);
  return [...Object.keys(properties), ...branches.flatMap(membersOf)];
}

/** toolResult converts a handler's return value. Throws a Failure, with the tool's name, if it is not a result. */
export async function toolResult(owner: string, out: unknown, output: Output | undefined): Promise<WireResult> {
  const { content = [], structuredContent: value, isError = false, _meta } = partsOf(owner, out, output);
  if (output && value === undefined && !isError) {
    const members = "{ content: […], structuredContent: {…} }";
    throw new Failure("Internal", `${owner} has an output schema, and gave no structured content: return ${members}`);
  }
  return WireResult.fromPartial({
    content: content.map(wireContent),
    structuredContentJson: value === undefined ? "" : await structuredJson(value, isError ? undefined : output?.schema),
    isError,
    metaJson: encodeObject("_meta of a result", _meta),
  });
}

/** partsOf completes a handler's return value. With an output schema, a value that is no result of MCP is structured content. */
function partsOf(owner: string, out: unknown, output: Output | undefined): Parts<unknown> {
  if (out instanceof Result) return out.parts;
  if (isOfficial(out, output)) return official(owner, out);
  if (output) return { structuredContent: out ?? null };
  if (typeof out === "string") return { content: [text(out)] };
  if (isContent(out)) return { content: [out] };
  if (out === undefined || out === null) return {};
  if (!Array.isArray(out)) throw new Failure("Internal", `${owner} returned ${kindOf(out)}`);
  if (out.every(isContent)) return { content: out };
  throw new Failure(
    "Internal",
    `${owner} returned a list that is not all content: ${out.some(isContent) ? textEach : asValue}`,
  );
}

const asValue = "for a value have an outputSchema, or return structured(…)";
const textEach = 'write text("…") for each text';

/** kindOf describes a return value that cannot be a result, and what to write instead. */
function kindOf(out: {}): string {
  if (out instanceof Uint8Array) return "bytes: return image(data, mimeType), audio(…) or embed({ uri, blob })";
  if (out instanceof Error) return "an error: throw it";
  if (typeof out === "object") return `an object that is no result: ${asValue}`;
  return `a ${typeof out}: return a string, as String(…); ${asValue}`;
}

const members = ["content", "structuredContent", "isError", "_meta"];

/**
 * Whether an object is meant as a result of MCP: it has a member of one that neither the output schema nor content has. Where the schema
 * takes any name, "content" is one if it is content, and "_meta" is none.
 */
function isOfficial(out: unknown, output: Output | undefined): out is object {
  if (typeof out !== "object" || out === null || Array.isArray(out)) return false;
  const others = [...(output?.members ?? []), ...(isContent(out) || output?.open ? ["_meta"] : [])];
  if (output?.open && !isBlocks((out as Parts<unknown>).content)) others.push("content");
  return members.some((name) => Object.hasOwn(out, name) && !others.includes(name));
}

const isBlocks = (given: unknown) => Array.isArray(given) && given.length > 0 && given.every(isContent);

/** Returns a result of MCP unchanged. Throws if it is invalid. */
function official(owner: string, out: Parts<unknown>): Parts<unknown> {
  const value = "return structured({…}), or have an outputSchema with all of its members";
  const whole: Official = { result: "a tool", owner, value, out };
  strayMember(whole, members);
  const { content, isError, _meta } = out;
  const blocks = 'a list of content, as [{ type: "text", text: "…" }]';
  wrongType(whole, "content", blocks, content === undefined || (Array.isArray(content) && content.every(isContent)));
  wrongType(whole, "isError", "true or false", isError === undefined || typeof isError === "boolean");
  wrongType(whole, "_meta", "an object", _meta === undefined || (typeof _meta === "object" && _meta !== null));
  return out;
}

async function structuredJson(value: unknown, schema: Schema<any, any> | undefined): Promise<string> {
  const misfit = (why: string) => new Failure("Internal", `the result does not fit the tool's output schema: ${why}`);
  const valid: unknown = schema ? await schemas.valid(schema, value, misfit) : value;
  return encodedAs("the result cannot be encoded", valid);
}
