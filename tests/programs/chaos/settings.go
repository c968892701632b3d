package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// settingsName is the file with the settings of all replicas.
func settingsName(dir string) string { return filepath.Join(dir, "edge.yaml") }

// key is the one of a client; empty: clients have none.
func (o options) key(kind string, number int) string {
	if !o.keys {
		return ""
	}
	return fmt.Sprintf("key-of-%s-%d", kind, number)
}

// writeSettings makes the settings of the replicas, which are JSON, and so YAML: who may call, and what they must record. Arguments are
// recorded whole: they have the call's tag.
func writeSettings(dir string, o options, m mode) error {
	settings := map[string]any{}
	if o.keys {
		name := filepath.Join(dir, "keys.yaml")
		if err := writeJSON(name, o.allKeys()); err != nil {
			return err
		}
		settings["listen"] = map[string]any{"public-url": "https://chaos.example"}
		settings["auth"] = map[string]any{"api-keys": name}
	}
	if m.audited {
		settings["audit"] = map[string]any{"file": auditName(dir, "{replica}"), "required": true, "arguments": "whole"}
	}
	return writeJSON(settingsName(dir), settings)
}

// allKeys are the entries of all clients' keys.
func (o options) allKeys() (out []map[string]string) {
	for kind, n := range map[string]int{"client": o.clients, "holder": o.holders} {
		for i := 1; i <= n; i++ {
			sum := sha256.Sum256([]byte(o.key(kind, i)))
			out = append(out, map[string]string{"name": fmt.Sprintf("%s-%d", kind, i), "sha256": fmt.Sprintf("%x", sum)})
		}
	}
	return out
}

func writeJSON(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
