import { Ajv2020 } from "ajv/dist/2020.js";
import { messageOf } from "./failure.js";
import type { JsonSchema } from "./schema.js";

const primitives = ["string", "number", "integer", "boolean"];

/** Throws unless a form has only members that MCP admits: strings, numbers, booleans and lists of enumerated strings. */
export function mustBeFlat(owner: string, form: JsonSchema): void {
  for (const [name, { type, items }] of Object.entries(form.properties ?? {})) {
    if (primitives.includes(String(type)) || (type === "array" && (items?.enum ?? items?.anyOf))) continue;
    const member = `${owner}: member ${JSON.stringify(name)} of its form`;
    throw new TypeError(`${member}: use a string, a number, a boolean, an enum or an array of an enum`);
  }
}

/** What says whether the content of an answer fits a form. Formats are not looked at. Throws when the form is no schema. */
export function fitting(owner: string, form: JsonSchema): (content: unknown) => boolean {
  try {
    return new Ajv2020({ strict: false, validateFormats: false, logger: false }).compile(form);
  } catch (error) {
    throw new TypeError(`${owner}: its form is no JSON Schema: ${messageOf(error)}`);
  }
}
