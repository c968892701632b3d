// Package telemetry is what operators see of the edge: spans by the OpenTelemetry conventions for MCP,
// metrics, and one log line per finished request. Every stage may import it.
//
// An Operation is the one seam: an era begins one for each request and notification, and ends it. With
// tracing off, the default, that costs a look at the clock and a histogram's counter, and allocates
// nothing; there are no span objects.
//
// A nil *Telemetry observes nothing. Names are in names.go and catalogue.go, and nowhere else.
package telemetry
