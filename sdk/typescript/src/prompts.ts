import type { Call } from "./call.js";
import { checkCompleters, type Completers } from "./completion.js";
import { type Content, described, type Role, type Shown, text, wireContent, wireRole } from "./content.js";
import { type Awaitable, Failure, mustBeFunction } from "./failure.js";
import { GetPromptResult, Prompt, PromptArgument } from "./gen/mcpedge/v1/prompts.js";
import type { Entry } from "./registry.js";
import { type MaybeSchema, objectSchema, type Schema, validArguments } from "./schema.js";

/** One turn of a prompt; a string is text. MCP: PromptMessage. */
export interface PromptMessage {
  role: Role;
  content: string | Content;
}

/** What a prompt's handler gives: a string is one message of the user; what has no description gets the prompt's own. */
export type PromptOutput = string | PromptMessage | PromptMessage[] | PromptWhole;

interface PromptWhole {
  messages: (string | PromptMessage)[];
  description?: string;
  _meta?: object;
}

export type PromptConfig<A extends MaybeSchema> = Shown & {
  /** An object of strings and enums; those that are not optional are required. Absent: the prompt has no arguments. */
  argsSchema?: A;
  /** Suggestions for arguments. */
  complete?: Completers;
};

export type PromptHandler<A> = (args: PromptArguments<A>, call: Call) => Awaitable<PromptOutput>;
export type PromptArguments<A> = A extends Schema<any, infer Output> ? Output : Record<string, string>;

export type PromptEntry = Entry<Prompt, { arguments: Record<string, string> }, GetPromptResult>;

export function buildPrompt<A extends MaybeSchema>(
  name: string,
  config: PromptConfig<A>,
  handler: PromptHandler<A>,
): PromptEntry {
  if (!name) throw new TypeError("a prompt needs a name");
  const owner = `prompt ${JSON.stringify(name)}`;
  mustBeFunction(owner, handler);
  const { argsSchema, complete: completers = {}, ...said } = config;
  const args = argsSchema ? argumentsOf(owner, argsSchema) : [];
  const names = args.map((a) => a.name);
  checkCompleters(owner, completers, names);
  return {
    listed: Prompt.fromPartial({ ...described(owner, said), name, arguments: args }),
    completers,
    async handle({ arguments: given }, call) {
      const valid = argsSchema ? await validArguments(argsSchema, given) : given;
      return promptResult(owner, said.description, await handler(valid as PromptArguments<A>, call));
    },
  };
}

/** The arguments that a schema has, which are strings. */
function argumentsOf(owner: string, schema: Schema): PromptArgument[] {
  const { properties = {}, required = [] } = objectSchema(`${owner}, argsSchema`, schema, "input");
  return Object.entries(properties).map(([name, { type, title = "", description = "" }]) => {
    if (type !== "string") {
      const argument = `${owner}: its argument ${JSON.stringify(name)}`;
      throw new TypeError(`${argument} must be a string or an enum: clients send strings`);
    }
    return { name, title: String(title), description: String(description), required: required.includes(name) };
  });
}

function promptResult(owner: string, description = "", out: PromptOutput): GetPromptResult {
  if (out === undefined || out === null) throw new Failure("Internal", `${owner} returned nothing`);
  const whole: PromptWhole = typeof out === "object" && "messages" in out ? out : { messages: [out].flat() };
  const messages = whole.messages.map((m) => {
    const { role, content } = typeof m === "string" ? { role: "user" as const, content: m } : m;
    return { role: wireRole(role), content: wireContent(typeof content === "string" ? text(content) : content) };
  });
  return GetPromptResult.fromPartial({ description, ...described(owner, whole), messages });
}
