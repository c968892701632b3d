import { ArgumentsOf } from "./arguments.js";
import type { Call } from "./call.js";
import { checkCompleters, completables, type Completers, enumerated } from "./completion.js";
import { type Content, described, type Shown, text, wireContent, wireRole } from "./content.js";
import { type Awaitable, Failure, mustBeFunction } from "./failure.js";
import { GetPromptResult as WireResult, Prompt, PromptArgument } from "./gen/mcpedge/v1/prompts.js";
import { type Official, strayMember, wrongType } from "./official.js";
import { mustKnow, type Names } from "./options.js";
import type { Entry } from "./registry.js";
import type { JsonSchema, MaybeSchema, Schema } from "./schema.js";
import type { Role } from "./types.js";

/** One turn of a prompt; a string is text. MCP: PromptMessage. */
export interface PromptMessage {
  role: Role;
  content: string | Content;
}

/** A complete prompt, as in the official SDK. Without a description it has that of its registration. MCP: GetPromptResult. */
export interface GetPromptResult {
  messages: (string | PromptMessage)[];
  description?: string;
  _meta?: object;
}

/** The return value of a prompt's handler: a string is one message of the user. */
export type PromptOutput = string | PromptMessage | (string | PromptMessage)[] | GetPromptResult;

export type PromptConfig<A extends MaybeSchema> = Shown & {
  /** An object of strings and enums; those that are not optional are required. Absent means that the prompt has no arguments. */
  argsSchema?: A;
  /** Suggestions for arguments. An enum suggests its values by itself. */
  complete?: Completers;
};

export type PromptHandler<A> = (args: PromptArguments<A>, call: Call) => Awaitable<PromptOutput>;
export type PromptArguments<A> = A extends Schema<any, infer Output> ? Output : {};

export type PromptEntry = Entry<Prompt, { arguments: Record<string, string> }, WireResult>;

const options: Names<PromptConfig<MaybeSchema>> = {
  title: true,
  description: true,
  icons: true,
  _meta: true,
  argsSchema: true,
  complete: true,
};

export function buildPrompt<A extends MaybeSchema>(
  name: string,
  config: PromptConfig<A>,
  handler: PromptHandler<A>,
): PromptEntry {
  if (!name) throw new TypeError("a prompt needs a name");
  const owner = `prompt ${JSON.stringify(name)}`;
  mustKnow(owner, config, options);
  mustBeFunction(owner, handler);
  const { argsSchema, complete = {}, ...said } = config;
  const taken = new ArgumentsOf(`${owner}, argsSchema`, argsSchema);
  const args = argumentsOf(owner, taken.json);
  checkCompleters(
    owner,
    complete,
    args.map((a) => a.name),
  );
  return {
    listed: Prompt.fromPartial({ ...described(owner, said), name, arguments: args }),
    completers: { ...enumerated(taken.json), ...completables(argsSchema), ...complete },
    async handle({ arguments: given }, call) {
      const valid = (await taken.read(given)) as PromptArguments<A>;
      return promptResult(owner, said.description, await handler(valid, call));
    },
  };
}

/** Returns the arguments in a schema, which are strings. */
function argumentsOf(owner: string, { properties = {}, required = [] }: JsonSchema): PromptArgument[] {
  return Object.entries(properties).map(([name, { type, title = "", description = "" }]) => {
    if (type !== "string") {
      const argument = `${owner}: its argument ${JSON.stringify(name)}`;
      throw new TypeError(`${argument} must be a string or an enum: clients send strings`);
    }
    return { name, title: String(title), description: String(description), required: required.includes(name) };
  });
}

function promptResult(owner: string, description = "", out: PromptOutput): WireResult {
  const { messages, ...rest } = wholeOf(owner, out);
  return WireResult.fromPartial({
    description,
    ...described(owner, rest),
    messages: messages.map((message) => {
      const { role, content } = typeof message === "string" ? { role: "user" as const, content: message } : message;
      if (Array.isArray(content)) {
        const what = `${owner}: the content of a message is one block, not a list`;
        throw new Failure("Internal", `${what}: give a message for each`);
      }
      return { role: wireRole(role), content: wireContent(typeof content === "string" ? text(content) : content) };
    }),
  });
}

/** wholeOf converts a handler's return value to a complete result. Throws, with the prompt's name, if it cannot. */
function wholeOf(owner: string, out: PromptOutput): GetPromptResult {
  const value = 'return a string, { role: "user", content: "…" }, or a list of them';
  if (out === undefined || out === null) throw new Failure("Internal", `${owner} returned nothing: ${value}`);
  if (typeof out !== "object" || !("messages" in out)) {
    const messages = [out].flat();
    if (messages.every(isMessage)) return { messages };
    throw new Failure("Internal", `${owner} returned what is no message: ${value}`);
  }
  const whole: Official = { result: "a prompt", owner, value, out };
  strayMember(whole, ["messages", "description", "_meta"]);
  wrongType(whole, "messages", "a list of messages", Array.isArray(out.messages) && out.messages.every(isMessage));
  return out;
}

function isMessage(m: unknown): m is string | PromptMessage {
  return typeof m === "string" || (typeof m === "object" && m !== null && "role" in m && "content" in m);
}
