import type { JsonSchema } from "./schema.js";

/** The keywords of a flat form that an answer is held to. */
interface Rule {
  type?: string;
  enum?: unknown[];
  oneOf?: { const: unknown }[];
  anyOf?: { const: unknown }[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  items?: Rule;
}

/** Throws unless a form has only members that MCP admits: strings, numbers, booleans and lists of enumerated strings. */
export function mustBeFlat(key: string, form: JsonSchema): void {
  for (const [name, member] of Object.entries(form.properties ?? {}) as [string, Rule][]) {
    const list = member.type === "array" && (member.items?.enum ?? member.items?.anyOf);
    if (!list && !["string", "number", "integer", "boolean"].includes(member.type ?? "")) {
      throw new TypeError(
        `question ${JSON.stringify(key)}: member ${JSON.stringify(name)} of its form: ` +
          "use a string, a number, a boolean, an enum or an array of an enum",
      );
    }
  }
}

/** Says whether the content of an answer fits a flat JSON Schema: its required members, types, enums and bounds. */
export function fitsForm(form: JsonSchema, content: unknown): boolean {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return false;
  const members = content as Record<string, unknown>;
  return (
    (form.required ?? []).every((name) => Object.hasOwn(members, name)) &&
    Object.entries(members).every(([name, value]) => admits((form.properties?.[name] as Rule | undefined) ?? {}, value))
  );
}

function admits(rule: Rule, value: unknown): boolean {
  const choices = rule.enum ?? (rule.oneOf ?? rule.anyOf)?.map((choice) => choice.const);
  if (choices && !choices.includes(value)) return false;
  const is = (type: string) => rule.type === undefined || rule.type === type;
  switch (typeof value) {
    case "string":
      return is("string") && within([...value].length, rule.minLength, rule.maxLength) && matches(rule.pattern, value);
    case "boolean":
      return is("boolean");
    case "number":
      return (is("number") || (is("integer") && Number.isInteger(value))) && within(value, rule.minimum, rule.maximum);
    default:
      if (!Array.isArray(value)) return rule.type === undefined;
      return (
        is("array") &&
        within(value.length, rule.minItems, rule.maxItems) &&
        value.every((v) => admits(rule.items ?? {}, v))
      );
  }
}

function within(n: number, least = -Infinity, most = Infinity): boolean {
  return n >= least && n <= most;
}

/** A pattern that JavaScript cannot read admits everything. */
function matches(pattern: string | undefined, value: string): boolean {
  try {
    return pattern === undefined || new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}
