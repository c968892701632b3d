"""Traces: each call is a span of the edge's trace. Without an SDK of OpenTelemetry this costs nothing, and the handler's context is still
that of the edge."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from opentelemetry import context, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_TRACE, _BAGGAGE = TraceContextTextMapPropagator(), W3CBaggagePropagator()
_tracer = trace.get_tracer("mcpedge.capability")


@contextmanager
def span(method: MethodDescriptor, metadata: Any) -> Generator[trace.Span, None, None]:
    """Creates a span for one RPC, which is current inside. metadata is gRPC's, pairs of name and value."""
    service = method.containing_service.full_name
    carrier = {k: v for k, v in metadata or () if isinstance(v, str)}
    parent = _BAGGAGE.extract(carrier, _TRACE.extract(carrier))
    attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method.name}
    token = context.attach(parent)
    try:
        with _tracer.start_as_current_span(f"{service}/{method.name}", kind=trace.SpanKind.SERVER, attributes=attributes) as current:
            yield current
    finally:
        context.detach(token)
