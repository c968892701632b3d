package io.mcpedge.capability;

import com.google.protobuf.Message;
import io.grpc.*;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.baggage.propagation.W3CBaggagePropagator;
import io.opentelemetry.api.trace.*;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.util.function.Consumer;

/**
 * Creates spans for the work of a service in the trace of the edge, by the API of OpenTelemetry, which does almost nothing without an
 * SDK. The edge sends W3C trace context and baggage, whatever the global propagator is.
 */
final class Tracing implements ServerInterceptor {
  private static final Context.Key<io.opentelemetry.context.Context> PARENT = Context.key("mcpedge-trace");
  private static final TextMapPropagator W3C =
      TextMapPropagator.composite(W3CTraceContextPropagator.getInstance(), W3CBaggagePropagator.getInstance());
  private static final TextMapGetter<Metadata> HEADERS = new TextMapGetter<>() {
    @Override
    public Iterable<String> keys(Metadata headers) {
      return headers.keys();
    }

    @Override
    public String get(Metadata headers, String name) {
      return headers.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
    }
  };

  private final OpenTelemetry telemetry; // null means the global one

  Tracing(OpenTelemetry telemetry) {
    this.telemetry = telemetry;
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    var parent = W3C.extract(io.opentelemetry.context.Context.root(), headers, HEADERS);
    return Contexts.interceptCall(Context.current().withValue(PARENT, parent), call, headers, next);
  }

  /** The current span. */
  record Current(Span span) {
    void failed(String reason) {
      span.setAttribute("mcpedge.failure", reason);
      span.setStatus(StatusCode.ERROR, reason);
    }
  }

  /** Runs work in a span, with the name of the method of this response. Lists, which the edge requests on its own, have none. */
  void span(Message response, Consumer<Current> work) {
    String method = response.getDescriptorForType().getName().replaceFirst("Response$", "");
    if (method.startsWith("List")) {
      work.accept(new Current(Span.getInvalid()));
      return;
    }
    String service = response.getDescriptorForType().getFile().getServices().get(0).getFullName();
    var parent = PARENT.get() == null ? io.opentelemetry.context.Context.root() : PARENT.get();
    var tracer = (telemetry == null ? GlobalOpenTelemetry.get() : telemetry).getTracer("io.mcpedge.capability");
    Span span = tracer.spanBuilder(service + "/" + method).setParent(parent).setSpanKind(SpanKind.SERVER)
        .setAttribute("rpc.system", "grpc").setAttribute("rpc.service", service).setAttribute("rpc.method", method).startSpan();
    try {
      parent.with(span).wrap(() -> work.accept(new Current(span))).run();
    } finally {
      span.end();
    }
  }
}
