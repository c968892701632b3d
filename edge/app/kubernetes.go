package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	reflectlib "reflect"
	"slices"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/certs"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/kubernetes"
	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
	"github.com/mcpedge/mcpedge/edge/reflect"
)

// namespaceFile has the namespace of the pod that this process runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// WithCluster sets how to reach the API server of Kubernetes, instead of as from a pod.
func WithCluster(c *api.Config) Option { return func(a *App) { a.cluster.client = c } }

// cluster is the discovery of backends in Kubernetes.
type cluster struct {
	client  *api.Config         // nil connects as from a pod
	watcher *kubernetes.Watcher // nil looks for nothing
	tls     *certs.Source

	// mu serializes changes in the cluster and of the settings. It is acquired before the locks of the
	// catalog and the pool.
	mu sync.Mutex
	// found are the Services that were found last, and opened their backends.
	found  []kubernetes.Backend
	opened []openBackend
	// merged are the settings of the Services that were found last, by name.
	merged map[string]mergedSettings
	// warned has the last logged warning about each Service that is there.
	warned map[string]string
}

// mergedSettings are the settings of a Service that requests a kind, or the reason for which it has
// none.
type mergedSettings struct {
	by       *config.Config
	kind     string
	settings *config.Backend
	err      error
}

// settingsOf returns the settings of a Service as Config.Discovered does. It merges and validates
// them once for each generation. The caller must not modify them. The caller holds cluster.mu.
func (a *App) settingsOf(cfg *config.Config, found *kubernetes.Backend) (*config.Backend, error) {
	if m, ok := a.cluster.merged[found.Name]; ok && m.by == cfg && m.kind == found.Kind {
		return m.settings, m.err
	}
	if a.cluster.merged == nil {
		a.cluster.merged = map[string]mergedSettings{}
	}
	settings, err := cfg.Discovered(found.Name, found.Kind)
	a.cluster.merged[found.Name] = mergedSettings{cfg, found.Kind, settings, err}
	return settings, err
}

// openCluster prepares the search for backends in Kubernetes, if it is configured.
func (a *App) openCluster() error {
	k := a.cfg.Kubernetes
	if k == nil {
		return nil
	}
	namespaces := k.Namespaces
	if len(namespaces) == 0 {
		name, err := os.ReadFile(namespaceFile)
		if err != nil {
			return fmt.Errorf("kubernetes: the namespace of this pod is not known, name those to look at with kubernetes.namespaces: %w", err)
		}
		namespaces = []string{strings.TrimSpace(string(name))}
	}
	err := a.checkServiceFiles(context.Background(), &a.cfg, nil)
	if err != nil {
		return err
	}
	if a.cluster.tls, err = a.tls.Open(kubernetesFiles(k), a.log); err != nil {
		return err
	}
	a.cluster.watcher, err = kubernetes.New(kubernetes.Options{
		Client: a.cluster.client, Selector: k.Selector, Namespaces: namespaces, Changed: a.discovered, Logger: a.log,
	})
	if err != nil {
		return fmt.Errorf("kubernetes: %w", err)
	}
	return nil
}

// discovered makes backends of the Services that were found.
func (a *App) discovered(found []kubernetes.Backend) {
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	a.cluster.found = found
	isGone := func(name string) bool {
		return !slices.ContainsFunc(found, func(b kubernetes.Backend) bool { return b.Name == name })
	}
	maps.DeleteFunc(a.cluster.warned, func(name, _ string) bool { return isGone(name) })
	maps.DeleteFunc(a.cluster.merged, func(name string, _ mergedSettings) bool { return isGone(name) })
	a.discover(a.current.Load())
}

// discover makes the Services that were found last the discovered backends, by the settings of a
// generation. cluster.mu is locked.
func (a *App) discover(g *generation) {
	if a.cluster.watcher == nil {
		return
	}
	var next []openBackend
	before := slices.Concat(a.cluster.opened, g.discovered)
	for i := range a.cluster.found {
		b := &a.cluster.found[i]
		one, err := a.openService(g, b, before)
		if err != nil {
			a.warnOf(b.Name, "a Service has the label of backends, but cannot be a backend", err.Error())
			continue
		}
		a.warnOfPrefix(&g.Config, b, one.Prefix)
		next = append(next, *one)
	}
	a.cluster.opened, g.discovered = next, nil
	if err := a.pool.Discover(configs(next), a.cfg.Calls.Lifetime); err != nil {
		a.log.Warn("some Services cannot be backends", "error", err)
	}
	a.closeServicesLocked(before)
	gone := func(name string) bool { // Names of configured backends have no slash.
		return strings.Contains(name, "/") && !slices.ContainsFunc(next, func(b openBackend) bool { return b.Name == name })
	}
	a.identity.forget(gone)
	if a.auth != nil {
		a.auth.ForgetExchangers(gone)
	}
}

// openServices opens the backends of the known Services for the settings of a new generation. It
// reuses those that do not change.
func (a *App) openServices(g *generation) (out []openBackend) {
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	for i := range a.cluster.found {
		one, err := a.openService(g, &a.cluster.found[i], a.cluster.opened)
		if err == nil && find(a.cluster.opened, one.Name, one.Revision) == nil {
			out = append(out, *one)
		}
	}
	return out
}

