package main

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// The edge takes the settings of the replicas.
func TestSettings(t *testing.T) {
	for _, o := range []options{{}, {keys: true, clients: 2, holders: 3}} {
		for _, m := range modes {
			dir := t.TempDir()
			if err := writeSettings(dir, o, m); err != nil {
				t.Fatal(err)
			}
			if _, err := config.ReadFile(settingsName(dir)); err != nil {
				t.Errorf("mode %s, keys %t: %v", m.name, o.keys, err)
			}
		}
	}
}
