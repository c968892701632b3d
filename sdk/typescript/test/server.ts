import { Server, type ServerOptions } from "@mcpedge/capability";

const quiet = { info() {}, warn() {}, error() {} };

/** A server that logs nothing. */
export function make(options: Partial<ServerOptions> = {}): Server {
  return new Server({ name: "test", version: "1.0.0", logger: quiet, ...options });
}
