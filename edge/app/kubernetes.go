package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/certs"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/kubernetes"
	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
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
	// metadata has the metadata of every backend, and nothing else.
	metadata backend.Config
	// warned has the last logged warning about each Service. It belongs to the watcher's goroutine.
	warned map[string]string
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
	err := addMetadata(&a.cluster.metadata, k.Backend(), a.log)
	if err != nil {
		return fmt.Errorf("kubernetes.%w", err)
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
	var out []backend.Config
	for i := range found {
		b := &found[i]
		if why := a.granted(b); why != "" {
			a.warnOf(b.Name, "a Service has the label of backends and cannot be one", why)
			continue
		}
		out = append(out, a.backendOf(b))
	}
	if err := a.pool.Discover(out, a.cfg.Limits.CallLifetime); err != nil {
		a.log.Warn("some Services cannot be backends", "error", err)
	}
}

// granted sets the prefix of a Service by the settings, and returns why it may not be a backend by
// them; empty if it may.
func (a *App) granted(b *kubernetes.Backend) (why string) {
	k := a.cfg.Kubernetes
	if b.Kind == kubernetes.KindReflect && !k.Reflect {
		return "mcpedge.io/kind: reflect: the configuration does not allow it: set kubernetes.reflect, or serve the contract"
	}
	namespace, service, _ := strings.Cut(b.Name, "/")
	asked := b.Prefix
	b.Prefix = k.PrefixOf(namespace, service)
	switch {
	case !config.ValidPrefix(b.Prefix):
		return fmt.Sprintf("its names would begin with %q: names of tools have at most 63 letters, digits, and _ . - / before them: set another kubernetes.prefix", b.Prefix)
	case asked != "" && asked != b.Prefix:
		a.warnOf(b.Name, "a Service does not get the prefix that it asks for: the configuration gives it, with kubernetes.prefix",
			fmt.Sprintf("mcpedge.io/prefix: %q, given %q", asked, b.Prefix))
	case k.Prefix == nil:
		a.warnOf(b.Name, "the names of a Service begin with its namespace: set kubernetes.prefix to say so, or which prefix they have; \"\" is none",
			fmt.Sprintf("prefix %q", b.Prefix))
	}
	return ""
}

// warnOf logs a warning about a Service unless it repeats the last one.
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

// backendOf returns the backend settings of a Service.
func (a *App) backendOf(b *kubernetes.Backend) backend.Config {
	c := backend.Config{
		Name: b.Name, Revision: b.Revision(), Target: b.Target, Prefix: b.Prefix, Resolver: a.cluster.watcher.Resolver(), FullSchemas: a.cfg.FullSchemas(&config.Backend{Kind: b.Kind}),
		Caller: a.cluster.metadata.Caller, Fixed: a.cluster.metadata.Fixed, Headers: a.cluster.metadata.Headers,
	}
	if b.TLS {
		c.Credentials = a.cluster.tls.Client(b.Host)
	}
	if b.Kind == kubernetes.KindReflect {
		c.Adapt = reflected(config.Backend{Name: b.Name, Prefix: b.Prefix, Kind: config.KindReflect}, a.learned, a.log)
	}
	return c
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
