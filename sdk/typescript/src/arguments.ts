import { Failure, quote } from "./failure.js";
import { meant, quoted } from "./options.js";
import { type JsonSchema, type MaybeSchema, objectSchema, validArguments } from "./schema.js";

/** The maximum number of unknown arguments that an error names. */
const maxNamed = 5;
/** Keywords by which a schema names members in other ways than by its properties. */
const elsewhere = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref", "unevaluatedProperties"];

/** The arguments that a tool or a prompt takes. Without a schema there are none. */
export class ArgumentsOf {
  /** The listed schema. It refuses unknown arguments unless it explicitly permits them. */
  readonly json: JsonSchema;

  /** Throws, with the owner's name, if the schema is not one of an object. With open, unknown arguments are permitted. */
  constructor(
    owner: string,
    readonly schema: MaybeSchema,
    open = false,
  ) {
    const said = schema ? objectSchema(owner, schema, "input") : { type: "object", properties: {} };
    const named = !elsewhere.some((keyword) => keyword in said);
    this.json = !open && named ? { additionalProperties: false, ...said } : said;
  }

  /** read validates arguments and returns the output of the schema. Throws InvalidArgument, with the names of unknown ones. */
  async read(given: unknown): Promise<unknown> {
    if (typeof given !== "object" || given === null || Array.isArray(given)) {
      throw new Failure("InvalidArgument", "the arguments are no JSON object");
    }
    if (this.json.additionalProperties === false) this.#refuseUnknown(Object.keys(given));
    return this.schema ? validArguments(this.schema, given) : given;
  }

  #refuseUnknown(names: string[]): void {
    const known = Object.keys(this.json.properties ?? {});
    const unknown = names.filter((name) => !known.includes(name));
    if (unknown.length === 0) return;
    const [first = ""] = unknown;
    const hint =
      unknown.length === 1 ? meant(first, known) : known.length > 0 ? `known are ${quoted(known)}` : "there are none";
    const more = unknown.length > maxNamed ? ` and ${unknown.length - maxNamed} more` : "";
    const what = `${unknown.length === 1 ? "argument" : "arguments"} ${unknown.slice(0, maxNamed).map(quote).join(", ")}${more}`;
    throw new Failure("InvalidArgument", `unknown ${what}: ${hint}`);
  }
}
