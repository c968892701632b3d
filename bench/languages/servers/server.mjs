// The benchmark's tool in the official TypeScript SDK, without sessions and with JSON: server.mjs PORT.
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

function makeServer() {
  const server = new McpServer({ name: "bench", version: "1" });
  const config = { description: "Gives much", inputSchema: { bytes: z.number().int() } };
  server.registerTool("large", config, ({ bytes }) => ({ content: [{ type: "text", text: "x".repeat(bytes) }] }));
  return server;
}

// Without sessions the SDK wants a server and a transport for each request.
createServer(async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  const server = makeServer();
  response.on("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}).listen(Number(process.argv[2]), "127.0.0.1");
