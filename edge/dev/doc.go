// Package dev shows a developer what the edge does: it keeps the last spans of this process, and of
// backends that send theirs, in memory, and serves a page with the latest calls and each call's
// waterfall, and with the tasks that the process had to do with, each with its runs on whatever replica.
//
// A Store is a span processor for telemetry.Options.SpanProcessors; Handler serves what is in it. What is
// kept is bounded by Options; what does not fit is dropped, oldest first, and counted.
package dev
