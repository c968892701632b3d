package app

import (
	"log/slog"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// With schemas: auto, check and the pool show schemas of a backend's author unchanged, and schemas
// that the edge generates in the portable form. A backend may override that.
func TestBackendsKnowTheFormOfSchemas(t *testing.T) {
	for _, c := range []struct {
		form, own         string
		contract, reflect bool
	}{
		{"", "", true, false},
		{config.SchemasAuto, "", true, false},
		{config.SchemasPortable, "", false, false},
		{config.SchemasFull, "", true, true},
		{config.SchemasPortable, config.SchemasFull, true, true},
		{config.SchemasFull, config.SchemasAuto, true, false},
		{config.SchemasAuto, config.SchemasPortable, false, false},
	} {
		cfg := config.Default()
		if c.form != "" {
			cfg.Lists.Schemas = c.form
		}
		cfg.Backends = []config.Backend{{Name: "a", Target: "h:1", Schemas: c.own}, {Name: "b", Target: "h:2", Kind: config.KindReflect, Schemas: c.own}}
		backends, err := Backends(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if backends[0].FullSchemas != c.contract || backends[1].FullSchemas != c.reflect {
			t.Errorf("schemas %q, of the backend %q: full %t, and of kind: reflect %t", c.form, c.own, backends[0].FullSchemas, backends[1].FullSchemas)
		}
	}
}
