import type { Metadata } from "@grpc/grpc-js";
import * as otel from "@opentelemetry/api";
import { version } from "./version.js";

const getter = {
  keys: (m: Metadata) => Object.keys(m.getMap()),
  get: (m: Metadata, key: string) => m.get(key).map(String),
};

/**
 * Runs work as a span of the trace that the edge is in, which is then active; path is that of the RPC. Whoever wants spans
 * registers OpenTelemetry's SDK; without it this costs next to nothing.
 */
export function traced<T>(path: string, metadata: Metadata, work: () => Promise<T>): Promise<T> {
  const name = path.replace(/^\//, "");
  const [service, method] = name.split("/");
  const attributes = { "rpc.system": "grpc", "rpc.service": service, "rpc.method": method };
  const tracer = otel.trace.getTracer("@mcpedge/capability", version);
  const caller = callerOf(metadata);
  const span = tracer.startSpan(name, { kind: otel.SpanKind.SERVER, attributes }, caller);
  return otel.context.with(otel.trace.setSpan(caller, span), async () => {
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

/** The edge's context, as the global propagator reads it: OpenTelemetry's SDK registers one for W3C trace context. */
function callerOf(metadata: Metadata): otel.Context {
  return otel.propagation.extract(otel.ROOT_CONTEXT, metadata, getter);
}
