// Imported before anything that imports gRPC: its servers then continue the trace of their caller.
import { registerInstrumentations } from "@opentelemetry/instrumentation";
import { GrpcInstrumentation } from "@opentelemetry/instrumentation-grpc";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

new NodeTracerProvider().register(); // give it a span processor to export what is traced
registerInstrumentations({ instrumentations: [new GrpcInstrumentation()] });
