// The end: a session that is terminated is gone; a program whose input ends, ends.
import { equal, fail, step } from "../steps.mjs";

export async function closing({ client, transport, options }) {
  if (options.url) {
    await step("terminate the session", async () => {
      const id = transport.sessionId;
      await transport.terminateSession();
      equal(transport.sessionId, undefined, "session id");
      const r = await fetch(options.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-session-id": id,
          "mcp-protocol-version": "2025-11-25",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: "after", method: "ping" }),
      });
      equal(r.status, 404, "status of a request in the ended session");
      await client.close();
    });
    return;
  }
  if (options.sse) {
    await step("end with the stream", async () => {
      // The SDK's own record of where it posted to.
      const endpoint = transport._endpoint;
      await client.close();
      const gone = async () => {
        const r = await fetch(endpoint, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ jsonrpc: "2.0", id: "after", method: "ping" }),
        });
        await r.body?.cancel();
        return r.status === 404;
      };
      while (!(await gone())); // the step's time limit ends this
    });
    return;
  }
  await step("end with the input", async () => {
    const start = Date.now();
    await client.close();
    // The SDK closes the input, and after 2 s begins to kill.
    if (Date.now() - start > 1900) fail("time to end", "less than 1900 ms", Date.now() - start);
  });
}
