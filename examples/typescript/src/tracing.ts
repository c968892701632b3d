// Registers OpenTelemetry's SDK: calls are then spans of the trace of their caller.
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

new NodeTracerProvider().register(); // give it a span processor to export what is traced
