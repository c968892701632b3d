package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Each page has what the code has, with its values.
func TestPagesAreOfTheCode(t *testing.T) {
	dir := t.TempDir()
	if err := write("../..", dir); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{
		"settings.md": {
			"| `listen.address` | string | `127.0.0.1:8080` |", "| `listen.body` | size | `4032KiB` | largest request body |", "| `calls.lifetime` | duration | `10m0s` |",
			"| `backends[].name` | string |  |", "| `auth.issuers[].introspection.ttl` | duration |",
		},
		"errors.md": {"| `header_mismatch` | `-32600`, HTTP 200 | `-32020`, HTTP 400 | a header is missing", "| `internal` |"},
		"values.md": {"| `replicaCount` "},
	}
	for _, i := range telemetry.Catalogue {
		rows["metrics.md"] = append(rows["metrics.md"], "| `"+i.Name+"` | "+string(i.Kind)+" |")
	}
	for page, want := range rows {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range want {
			if !strings.Contains(string(text), "\n"+row) {
				t.Errorf("%s has no row %s", page, row)
			}
		}
	}
}
