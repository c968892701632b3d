import type { Call } from "./call.js";
import { CompletePromptRequest, CompletePromptResponse } from "./gen/mcpedge/v1/prompts.js";

/** How many values MCP lets a completion carry. */
const maxSuggestions = 100;

/**
 * Suggests values for one argument: fixed ones, of which those that begin with what was typed are taken, whatever the case; or
 * by a function of what was typed and of the arguments already chosen, best first.
 */
export type Completer =
  | readonly string[]
  | ((value: string, chosen: Record<string, string>, call: Call) => readonly string[] | Promise<readonly string[]>);

/** Completers by argument or variable. */
export type Completers = Record<string, Completer>;

/** Throws when a completer is for something that is not among the known names. */
export function checkCompleters(owner: string, completers: Completers, known: string[]): void {
  for (const name of Object.keys(completers)) {
    if (known.includes(name)) continue;
    throw new TypeError(`${owner} has no ${JSON.stringify(name)} to complete: it has ${known.join(", ") || "nothing"}`);
  }
}

export type CompleteRequest = Omit<CompletePromptRequest, "name">;
export type Suggestions = Pick<CompletePromptResponse, "values" | "total" | "hasMore">;

export async function suggest(by: Completer | undefined, request: CompleteRequest, call: Call): Promise<Suggestions> {
  if (!by) return CompletePromptResponse.create();
  const { argumentValue: value, contextArguments: chosen } = request;
  const typed = value.toLowerCase();
  const all =
    typeof by === "function" ? await by(value, chosen, call) : by.filter((v) => v.toLowerCase().startsWith(typed));
  return { values: all.slice(0, maxSuggestions), total: all.length, hasMore: all.length > maxSuggestions };
}
