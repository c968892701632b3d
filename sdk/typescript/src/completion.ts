import type { Call } from "./call.js";
import { Failure } from "./failure.js";
import { CompletePromptRequest, CompletePromptResponse } from "./gen/mcpedge/v1/prompts.js";
import type { JsonSchema } from "./schema.js";

/** How many values MCP lets a completion carry. */
const maxSuggestions = 100;

/**
 * Suggests values for one argument: fixed ones, of which those with the typed prefix are taken, in any case; or by a
 * function of the typed text and of the arguments already chosen, best first.
 */
export type Completer =
  | readonly string[]
  | ((value: string, chosen: Record<string, string>, call: Call) => readonly string[] | Promise<readonly string[]>);

/** Completers by argument or variable. */
export type Completers = Record<string, Completer>;

/** Throws when a completer is none, or for something that is not among the known names. */
export function checkCompleters(owner: string, completers: Completers, known: string[]): void {
  if (typeof completers !== "object") {
    throw new TypeError(`${owner}: complete has the completers by name: write { ${known[0] ?? "name"}: … }`);
  }
  for (const [name, by] of Object.entries(completers)) {
    const quoted = JSON.stringify(name);
    if (!known.includes(name)) {
      throw new TypeError(`${owner} has no ${quoted} to complete: it has ${known.join(", ") || "nothing"}`);
    }
    if (typeof by === "function" || isTexts(by)) continue;
    throw new TypeError(`${owner}: what completes ${quoted} must be a list of strings or a function`);
  }
}

/** Completers for the members of a schema that are enums: their values. */
export function enumerated({ properties = {} }: JsonSchema): Completers {
  const enums = Object.entries(properties).filter(([, { enum: values }]) => Array.isArray(values));
  return Object.fromEntries(enums.map(([name, { enum: values }]) => [name, (values as unknown[]).map(String)]));
}

/** The mark that the official SDK's completable leaves on a member of a schema of zod. */
const completable = Symbol.for("mcp.completable");

type Suggest = (value: string, context: { arguments: Record<string, string> }) => string[] | Promise<string[]>;
/** The part of a schema of zod that has its members. */
type Shaped = {
  shape?: Record<string, { [completable]?: { complete?: Suggest }; unwrap?: () => unknown } | undefined>;
};

/** completables returns the completers that the official SDK's completable left on the members of a schema. */
export function completables(schema: unknown): Completers {
  const members = Object.entries((schema as Shaped | undefined)?.shape ?? {});
  return Object.fromEntries(
    members.flatMap(([name, member]): [string, Completer][] => {
      const marked = member?.[completable] ? member : (member?.unwrap?.() as typeof member);
      const complete = marked?.[completable]?.complete;
      return complete ? [[name, (value, chosen) => complete(value, { arguments: chosen })]] : [];
    }),
  );
}

const isTexts = (given: unknown): given is string[] =>
  Array.isArray(given) && given.every((v) => typeof v === "string");

export type CompleteRequest = Omit<CompletePromptRequest, "name">;
export type Suggestions = Pick<CompletePromptResponse, "values" | "total" | "hasMore">;

export async function suggest(by: Completer | undefined, request: CompleteRequest, call: Call): Promise<Suggestions> {
  if (!by) return CompletePromptResponse.create();
  const { argumentValue: value, contextArguments: chosen } = request;
  const typed = value.toLowerCase();
  const all: unknown =
    typeof by === "function" ? await by(value, chosen, call) : by.filter((v) => v.toLowerCase().startsWith(typed));
  if (!isTexts(all)) {
    const kind = Array.isArray(all) ? "a list of other values" : typeof all === "object" ? "an object" : String(all);
    const what = `what completes ${JSON.stringify(request.argumentName)} returned ${kind}`;
    throw new Failure("Internal", `${what}: return a list of strings`);
  }
  return { values: all.slice(0, maxSuggestions), total: all.length, hasMore: all.length > maxSuggestions };
}
