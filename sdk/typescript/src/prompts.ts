import type { Call } from "./call.js";
import { checkCompleters, type Completers } from "./completion.js";
import { type Content, type Icon, type Role, text, wireContent, wireIcons, wireRole } from "./content.js";
import { encodeObject, Failure } from "./failure.js";
import { GetPromptResult, Prompt, PromptArgument } from "./gen/mcpedge/v1/prompts.js";
import { objectSchema, type Schema, validArguments } from "./schema.js";

/** One turn of a prompt; a string is text. MCP: PromptMessage. */
export interface PromptMessage {
  role: Role;
  content: string | Content;
}

/** What a prompt's handler gives: a string is one message of the user; messages get the prompt's own description. */
export type PromptOutput =
  string | PromptMessage | PromptMessage[] | { messages: PromptMessage[]; description?: string; _meta?: object };

export interface PromptConfig<A extends Schema<any, any> | undefined> {
  title?: string;
  description?: string;
  /** An object of strings and enums; those that are not optional are required. Absent: the prompt has no arguments. */
  argsSchema?: A;
  /** Suggestions for arguments. */
  complete?: Completers;
  icons?: Icon[];
  _meta?: object;
}

export type PromptArguments<A> = A extends Schema<any, infer Output> ? Output : Record<string, string>;

export interface PromptEntry {
  listed: Prompt;
  completers: Completers;
  handler: (given: Record<string, string>, call: Call) => Promise<GetPromptResult>;
}

export function buildPrompt<A extends Schema<any, any> | undefined>(
  name: string,
  config: PromptConfig<A>,
  handler: (args: PromptArguments<A>, call: Call) => PromptOutput | Promise<PromptOutput>,
): PromptEntry {
  if (!name) throw new TypeError("a prompt needs a name");
  const owner = `prompt ${JSON.stringify(name)}`;
  const { argsSchema, complete: completers = {}, title, description, icons, _meta } = config;
  const args = argsSchema ? argumentsOf(owner, argsSchema) : [];
  checkCompleters(
    owner,
    completers,
    args.map((a) => a.name),
  );
  const metaJson = encodeObject(`_meta of ${owner}`, _meta);
  return {
    listed: Prompt.fromPartial({ name, title, description, arguments: args, icons: wireIcons(icons), metaJson }),
    completers,
    async handler(given, call) {
      const valid = argsSchema ? await validArguments(argsSchema, given) : given;
      return promptResult(owner, description, await handler(valid as PromptArguments<A>, call));
    },
  };
}

/** The arguments that a schema has, which are strings. */
function argumentsOf(owner: string, schema: Schema): PromptArgument[] {
  const { properties = {}, required = [] } = objectSchema(`${owner}, argsSchema`, schema, "input");
  return Object.entries(properties).map(([name, { type, title = "", description = "" }]) => {
    if (type !== "string") {
      throw new TypeError(
        `${owner}: its argument ${JSON.stringify(name)} must be a string or an enum: clients send strings`,
      );
    }
    return { name, title: String(title), description: String(description), required: required.includes(name) };
  });
}

function promptResult(owner: string, description = "", out: PromptOutput): GetPromptResult {
  const nothing = out === undefined || out === null;
  if (nothing) throw new Failure("Internal", `${owner} returned nothing`);
  const whole =
    typeof out === "object" && "messages" in out ? out : { messages: [out].flat(), description, _meta: undefined };
  return {
    description: whole.description ?? "",
    messages: whole.messages.map((m) => {
      const { role, content } = typeof m === "string" ? { role: "user" as const, content: m } : m;
      return { role: wireRole(role), content: wireContent(typeof content === "string" ? text(content) : content) };
    }),
    metaJson: encodeObject(`_meta of ${owner}`, whole._meta),
  };
}
