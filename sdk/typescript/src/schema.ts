import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { Failure, messageOf } from "./failure.js";

/**
 * A schema of a library that implements Standard Schema and Standard JSON Schema (standardschema.dev): zod 4.2 and later do,
 * and others.
 */
export interface Schema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

export type MaybeSchema = Schema<any, any> | undefined;

/** The output type of a schema. */
export type Infer<S> = S extends Schema<any, infer Output> ? Output : never;
/** The input type of a schema. */
export type InferInput<S> = S extends Schema<infer Input, any> ? Input : never;

export interface JsonSchema {
  type?: string | string[];
  $defs?: Record<string, JsonSchema>;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  [keyword: string]: unknown;
}

/**
 * jsonSchema returns the JSON Schema 2020-12 of a schema's input or output. Throws, with the owner's name, if the schema has
 * none.
 */
export function jsonSchema(owner: string, schema: Schema, direction: "input" | "output"): JsonSchema {
  const convert = schema?.["~standard"]?.jsonSchema?.[direction];
  if (typeof convert !== "function") {
    throw new TypeError(`${owner}: ${notSchema(schema)}`);
  }
  try {
    const { $schema: _, $defs = {}, ...root } = converted(schema, direction);
    return inlined(root, { ...$defs, "#": root }, ["#"]);
  } catch (error) {
    const path = unconvertible(schema, direction)?.join(".");
    const why = messageOf(error);
    const advice = instead.find(([words]) => why.startsWith(words))?.[direction === "input" ? 1 : 2];
    const what = `${path ? JSON.stringify(path) : "its schema"} makes no JSON Schema: ${why}`;
    throw new TypeError(`${owner}: ${what}${advice ? `: ${advice}` : ""}`);
  }
}

/** Returns the JSON Schema that the schema's library generates. Throws if it generates none, or one of a file, which JSON does not have. */
function converted(schema: Schema, direction: "input" | "output"): JsonSchema {
  const made = schema["~standard"].jsonSchema[direction]({ target: "draft-2020-12" }) as JsonSchema;
  JSON.stringify(made, (_, part) => {
    if (part?.format === "binary" && part.contentEncoding === "binary") throw new Error("a File is no JSON");
    return part;
  });
  return made;
}

/** What to write in an input and in an output, by the first words of the error of a schema without JSON Schema. */
const instead: [words: string, input: string, output: string][] = [
  [
    "Date ",
    "write z.iso.datetime().transform((text) => new Date(text))",
    "write z.iso.datetime(), and return date.toISOString()",
  ],
  ["BigInt ", "write z.int(), or z.string() above 2^53", "write z.int(), or z.string() above 2^53"],
  ["Map ", "write z.record(z.string(), …)", "write z.record(z.string(), …)"],
  ["Set ", "write z.array(…)", "write z.array(…)"],
  [
    "Custom types ",
    "write z.string().refine(…), bytes() for a file, or what else the value is in JSON",
    "write what the value is in JSON, as z.object({…})",
  ],
  ["Transforms ", "transform it in the handler", "transform it in the handler"],
  ["a File ", "write bytes() of @mcpedge/capability/zod", "return content, as embed({ uri, blob })"],
];

/** Returns the path of the member for which zod generates no JSON Schema; an empty path for the schema itself. */
function unconvertible(schema: Schema, direction: "input" | "output", seen = new Set<Schema>()): string[] | undefined {
  if (seen.has(schema) || unlessThrown(() => converted(schema, direction))) return undefined;
  seen.add(schema);
  const { shape, options, unwrap } = schema as { shape?: object; options?: Schema[]; unwrap?: () => Schema };
  const unnamed = Array.isArray(options) ? options : typeof unwrap === "function" ? [unwrap.call(schema)] : [];
  const parts: [string[], Schema][] = [
    ...Object.entries(shape ?? {}).map(([name, member]): [string[], Schema] => [[name], member]),
    ...unnamed.map((part): [string[], Schema] => [[], part]),
  ];
  if (parts.length === 0) return [];
  const found = parts.map(([name, part]) => [name, unconvertible(part, direction, seen)] as const);
  const [name, rest] = found.find(([, rest]) => rest) ?? [];
  return name && rest ? [...name, ...rest] : undefined;
}

/** notSchema explains why a value is not a schema, and what to write instead. */
function notSchema(given: unknown): string {
  const members = typeof given === "object" && given !== null ? Object.values(given) : [];
  const shape =
    members.length > 0 && members.every((m: unknown) => m !== null && typeof m === "object" && "~standard" in m);
  if (shape) return "this is the shape of an object: wrap it in z.object({…})";
  if (typeof given === "object" && given !== null && ("type" in given || "$schema" in given)) {
    return "this is a JSON Schema: use one of zod 4.2 or later, such as z.object({…}), or registerRawTool, which takes its text";
  }
  return "its schema has no JSON Schema: use one of zod 4.2 or later, such as z.object({…})";
}

/**
 * inlined writes out the references of a schema, for clients that support none. A recursive object becomes any object, another
 * recursive schema any value.
 */
function inlined(schema: JsonSchema, named: Record<string, JsonSchema>, within: string[]): JsonSchema {
  const text = JSON.stringify(schema, (_, value) => {
    const name = String(value?.$ref).replace("#/$defs/", "");
    const target = named[name];
    if (!target) return value;
    const { $ref: _ref, ...said } = value;
    const any = { ...(target.type === "object" && { type: "object" }), description: "as the one above that holds it" };
    return { ...(within.includes(name) ? any : inlined(target, named, [...within, name])), ...said };
  });
  return JSON.parse(text);
}

/** objectSchema is jsonSchema for objects. */
export function objectSchema(owner: string, schema: Schema, direction: "input" | "output"): JsonSchema {
  const made = jsonSchema(owner, schema, direction);
  const type = made.type ?? "a union";
  if (type !== "object")
    throw new TypeError(`${owner}: its schema must be of an object, not of ${type}: wrap it in z.object({…})`);
  return { properties: {}, ...made };
}

/** schemaText returns a JSON Schema as text; a text is kept verbatim. Throws unless it is a JSON object. */
export function schemaText(owner: string, given: string | object): string {
  const text = typeof given === "string" ? given : String(JSON.stringify(given));
  if (!text.trimStart().startsWith("{") || parsed(text) === undefined) {
    throw new TypeError(`${owner} must be a JSON object, not ${JSON.stringify(text.slice(0, 80))}`);
  }
  return text;
}

/** parsed returns the value of a JSON text; undefined if it is not JSON. */
export function parsed(text: string): unknown {
  return unlessThrown(() => JSON.parse(text));
}

/** unlessThrown returns the value of read; undefined if that throws. */
export function unlessThrown<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** valid returns the output of the schema for a value. Throws the error that misfit creates from the issues. */
export async function valid<S extends Schema<any, any>>(
  schema: S,
  value: unknown,
  misfit: (issues: string) => Error,
): Promise<Infer<S>> {
  const result = await schema["~standard"].validate(value);
  if (result.issues) throw misfit(result.issues.map(issueText).join("; "));
  return result.value;
}

function issueText(issue: StandardSchemaV1.Issue): string {
  const path = issue.path?.map((p) => String(typeof p === "object" ? p.key : p)).join(".");
  return path ? `${JSON.stringify(path)}: ${issue.message}` : issue.message;
}

/** Validates the arguments of a tool or a prompt. Throws InvalidArgument. */
export function validArguments<S extends Schema<any, any>>(schema: S, given: unknown): Promise<Infer<S>> {
  return valid(schema, given, (issues) => new Failure("InvalidArgument", `the arguments do not fit: ${issues}`));
}
