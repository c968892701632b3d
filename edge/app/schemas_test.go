package app

import (
	"log/slog"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// What `mcpedge check` and the pool take as settings of a backend has the form in which schemas are shown.
func TestBackendsKnowTheFormOfSchemas(t *testing.T) {
	for form, full := range map[string]bool{config.SchemasPortable: false, config.SchemasFull: true, "": false} {
		cfg := config.Default()
		if form != "" {
			cfg.Schemas = form
		}
		cfg.Backends = []config.Backend{{Name: "a", Target: "h:1"}, {Name: "b", Target: "h:2", Kind: config.KindReflect}}
		backends, err := Backends(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range backends {
			if b.FullSchemas != full {
				t.Errorf("schemas %q: backend %s has full schemas %v", form, b.Name, b.FullSchemas)
			}
		}
	}
}
