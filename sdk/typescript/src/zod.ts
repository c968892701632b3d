/** Schemas of zod for arguments of tools. Requires the package zod: npm install zod. */
import { z } from "zod";
import { isBase64 } from "./content.js";
import { mustKnow } from "./options.js";

/** The maximum size of an argument without a bound, in bytes. */
const usual = 1 << 20;

/**
 * A file among the arguments of a tool: base64 on the wire, whose schema has `contentEncoding`, and a Buffer for the handler.
 * Invalid base64, and more than max bytes (1 MiB), are refused before the handler runs. All arguments together are bounded by the
 * edge's setting `listen.body`.
 */
export function bytes(options: { max?: number } = {}) {
  mustKnow("bytes", options, { max: true });
  const { max = usual } = options;
  const characters = 4 * Math.ceil(max / 3);
  return z
    .string('expected a string of base64, as buffer.toString("base64")')
    .max(characters, `above ${max} bytes`)
    .refine(isBase64, "no base64: standard alphabet, with padding, without line breaks")
    .meta({ contentEncoding: "base64" })
    .transform((text, context) => {
      const data = Buffer.from(text, "base64");
      if (data.length > max) context.addIssue({ code: "custom", message: `${data.length} bytes, above ${max}` });
      return data;
    });
}
