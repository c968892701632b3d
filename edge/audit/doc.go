// Package audit keeps a record of every decision on a request and of every outcome of a call: in a file, on standard output,
// and as OpenTelemetry logs. No record has a token, an API key, or the id of a session or of a token as it is.
//
// A record waits in a bounded queue for the one goroutine that writes to its sink. Unless it is required, a record that
// finds the queue full is lost and counted. If it is, a decision takes effect once its record is written; whatever cannot be
// recorded within Options.Timeout is refused.
package audit
