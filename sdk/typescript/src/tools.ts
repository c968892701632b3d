import { wireDuration } from "./answers.js";
import { ArgumentsOf } from "./arguments.js";
import type { Call } from "./call.js";
import * as content from "./content.js";
import type { Content, Shown } from "./content.js";
import { type Awaitable, Failure, mustBeFunction } from "./failure.js";
import { TaskMode, TaskStart, Tool } from "./gen/mcpedge/v1/input.js";
import { CallToolResult as WireResult } from "./gen/mcpedge/v1/tools.js";
import { mustBeOneOf, mustKnow, type Names } from "./options.js";
import type { Entry } from "./registry.js";
import { type CallToolResult, outputOf, type Result, toolResult } from "./results.js";
import type { MaybeSchema, Schema } from "./schema.js";
import * as schemas from "./schema.js";

/** Hints of a tool's behaviour. MCP: ToolAnnotations. */
export interface ToolAnnotations {
  title?: string;
  /** The tool changes nothing; false if absent. The edge relies on it: a call may be retried after a replica was lost. */
  readOnlyHint?: boolean;
  /** The tool may destroy something; true if absent. */
  destructiveHint?: boolean;
  /** Repeating the call changes nothing more; false if absent. The edge relies on it as on readOnlyHint. */
  idempotentHint?: boolean;
  /** The tool accesses external systems, as a web search does; true if absent. */
  openWorldHint?: boolean;
}

/** Which calls of a tool become tasks. Clients need not keep a connection for a task. */
export interface TaskSupport {
  /** "optional": calls of clients that support tasks. "required": all calls; the edge refuses other clients. */
  mode: "optional" | "required";
  /**
   * "at-once": before the handler runs (the default of "required"). "deferred": when the handler has run for a while or calls
   * `call.defer` (the default of "optional").
   */
  start?: "at-once" | "deferred";
  /** The interval, in ms, at which clients should poll a task: 100 ms to 1 h. Absent lets the edge choose. */
  pollInterval?: number;
}

export type CancelHandler = (call: Call) => Awaitable<void>;

/** The description is for the model. */
type ToolDescription = Shown & {
  annotations?: ToolAnnotations;
  task?: TaskSupport;
  /**
   * Called when a task of the tool was cancelled between two rounds, with the call's state and id as they were, so that a job
   * behind it can be ended. A round that runs sees its signal abort instead. It may not come.
   */
  onCancel?: CancelHandler;
};

/** The options of a tool. I is the schema of its arguments, O that of its structured content. */
export type ToolConfig<I extends MaybeSchema, O extends MaybeSchema> = ToolDescription & {
  /** The schema of an object, whose output the handler gets. Absent means that there are no arguments. */
  inputSchema?: I;
  /**
   * Arguments that the inputSchema does not name are refused by name, or, with "allow", left to the
   * schema, of which z.object drops and z.looseObject keeps them. Absent: "refuse", but for a schema that says of itself that
   * it takes them, as z.looseObject does.
   */
  unknownArguments?: "refuse" | "allow";
  /** The schema of structured content. Absent means that there is none, or that it has no schema. */
  outputSchema?: O;
};

/** A tool with JSON Schemas: texts, which are sent unchanged, or objects. */
export type RawToolConfig = ToolDescription & { inputSchema?: string | object; outputSchema?: string | object };

/** The arguments of a handler: none without an inputSchema. */
export type Arguments<I> = I extends Schema<any, infer Output> ? Output : {};

/** The return value of a handler: with an output schema a value that fits it, else content; or a complete result. */
export type ToolOutput<O> = Short<O> | CallToolResult<Structured<O>> | Result;
type Short<O> = O extends Schema<infer Input, any> ? Input : string | Content | Content[] | void;
type Structured<O> = O extends Schema<infer Input, any> ? Input : unknown;

export type ToolHandler<I, O> = (args: Arguments<I>, call: Call) => Awaitable<ToolOutput<O>>;
export type RawToolHandler = (argumentsJson: string, call: Call) => Awaitable<CallToolResult | Result>;

export type ToolEntry = Entry<Tool, { argumentsJson: string }, WireResult>;

