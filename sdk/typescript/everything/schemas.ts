import { type Server, text } from "@mcpedge/capability";
import { z } from "zod";
import { plain } from "./plain.js";

/** Uses the keywords that must survive on their way to the client, in the suite's order. */
export const dialectSchema =
  '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",' +
  '"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},' +
  '"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},' +
  '"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},' +
  '"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],' +
  '"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},' +
  '"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}';

export function addSchemas(server: Server): void {
  const dialect = { ...plain("Has an input schema with keywords of JSON Schema 2020-12"), inputSchema: dialectSchema };
  server.registerRawTool("json_schema_2020_12_tool", dialect, (argumentsJson) => {
    return { content: [text(`Called with ${argumentsJson}`)] };
  });
  const description = "Goes into the header Mcp-Param-Region too";
  const inputSchema = z.object({ region: z.string().meta({ description, "x-mcp-header": "Region" }) });
  const header = { ...plain("Has an argument that travels in a header as well"), inputSchema };
  server.registerTool("test_x_mcp_header", header, ({ region }) => `region=${region}`);
}
