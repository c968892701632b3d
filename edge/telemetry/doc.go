// Package telemetry makes the edge observable: spans by the OpenTelemetry conventions for MCP,
// metrics, and one log line per finished request. Every stage may import it.
//
// An era begins an Operation for each request and notification, and ends it; there is no other way
// in. With tracing off, the default, an Operation costs a clock reading and a histogram's counter,
// and allocates nothing; there are no span objects.
//
// A nil *Telemetry observes nothing. Names are only in names.go and catalogue.go.
package telemetry
