// Connecting in either era, as a client that can be asked by a form.
import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { equal, step } from "../steps.mjs";

const revisions = { legacy: "2025-11-25", modern: "2026-07-28" };

// connect returns the client, what answers its user's forms, which a step may replace, and a file's URI.
export async function connect(options, era) {
  const answer = {};
  const client = await step(`${era} initialize`, async () => {
    const client = await createMCPClient({
      transport: transport(options), name: "interop-ai-sdk", capabilities: { elicitation: {} },
      protocolVersionDiscovery: era === "modern",
    });
    equal([client.serverInfo.name, client.initializeResult.protocolVersion], ["mcpedge", revisions[era]], "server and revision");
    console.log(`speaks ${revisions[era]}`);
    return client;
  });
  client.onElicitationRequest(ElicitationRequestSchema, (request) => answer.elicitation(request));
  return { client, answer, note: pathToFileURL(join(options.dir, "note.txt")).href };
}

function transport({ url, sse, command }) {
  if (sse) return { type: "sse", url: sse };
  if (url) return { type: "http", url };
  return new StdioTransport({ command: command[0], args: command.slice(1), stderr: "inherit" });
}
