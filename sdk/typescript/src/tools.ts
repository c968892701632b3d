import { wireDuration } from "./answers.js";
import type { Call } from "./call.js";
import { type Content, described, isContent, type Shown, text, wireContent } from "./content.js";
import { type Awaitable, encodeJson, encodeObject, Failure, messageOf, mustBeFunction } from "./failure.js";
import { TaskMode, TaskStart, Tool } from "./gen/mcpedge/v1/input.js";
import { CallToolResult } from "./gen/mcpedge/v1/tools.js";
import type { Entry } from "./registry.js";
import type { MaybeSchema, Schema } from "./schema.js";
import * as schemas from "./schema.js";

/** Hints of a tool's behaviour. MCP: ToolAnnotations. */
export interface ToolAnnotations {
  title?: string;
  /** Changes nothing; false when absent. The edge relies on it: a call may be run again after a replica was lost. */
  readOnlyHint?: boolean;
  /** May destroy something; true when absent. */
  destructiveHint?: boolean;
  /** The same call again changes nothing more; false when absent. The edge relies on it as on readOnlyHint. */
  idempotentHint?: boolean;
  /** Reaches beyond a closed world, as a web search does; true when absent. */
  openWorldHint?: boolean;
}

/** Which calls of a tool become tasks: calls that their clients need not hold a connection for. */
export interface TaskSupport {
  /** "optional": those of clients that can have tasks. "required": all; the edge refuses other clients. */
  mode: "optional" | "required";
  /**
   * When: "at-once" (what "required" means by itself), or "deferred", when the handler has run for a while or calls
   * `call.defer` (what "optional" means by itself).
   */
  start?: "at-once" | "deferred";
  /** How often, in ms, clients should ask for a task: 100 ms to 1 h. Absent: the edge chooses. */
  pollInterval?: number;
}

/** The description is for the model. */
type ToolDescription = Shown & { annotations?: ToolAnnotations; task?: TaskSupport };

/** What a tool is. I is the schema of its arguments, O that of its structured content. */
export type ToolConfig<I extends MaybeSchema, O extends MaybeSchema> = ToolDescription & {
  /** An object; absent: any. Arguments are what it makes of what the client gave. */
  inputSchema?: I;
  /** Absent: no structured content, or one that is not described. */
  outputSchema?: O;
};

/** A tool whose schemas are JSON texts, sent verbatim. */
export type RawToolConfig = ToolDescription & { inputSchema?: string; outputSchema?: string };

/** A tool's result in full: for tools that mix content with structured content, fail with content, or set `_meta`. */
export class Result {
  constructor(
    readonly parts: {
      /** May be empty: with structured content the edge then adds its serialization as text. */
      content?: Content[];
      /** Any JSON value, or a RawJson; undefined: none. */
      structured?: unknown;
      /** The tool failed in a way the model should see. */
      isError?: boolean;
      _meta?: object;
    },
  ) {}
}

/** Structured content without a schema: any JSON value. */
export function structured(value: unknown): Result {
  return new Result({ structured: value });
}

/** A failure the model sees and can act on. */
export function errorResult(message: string): Result {
  return new Result({ content: [text(message)], isError: true });
}

export type Arguments<I> = I extends Schema<any, infer Output> ? Output : Record<string, unknown>;

/** What a handler gives: with an output schema a value that fits it, else content; a Result has full control. */
export type ToolOutput<O> =
  O extends Schema<infer Input, any> ? Input | Result : string | Content | Content[] | Result | void;

export type ToolHandler<I, O> = (args: Arguments<I>, call: Call) => Awaitable<ToolOutput<O>>;
export type RawToolHandler = (argumentsJson: string, call: Call) => Awaitable<Result>;

export type ToolEntry = Entry<Tool, { argumentsJson: string }, CallToolResult>;

const noArguments = { type: "object", properties: {} };
const validName = /^[A-Za-z0-9_.-]{1,64}$/;

