// Package dev shows developers what the edge does. It keeps the last spans of this process, and of
// backends that export theirs, in memory. It serves a page with the latest calls, the waterfall of
// each call, and the tasks of this process with their runs on any replica.
//
// A Store is a span processor for telemetry.Options.SpanProcessors. Handler serves its contents.
// Options limits the memory; the oldest spans are dropped first, and counted.
package dev
