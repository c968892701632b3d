import { Failure } from "./failure.js";
import { quoted } from "./options.js";

/** An object that a handler returned and that has members of a result of MCP. */
export interface Official {
  /** The kind of result. */
  result: "a tool" | "a read" | "a prompt";
  owner: string;
  /** What to write if a value is meant. */
  value: string;
  out: object;
}

/** Throws if a result has a member that MCP does not define. */
export function strayMember({ result, owner, value, out }: Official, members: string[]): void {
  const has = Object.keys(out);
  const strays = has.filter((name) => !members.includes(name));
  if (strays.length === 0) return;
  const known = has.filter((name) => members.includes(name));
  const what = `${owner} returned an object with ${quoted(known)}, as a result of ${result} has`;
  throw new Failure("Internal", `${what}, and ${quoted(strays)}, which it has not: for a value, ${value}`);
}

/** Throws unless a member of a result has the right type. */
export function wrongType({ result, owner, value }: Official, member: string, type: string, fits: boolean): void {
  if (fits) return;
  const what = `${owner} returned an object with "${member}", which in a result of ${result} is ${type}`;
  throw new Failure("Internal", `${what}: write that, or, for a value, ${value}`);
}