// openService returns the backend of a Service. It reuses the one of known if the settings are
// equal. The error is the reason for which the Service cannot be a backend. The caller holds
// cluster.mu.
func (a *App) openService(g *generation, found *kubernetes.Backend, known []openBackend) (*openBackend, error) {
	cfg := &g.Config
	settings, err := a.settingsOf(cfg, found)
	if err != nil {
		return nil, err
	}
	b := new(*settings)
	revision := fmt.Sprintf("%s %v", b.Revision(cfg), found.TLS)
	if one := find(known, b.Name, revision); one != nil {
		return one, nil
	}
	if b.TLS != nil {
		t := *b.TLS
		t.ServerName = cmp.Or(t.ServerName, found.Host)
		b.TLS = &t
	}
	one, err := a.opener(g).openOne(cfg, b, "kubernetes.backends")
	if err != nil {
		return nil, err
	}
	one.Revision, one.Target, one.Resolver = revision, found.Target, a.cluster.watcher.Resolver()
	if b.TLS == nil && found.TLS {
		one.Credentials = a.cluster.tls.Client(found.Host)
	}
	return one, nil
}

// checkServiceFiles returns an error if a file that an entry of kubernetes.backends names cannot be
// used, even if no Service matches the entry. It skips the entries of was: their files are open,
// and stay in use if they cannot be read any more. was may be nil.
func (a *App) checkServiceFiles(ctx context.Context, cfg, was *config.Config) error {
	if cfg.Kubernetes == nil {
		return nil
	}
	isKnown := func(b *config.Backend) bool {
		return was != nil && was.Kubernetes != nil &&
			slices.ContainsFunc(was.Kubernetes.Backends, func(o config.Backend) bool { return o.Name == b.Name && reflectlib.DeepEqual(*b, o) })
	}
	for i := range cfg.Kubernetes.Backends {
		b := &cfg.Kubernetes.Backends[i]
		if isKnown(b) {
			continue
		}
		place := fmt.Sprintf("kubernetes.backends[%d] %s", i, b.Name)
		if err := addMetadata(new(backend.Config), b, a.log); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		if b.TLS != nil {
			if _, err := certs.Open(serviceFiles(i, b), a.log); err != nil {
				return err
			}
		}
		if b.DescriptorSet != "" {
			if _, err := reflect.CheckDescriptorSet(ctx, reflection(b, nil, slog.New(slog.DiscardHandler))); err != nil {
				return fmt.Errorf("%s: descriptor-set: %w", place, err)
			}
		}
	}
	return nil
}

// CheckServiceMetadata returns an error for each entry of kubernetes.backends whose file of
// metadata cannot be read.
func CheckServiceMetadata(cfg config.Config) error {
	if cfg.Kubernetes == nil {
		return nil
	}
	var errs []error
	for i := range cfg.Kubernetes.Backends {
		b := &cfg.Kubernetes.Backends[i]
		if err := addMetadata(new(backend.Config), b, slog.New(slog.DiscardHandler)); err != nil {
			errs = append(errs, fmt.Errorf("kubernetes.backends[%d] %s: %w", i, b.Name, err))
		}
	}
	return errors.Join(errs...)
}

// closeServices closes the files of discovered backends that are not in use.
func (a *App) closeServices(list []openBackend) {
	a.cluster.mu.Lock()
	defer a.cluster.mu.Unlock()
	a.closeServicesLocked(list)
}

// closeServicesLocked is closeServices with cluster.mu locked.
func (a *App) closeServicesLocked(list []openBackend) {
	for i := range list {
		files := list[i].files
		if files != nil && !slices.ContainsFunc(a.cluster.opened, func(o openBackend) bool { return o.files == files }) {
			a.tls.Remove(files)
		}
	}
}

// warnOfPrefix logs if a Service has requested another prefix than that of the settings, or has
// only a default prefix.
func (a *App) warnOfPrefix(cfg *config.Config, b *kubernetes.Backend, prefix string) {
	namespace, service, _ := strings.Cut(b.Name, "/")
	switch {
	case b.Prefix != "" && b.Prefix != prefix:
		a.warnOf(b.Name, "a Service does not get the prefix that it asks for: the configuration gives it, with prefix of an entry of kubernetes.backends or with kubernetes.prefix",
			fmt.Sprintf("mcpedge.io/prefix: %q, given %q", b.Prefix, prefix))
	case cfg.Kubernetes.Prefix == nil && prefix == cfg.Kubernetes.PrefixOf(namespace, service):
		a.warnOf(b.Name, "the names of a Service begin with its namespace: set kubernetes.prefix to say so, or which prefix they have; \"\" is none",
			fmt.Sprintf("prefix %q", prefix))
	}
}

// warnOf logs a warning about a Service unless it repeats the last one. cluster.mu is locked.
func (a *App) warnOf(service, message, detail string) {
	if a.cluster.warned == nil {
		a.cluster.warned = map[string]string{}
	}
	if a.cluster.warned[service] == message+detail {
		return
	}
	a.cluster.warned[service] = message + detail
	a.log.Warn(message, "service", service, "detail", detail)
}

// startCluster starts the search for backends, until run ends, and waits until the Services were
// read once or ctx ends.
func (a *App) startCluster(ctx, run context.Context, running *sync.WaitGroup) {
	w := a.cluster.watcher
	if w == nil {
		return
	}
	running.Go(func() { w.Run(run) })
	a.notReady("waiting for the Services of Kubernetes to be read")
	select {
	case <-w.Synced():
		a.notReady("waiting for the backends to be tried")
	case <-ctx.Done():
	}
}