export function buildTool<I extends MaybeSchema, O extends MaybeSchema>(
  name: string,
  { inputSchema, outputSchema, ...said }: ToolConfig<I, O>,
  handler: ToolHandler<I, O>,
): ToolEntry {
  const owner = ownerOf(name, handler);
  const input = inputSchema ? schemas.objectSchema(`${owner}, inputSchema`, inputSchema, "input") : noArguments;
  const output = outputSchema && schemas.jsonSchema(`${owner}, outputSchema`, outputSchema, "output");
  return {
    listed: describe(name, said, JSON.stringify(input), output && JSON.stringify(output)),
    plain,
    async handle({ argumentsJson }, call) {
      const given = schemas.parsed(argumentsJson || "{}");
      if (given === undefined) throw new Failure("InvalidArgument", "the arguments are not JSON");
      const args = (inputSchema ? await schemas.validArguments(inputSchema, given) : given) as Arguments<I>;
      return toolResult(await handler(args, call), outputSchema);
    },
  };
}

export function buildRawTool(
  name: string,
  { inputSchema, outputSchema, ...said }: RawToolConfig,
  handler: RawToolHandler,
): ToolEntry {
  const owner = ownerOf(name, handler);
  const input = inputSchema && schemas.schemaText(`the inputSchema of ${owner}`, inputSchema);
  const output = outputSchema && schemas.schemaText(`the outputSchema of ${owner}`, outputSchema);
  return {
    listed: describe(name, said, input, output),
    plain,
    handle: async ({ argumentsJson }, call) => toolResult(await handler(argumentsJson || "{}", call), undefined),
  };
}

function ownerOf(name: string, handler: unknown): string {
  if (!validName.test(name)) throw new TypeError(`tool name ${JSON.stringify(name)}: use 1 to 64 of A-Z a-z 0-9 _ . -`);
  const owner = `tool ${JSON.stringify(name)}`;
  mustBeFunction(owner, handler);
  return owner;
}

function describe(name: string, said: ToolDescription, inputSchemaJson?: string, outputSchemaJson?: string): Tool {
  const { annotations = {}, task, ...rest } = said;
  return Tool.fromPartial({
    ...described(`tool ${JSON.stringify(name)}`, rest),
    name,
    inputSchemaJson,
    outputSchemaJson,
    annotations: Object.fromEntries(Object.entries(annotations).map(([k, v]) => [k.replace(/Hint$/, ""), v])),
    taskSupport: task && {
      mode: task.mode === "required" ? TaskMode.TASK_MODE_REQUIRED : TaskMode.TASK_MODE_OPTIONAL,
      start: task.start && (task.start === "deferred" ? TaskStart.TASK_START_DEFERRED : TaskStart.TASK_START_AT_ONCE),
      pollInterval: task.pollInterval === undefined ? undefined : wireDuration(task.pollInterval),
    },
  });
}

async function toolResult(out: unknown, outputSchema: MaybeSchema): Promise<CallToolResult> {
  const { content = [], structured: value, isError, _meta } = partsOf(out, outputSchema !== undefined);
  return CallToolResult.fromPartial({
    content: content.map(wireContent),
    structuredContentJson: value === undefined ? "" : await structuredJson(value, outputSchema),
    isError,
    metaJson: encodeObject("_meta of a result", _meta),
  });
}

/** What a handler gave, in full. With an output schema, what is no Result is structured content. */
function partsOf(out: unknown, described: boolean): Result["parts"] {
  if (out instanceof Result) return out.parts;
  if (described) return { structured: out ?? null };
  if (typeof out === "string") return { content: [text(out)] };
  if (isContent(out)) return { content: [out] };
  return Array.isArray(out) && out.every(isContent) ? { content: out } : { structured: out };
}

async function structuredJson(value: unknown, schema: MaybeSchema): Promise<string> {
  const misfit = (why: string) => new Failure("Internal", `the result does not fit the tool's output schema: ${why}`);
  const valid: unknown = schema ? await schemas.valid(schema, value, misfit) : value;
  try {
    return encodeJson(valid);
  } catch (error) {
    throw new Failure("Internal", `the result cannot be encoded: ${messageOf(error)}`);
  }
}

/** An error without a kind is for the model to see. */
function plain(error: Error): CallToolResult {
  return CallToolResult.fromPartial({ content: [wireContent(text(error.message))], isError: true });
}
