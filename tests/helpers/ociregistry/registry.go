// Package ociregistry starts a registry of OCI artefacts, docker-registry, for tests that push and
// pull.
package ociregistry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// Program is the required program, Package its Debian package.
const Program, Package = "docker-registry", "docker-registry"

// Start starts a registry that stores its files in dir, until the test ends. It returns the
// loopback address, host:port. The registry uses no TLS.
func Start(t testing.TB, dir string) string {
	t.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{ // JSON is valid YAML
		"version": "0.1", "http": map[string]any{"addr": addr},
		"storage": map[string]any{"filesystem": map[string]any{"rootdirectory": filepath.Join(dir, "registry")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "registry.yml")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(Program, Program, filepath.Join(dir, "registry.log"), "serve", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	if err := process.AwaitOK(t.Context(), "http://"+addr+"/v2/", p); err != nil {
		t.Fatal(err)
	}
	return addr
}
