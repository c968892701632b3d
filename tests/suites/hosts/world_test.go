//go:build hosts

package hosts

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/locked"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// world is what hosts meet: a backend, and two pairs of replicas before it.
type world struct {
	open, locked *fleet
	// key is what the locked replicas want.
	key string
	// served is the flag that names the backend.
	served  string
	backend *backend
}

// fleet is two replicas on one Redis behind a load balancer.
type fleet struct {
	group replicas.Group
	proxy *replicas.Proxy
}

// newWorld starts everything, which ends with the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{backend: &backend{gates: map[string]*gate{}}}
	served := harness.Serve(t, "hosts", w.backend.server())
	dir := t.TempDir()
	config, key, err := locked.Configure(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.key = key
	w.served = served.Name + "=" + served.Addr
	flags := []string{"--backend", w.served, "--log-level", "warn"}
	// Longer than the calls of TestLong.
	patient := filepath.Join(dir, "patient.yaml")
	if err := os.WriteFile(patient, []byte("backends: [{name: hosts, target: \""+served.Addr+"\", timeout: 5m}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.open = startFleet(t, filepath.Join(dir, "open"), "--config", patient, "--log-level", "warn")
	w.locked = startFleet(t, filepath.Join(dir, "locked"), append(flags, "--config", config)...)
	return w
}

func startFleet(t *testing.T, dir string, flags ...string) *fleet {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	redis, err := replicas.StartRedis(t.Context(), dir, "redis", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redis.Stop() })
	f := &fleet{}
	f.group, err = replicas.New(replicas.Options{Program: binary(t), Dir: dir, Redis: redis.URL(), Count: 2, Flags: func(int) []string { return flags }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.group.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := f.group.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.proxy, err = replicas.StartProxy(f.group); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.proxy.Stop)
	return f
}

// binary is the edge's program.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("MCPEDGE_BINARY")
	if path == "" {
		t.Fatal("MCPEDGE_BINARY names no binary: run make stages ONLY=hosts")
	}
	return path
}

// restore starts the replica that a test has ended.
func (f *fleet) restore(t *testing.T, e *replicas.Edge) {
	t.Helper()
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	if err := f.group.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitBoth(t, f)
}

// awaitBoth returns when the load balancer sends requests to both replicas.
func awaitBoth(t *testing.T, f *fleet) {
	t.Helper()
	await.Until(t, "the load balancer uses both replicas", func() bool {
		seen := map[string]bool{}
		for range 2 {
			resp, err := http.Get(f.proxy.URL)
			if err != nil {
				return false
			}
			_ = resp.Body.Close()
			seen[resp.Header.Get(replicas.ServedBy)] = true
		}
		return len(seen) == 2
	})
}
