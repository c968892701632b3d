import type { Metadata } from "@grpc/grpc-js";
import {
  type Context,
  context,
  createTraceState,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { version } from "./version.js";

const getter = {
  keys: (m: Metadata) => Object.keys(m.getMap()),
  get: (m: Metadata, key: string) => m.get(key).map(String),
};

/**
 * Runs work as a span of the trace that the edge is in, which is then active. Whoever wants spans registers OpenTelemetry's SDK;
 * without it this costs next to nothing.
 */
export function traced<T>(service: string, method: string, metadata: Metadata, work: () => Promise<T>): Promise<T> {
  const attributes = { "rpc.system": "grpc", "rpc.service": service, "rpc.method": method };
  const span = trace
    .getTracer("@mcpedge/capability", version)
    .startSpan(`${service}/${method}`, { kind: SpanKind.SERVER, attributes }, callerOf(metadata));
  return context.with(trace.setSpan(callerOf(metadata), span), async () => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The edge's context: W3C trace context, whatever the global propagator is, with what else that one reads. */
function callerOf(metadata: Metadata): Context {
  const extracted = propagation.extract(ROOT_CONTEXT, metadata, getter);
  if (trace.getSpanContext(extracted)) return extracted;
  const parent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(metadata.get("traceparent")[0] ?? ""));
  if (!parent) return extracted;
  const [, traceId = "", spanId = "", flags = ""] = parent;
  const traceState = createTraceState(metadata.get("tracestate").map(String).join(","));
  return trace.setSpanContext(extracted, {
    traceId,
    spanId,
    traceFlags: parseInt(flags, 16),
    traceState,
    isRemote: true,
  });
}
