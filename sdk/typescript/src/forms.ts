import { Ajv2020 } from "ajv/dist/2020.js";
import { messageOf } from "./failure.js";
import type { JsonSchema } from "./schema.js";

const primitives = ["string", "number", "integer", "boolean"];
/** The formats of forms. Clients refuse a form with another one. */
const formats = [undefined, "email", "uri", "date", "date-time"];

/** Throws unless a form has only members that MCP admits: strings, numbers, booleans and lists of enumerated strings. */
export function mustBeFlat(owner: string, form: JsonSchema): void {
  const { properties = {}, additionalProperties = false } = form;
  for (const [name, member] of Object.entries(properties)) {
    const why = unfillable(member);
    if (why) throw new TypeError(`${owner}: member ${JSON.stringify(name)} of its form: ${why}`);
  }
  if (additionalProperties !== false && (additionalProperties !== true || Object.keys(properties).length === 0)) {
    throw new TypeError(`${owner}: its form must name all of its members: use z.object({…})`);
  }
}

/** Returns why no client can show a member; undefined if clients can. */
function unfillable({ type, format, enum: values, items }: JsonSchema): string | undefined {
  const listed = type === "array" && (items?.enum ?? items?.anyOf) !== undefined;
  if (!primitives.includes(String(type)) && !listed) {
    return "use a string, a number, a boolean, an enum or an array of an enum";
  }
  if (Array.isArray(values) && values.some((v) => typeof v !== "string")) return "an enum has strings only";
  if (!formats.includes(format as string)) {
    return `no client knows the format ${JSON.stringify(format)}: known are email, uri, date and date-time`;
  }
  return undefined;
}

/** fitting returns a function that validates the content of an answer. Formats are not checked. Throws if the form is not a schema. */
export function fitting(owner: string, form: JsonSchema): (content: unknown) => boolean {
  try {
    return new Ajv2020({ strict: false, validateFormats: false, logger: false }).compile(form);
  } catch (error) {
    throw new TypeError(`${owner}: its form is no JSON Schema: ${messageOf(error)}`);
  }
}
