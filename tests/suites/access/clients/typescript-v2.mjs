// The TypeScript SDK 2.x.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { edge, login, Provider, serve } from "./program.mjs";

const provider = new Provider();
let client, transport;

function open() {
  transport = new StreamableHTTPClientTransport(new URL(edge), { authProvider: provider });
  client = new Client({ name: "access-typescript-v2", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  return client.connect(transport);
}

// withUser does something, once more after the user has logged in.
async function withUser(action) {
  try {
    return await action();
  } catch (e) {
    if (!(e instanceof UnauthorizedError)) throw e;
    await transport.finishAuth(await login(provider.link));
    return await action();
  }
}

await serve({
  connect: () => withUser(open),
  list: async () => ({ names: (await withUser(() => client.listTools())).tools.map((tool) => tool.name) }),
  call: async (name) => ({ text: (await withUser(() => client.callTool({ name }))).content[0].text }),
});
