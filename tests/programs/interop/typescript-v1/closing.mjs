// The end: a session that is terminated is gone; a program whose input ends, ends.
import { once } from "node:events";
import { equal, step, within } from "../steps.mjs";

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
    // Not by the SDK, which begins to kill 2 s after it has closed the input: a busy machine may need longer.
    const program = transport._process;
    const ended = once(program, "exit");
    program.stdin.end();
    equal(await within(ended, "the end of the program"), [0, null], "exit code and signal");
    await client.close();
  });
}
