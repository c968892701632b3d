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

/** The edge's context: W3C trace context, whatever the global propagator is, with what else that one reads. */
function callerOf(metadata: Metadata): otel.Context {
  const extracted = otel.propagation.extract(otel.ROOT_CONTEXT, metadata, getter);
  if (otel.trace.getSpanContext(extracted)) return extracted;
  const parent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(metadata.get("traceparent")[0] ?? ""));
  if (!parent) return extracted;
  const [, traceId = "", spanId = "", flags = ""] = parent;
  const traceState = otel.createTraceState(metadata.get("tracestate").map(String).join(","));
  const traceFlags = parseInt(flags, 16);
  return otel.trace.setSpanContext(extracted, { traceId, spanId, traceFlags, traceState, isRemote: true });
}
