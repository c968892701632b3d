//go:build versions

package release

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

var duration = flag.Duration("duration", 20*time.Second, "how long each part puts load on the replicas")

// clients of each revision.
const clients = 10

// TestVersions is one test, since its parts share what was built.
func TestVersions(t *testing.T) {
	redisserver.Require(t)
	before, now := releases(t)
	t.Run("backends of the other version", func(t *testing.T) { crossed(t, before, now) })
	t.Run("rolled under judgement", func(t *testing.T) { judged(t, before, now) })
}

// crossed: replicas of both versions share a Redis, each with a backend of the other version; they serve as they are, then they are rolled
// to this version, each with its backend, and back to the version before.
func crossed(t *testing.T, before, now release) {
	ctx, dir := t.Context(), t.TempDir()
	redis, err := replicas.StartRedis(ctx, dir, "redis", false)
	must(t, err)
	defer stopped(t, redis.Stop)
	backends := map[string]string{} // addresses of those of a version
	for _, r := range []release{before, now} {
		backends[r.version] = startBackend(t, dir, r)
	}
	other := map[string]release{before.version: now, now.version: before}
	start := []release{before, now, before}
	edges, err := replicas.New(replicas.Options{
		Program: before.edge, Dir: dir, Redis: redis.URL(), Count: len(start),
		Flags: func(n int) []string {
			return []string{"MCPEDGE_SHUTDOWN_DELAY=500ms", "--backend", "everything=" + backends[other[start[n-1].version].version]}
		},
	})
	must(t, err)
	defer stopped(t, edges.Stop)
	versions := map[string]string{} // of incarnations
	for i, e := range edges {
		e.Use(start[i].edge)
		must(t, e.Start())
		versions[e.Name()] = start[i].version
	}
	must(t, edges.AwaitReady(ctx))
	proxy, err := replicas.StartProxy(edges)
	must(t, err)
	defer proxy.Stop()

	l, stop, ended := newLoad(proxy.URL), make(chan struct{}), make(chan error, 1)
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), *duration+3*time.Minute)
	defer cancel()
	go func() { ended <- l.run(within, clients, stop) }()
	wait(ctx, *duration/3) // as they are
	rolled := 0
	for _, to := range []release{now, before} {
		for _, e := range edges {
			must(t, e.Stop())
			e.Use(to.edge)
			must(t, e.Start())
			versions[e.Name()] = to.version
			must(t, e.AwaitReady(ctx))
			rolled++
		}
		wait(ctx, *duration/3)
	}
	close(stop)
	must(t, <-ended)

	served := map[string]int{}
	for incarnation, n := range l.served {
		served[versions[incarnation]] += n
	}
	figure(t, "%s and %s on one Redis, backends of the other version, %d replicas replaced, %d clients of %s and of %s each",
		before.version, now.version, rolled, clients, revisions[0], revisions[1])
	figure(t, "requests served by %s: %d, by %s: %d", before.version, served[before.version], now.version, served[now.version])
	for _, kind := range slices.Sorted(maps.Keys(l.seen)) {
		figure(t, "%6d  %s", l.seen[kind], kind)
	}
	figure(t, "%d calls made, %d lost", l.made.Load(), l.lost.Load())
	if l.made.Load() < 100 || served[before.version] < 100 || served[now.version] < 100 {
		t.Errorf("%d calls, served by %v, show nothing", l.made.Load(), served)
	}
	for _, kind := range calls {
		for _, revision := range revisions {
			if l.seen[revision+" "+kind.name] == 0 {
				t.Errorf("no client of %s called %s", revision, kind.name)
			}
		}
	}
	for _, loss := range l.losses[:min(10, len(l.losses))] {
		t.Errorf("lost: %s", loss)
	}
}

// figure writes a line to the file that VERSIONS_FIGURES names, for whoever ran the target to read, and to the test's log.
func figure(t *testing.T, format string, values ...any) {
	t.Helper()
	text := fmt.Sprintf(format, values...)
	t.Log(text)
	if name := os.Getenv("VERSIONS_FIGURES"); name != "" {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		must(t, err)
		_, err = fmt.Fprintln(file, text)
		must(t, errors.Join(err, file.Close()))
	}
}

// startBackend starts the backend of a version until the test ends, and returns its address.
func startBackend(t *testing.T, dir string, r release) string {
	t.Helper()
	addrs, err := process.FreeAddrs(1)
	must(t, err)
	p, err := process.Start("everything "+r.version, r.backend, filepath.Join(dir, "everything-"+r.version+".log"), "--listen", addrs[0])
	must(t, err)
	t.Cleanup(func() { stopped(t, p.Stop) })
	must(t, process.AwaitListening(t.Context(), addrs[0], p))
	return addrs[0]
}

// judged: the clients and the holders of tasks of tests/programs/chaos, while replicas of both versions are rolled from each to the other. Nothing may
// be lost, answered twice, or out of order.
func judged(t *testing.T, before, now release) {
	chaos := filepath.Join(t.TempDir(), "chaos")
	run(t, root, nil, "go", "build", "-buildvcs=false", "-o", chaos, "./tests/programs/chaos")
	cmd := exec.CommandContext(t.Context(), chaos, "-mode", "versions", "-program", now.edge, "-other", before.edge, "-clients", "60", "-holders", "12",
		"-counts", "", "-duration", duration.String())
	cmd.Dir = root
	process.Bind(cmd)
	out, err := cmd.CombinedOutput()
	figure(t, "%s", strings.TrimSpace(string(out)))
	must(t, err)
}

// wait lets the clients work for a while.
func wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

func stopped(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Error(err)
	}
}
