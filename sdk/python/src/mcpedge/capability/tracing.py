"""Traces: each call is a span of the trace that the edge is in. Without an SDK of OpenTelemetry it costs nothing, and the
handler's context still has the edge's."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mcpedge.v1 import prompts_pb2, resources_pb2, tools_pb2

_TRACE, _BAGGAGE = TraceContextTextMapPropagator(), W3CBaggagePropagator()
_RPCS = {
    rpc.output_type.full_name: (service.full_name, rpc.name)
    for file in (tools_pb2, prompts_pb2, resources_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for rpc in service.methods
}
_tracer = trace.get_tracer("mcpedge.capability")


@contextmanager
def span(response: Any, metadata: Any) -> Generator[trace.Span, None, None]:
    """A span of one RPC, which answers with this type, current inside. metadata is gRPC's, pairs of name and value."""
    service, method = _RPCS[response.DESCRIPTOR.full_name]
    carrier = {k: v for k, v in metadata or () if isinstance(v, str)}
    parent = _BAGGAGE.extract(carrier, _TRACE.extract(carrier))
    attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}
    token = context.attach(parent)
    try:
        name = f"{service}/{method}"
        with _tracer.start_as_current_span(name, kind=trace.SpanKind.SERVER, attributes=attributes) as current:
            yield current
    finally:
        context.detach(token)