const validName = /^[A-Za-z0-9_.-]{1,64}$/;
const described: Names<ToolDescription> = {
  title: true,
  description: true,
  icons: true,
  _meta: true,
  annotations: true,
  task: true,
  onCancel: true,
};
const options: Names<ToolConfig<MaybeSchema, MaybeSchema>> = {
  ...described,
  inputSchema: true,
  outputSchema: true,
  unknownArguments: true,
};
const rawOptions: Names<RawToolConfig> = { ...described, inputSchema: true, outputSchema: true };
const hints: Names<ToolAnnotations> = {
  title: true,
  readOnlyHint: true,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: true,
};

/** Builds a tool. The name is used in errors. */
export function buildTool<I extends MaybeSchema, O extends MaybeSchema>(
  name: string,
  config: ToolConfig<I, O>,
  handler: ToolHandler<I, O>,
): ToolEntry {
  const owner = ownerOf(name, config, options, handler);
  const { inputSchema, outputSchema, unknownArguments, ...said } = config;
  mustBeOneOf(`unknownArguments of ${owner}`, unknownArguments, ["refuse", "allow"]);
  const taken = new ArgumentsOf(`${owner}, inputSchema`, inputSchema, unknownArguments === "allow");
  const promised = outputSchema && schemas.jsonSchema(`${owner}, outputSchema`, outputSchema, "output");
  const output = outputSchema && outputOf(outputSchema, promised!);
  return {
    listed: describe(owner, name, said, JSON.stringify(taken.json), promised && JSON.stringify(promised)),
    plain,
    async handle({ argumentsJson }, call) {
      const given = schemas.parsed(argumentsJson || "{}");
      if (given === undefined) throw new Failure("InvalidArgument", "the arguments are not JSON");
      return toolResult(owner, await handler((await taken.read(given)) as Arguments<I>, call), output);
    },
  };
}

export function buildRawTool(name: string, config: RawToolConfig, handler: RawToolHandler): ToolEntry {
  const owner = ownerOf(name, config, rawOptions, handler);
  const { inputSchema, outputSchema, ...said } = config;
  const input = inputSchema && schemas.schemaText(`the inputSchema of ${owner}`, inputSchema);
  const output = outputSchema && schemas.schemaText(`the outputSchema of ${owner}`, outputSchema);
  return {
    listed: describe(owner, name, said, input, output),
    plain,
    handle: async ({ argumentsJson }, call) => toolResult(owner, await handler(argumentsJson || "{}", call), undefined),
  };
}

/** Returns the name of a tool in errors. Throws unless it has a name, options and a handler. */
function ownerOf<T extends object>(name: string, config: T, names: Names<T>, handler: unknown): string {
  if (!validName.test(name)) throw new TypeError(`tool name ${JSON.stringify(name)}: use 1 to 64 of A-Z a-z 0-9 _ . -`);
  const owner = `tool ${JSON.stringify(name)}`;
  mustKnow(owner, config, names);
  mustBeFunction(owner, handler);
  return owner;
}

function describe(owner: string, name: string, said: ToolDescription, input?: string, output?: string): Tool {
  const { annotations = {}, task, onCancel, ...rest } = said;
  mustKnow(`annotations of ${owner}`, annotations, hints);
  if (task) mustKnow(`task of ${owner}`, task, { mode: true, start: true, pollInterval: true });
  mustBeOneOf(`the mode of the task of ${owner}`, task?.mode, ["optional", "required"]);
  mustBeOneOf(`the start of the task of ${owner}`, task?.start, ["at-once", "deferred"]);
  if (onCancel !== undefined) mustBeFunction(`onCancel of ${owner}`, onCancel);
  return Tool.fromPartial({
    ...content.described(owner, rest),
    name,
    inputSchemaJson: input,
    outputSchemaJson: output,
    annotations: Object.fromEntries(Object.entries(annotations).map(([k, v]) => [k.replace(/Hint$/, ""), v])),
    taskSupport: task && {
      mode: task.mode === "required" ? TaskMode.TASK_MODE_REQUIRED : TaskMode.TASK_MODE_OPTIONAL,
      start: task.start && (task.start === "deferred" ? TaskStart.TASK_START_DEFERRED : TaskStart.TASK_START_AT_ONCE),
      pollInterval: task.pollInterval === undefined ? undefined : wireDuration(task.pollInterval),
    },
  });
}

/** Converts an error without a reason to a tool error, which the model sees. */
function plain(error: Error): WireResult {
  const shown = content.wireContent(content.text(error.message));
  return WireResult.fromPartial({ content: [shown], isError: true });
}
