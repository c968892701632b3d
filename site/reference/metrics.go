package main

import (
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// metricsPage has a row for each metric of the edge's catalogue.
func metricsPage(string) (string, error) {
	var b strings.Builder
	b.WriteString("# Metrics\n\nEvery metric of the edge, made from the code: by OTLP under these names, at `/metrics` in the form that Prometheus has for them " +
		"(dots are underscores, with the unit, and `_total` for counters). [Telemetry](../telemetry.md) says how to get and read them.\n\n" +
		"| metric | kind | unit | attributes | what it is |\n|---|---|---|---|---|\n")
	for _, i := range telemetry.Catalogue {
		attributes := make([]string, len(i.Attributes))
		for n, a := range i.Attributes {
			attributes[n] = code(string(a))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(i.Name), i.Kind, code(i.Unit), strings.Join(attributes, ", "), cell(i.Description))
	}
	return b.String(), nil
}
