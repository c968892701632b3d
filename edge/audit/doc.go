// Package audit records every authorization decision and every outcome of a call, to a file, to
// standard output and as OpenTelemetry logs. Records contain no tokens and no API keys, and the ids
// of sessions and tokens only as digests.
//
// Each sink has a bounded queue and one goroutine that writes. By default, a record is dropped and
// counted if the queue is full. With Options.Required, a decision takes effect after its record is
// written, and a request that cannot be recorded within Options.Timeout is refused.
package audit
