//! Traces: each call is a span of the trace that the edge is in. Without an SDK of OpenTelemetry it costs next to nothing, and the handler's
//! context still has the edge's.

use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, TraceContextExt, TraceFlags, TraceId, TraceState, Tracer};
use opentelemetry::{Context, KeyValue, global};
use std::str::FromStr;
use tonic::metadata::{KeyRef, MetadataMap};

struct Headers<'a>(&'a MetadataMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().filter_map(|k| if let KeyRef::Ascii(k) = k { Some(k.as_str()) } else { None }).collect()
    }
}

/// A context with a span of one RPC, below the caller's.
pub(crate) fn span(service: &'static str, method: &'static str, metadata: &MetadataMap) -> Context {
    let headers = Headers(metadata);
    // A program may have chosen its propagator, which then has baggage as well.
    let mut parent = global::get_text_map_propagator(|p| p.extract(&headers));
    if let (false, Some(caller)) = (parent.has_active_span(), caller(&headers)) {
        parent = parent.with_remote_span_context(caller);
    }
    let tracer = global::tracer("mcpedge-capability");
    let attributes = [("rpc.system", "grpc"), ("rpc.service", service), ("rpc.method", method)];
    let span = tracer
        .span_builder(format!("{service}/{method}"))
        .with_kind(SpanKind::Server)
        .with_attributes(attributes.map(|(k, v)| KeyValue::new(k, v)));
    let span = span.start_with_context(&tracer, &parent);
    parent.with_span(span)
}

/// The caller's span by W3C Trace Context.
fn caller(headers: &Headers) -> Option<SpanContext> {
    let mut parts = headers.get("traceparent")?.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if version == "ff" || version.len() != 2 || (trace.len(), span.len(), flags.len()) != (32, 16, 2) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()? & 1);
    let state = headers.get("tracestate").and_then(|s| TraceState::from_str(s).ok()).unwrap_or_default();
    let context = SpanContext::new(TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?, flags, true, state);
    context.is_valid().then_some(context)
}
