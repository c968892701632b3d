import type { LogLevel, Server } from "@mcpedge/capability";
import { pause, plain } from "./plain.js";

const step = 50; // ms
const logger = "everything";
const levels: LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** @param reconnection how long test_reconnection takes, in ms */
export function addRunning(server: Server, reconnection: number): void {
  server.registerTool("test_tool_with_progress", plain("Reports progress: 0, 50 and 100 of 100"), async (_, call) => {
    for (const percent of [0, 50, 100]) {
      if (percent > 0) await pause(call.signal, step);
      call.progress(percent, 100, `Completed step ${percent} of 100`);
    }
    return "Progress was reported.";
  });
  server.registerTool("test_tool_with_logging", plain("Logs three messages on its way"), async (_, call) => {
    const messages = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    for (const [i, message] of messages.entries()) {
      if (i > 0) await pause(call.signal, step);
      call.log("info", message, logger);
    }
    return "Messages were logged.";
  });
  server.registerTool("test_logging_tool", plain("Logs one message of each level"), (_, call) => {
    levels.forEach((level, i) => call.log(level, { message: `A message of level ${i + 1}` }, logger));
    return "Messages of every level were logged.";
  });
  const description = "Takes so long that its stream may be closed and resumed meanwhile";
  server.registerTool("test_reconnection", plain(description), async (_, call) => {
    await pause(call.signal, reconnection);
    return "The call ran to its end, whether the client was connected or not.";
  });
}
