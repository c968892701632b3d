import type { Metadata } from "@grpc/grpc-js";
import * as otel from "@opentelemetry/api";
import { version } from "./version.js";

const getter = {
  keys: (m: Metadata) => Object.keys(m.getMap()),
  get: (m: Metadata, key: string) => m.get(key).map(String),
};

/**
 * Runs work as a span of the trace that the edge is in, which is then active; path is that of the RPC. A user of spans
 * registers OpenTelemetry's SDK, whose propagator reads the caller's; without it this costs next to nothing.
 */
export function traced<T>(path: string, metadata: Metadata, work: () => Promise<T>): Promise<T> {
  const name = path.replace(/^\//, "");
  const [service, method] = name.split("/");
  const attributes = { "rpc.system": "grpc", "rpc.service": service, "rpc.method": method };
  const options = { kind: otel.SpanKind.SERVER, attributes };
  const caller = otel.propagation.extract(otel.ROOT_CONTEXT, metadata, getter);
  return otel.trace.getTracer("@mcpedge/capability", version).startActiveSpan(name, options, caller, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: otel.SpanStatusCode.ERROR, message: String(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}
