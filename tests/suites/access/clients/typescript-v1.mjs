// The TypeScript SDK 1.x.
import { auth, extractWWWAuthenticateParams, UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { edge, login, Provider, serve } from "./program.mjs";

const provider = new Provider();
let client, transport, challenge;

// The SDK meets a 403 by refreshing the token, which brings no further scope, and gives up at the second one. So this program
// notes what is asked for, and asks the user itself.
async function noting(url, init) {
  const response = await fetch(url, init);
  if (response.status === 403) challenge = extractWWWAuthenticateParams(response);
  return response;
}

function open() {
  transport = new StreamableHTTPClientTransport(new URL(edge), { authProvider: provider, fetch: noting });
  client = new Client({ name: "access-typescript-v1", version: "1.0.0" });
  return client.connect(transport);
}

async function finish() {
  const back = await login(provider.link);
  await transport.finishAuth(back.get("code"));
}

// withUser does something, once more after the user has logged in.
async function withUser(action) {
  try {
    return await action();
  } catch (e) {
    if (e instanceof StreamableHTTPError && e.code === 403 && challenge.error === "insufficient_scope") {
      provider.forgetRefreshToken();
      await auth(provider, { serverUrl: edge, scope: challenge.scope, resourceMetadataUrl: challenge.resourceMetadataUrl });
    } else if (!(e instanceof UnauthorizedError)) {
      throw e;
    }
    await finish();
    return await action();
  }
}

await serve({
  connect: () => withUser(open),
  list: async () => ({ names: (await withUser(() => client.listTools())).tools.map((tool) => tool.name) }),
  call: async (name) => ({ text: (await withUser(() => client.callTool({ name }))).content[0].text }),
});
