package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/resolver"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
)

// DefaultSelector is the default of Options.Selector.
const DefaultSelector = "mcpedge.io/backend=true"

// Options are the settings of a Watcher.
type Options struct {
	// Client configures the connection to the API server; nil means as from a pod of the cluster.
	Client *api.Config
	// Selector of labels; empty means DefaultSelector.
	Selector string
	// Namespaces to watch; at least one.
	Namespaces []string
	// Changed is called with all backends, sorted by name, after each change, and once after they
	// were first read. Calls do not overlap.
	Changed func([]Backend)
	// Logger logs each Service that has the label and cannot be a backend, once; nil means
	// slog.Default().
	Logger *slog.Logger
}

// Watcher follows the Services of a cluster.
type Watcher struct {
	o         Options
	client    *api.Client
	services  []*api.Follower[*api.Service] // by namespace
	endpoints []*api.Follower[*api.EndpointSlice]
	directory *directory
	due       chan struct{} // has room for one
	synced    chan struct{}
	refused   map[string]string // why a Service is refused, by Service; only for Run's goroutine
	foreign   map[string]string // why endpoints of a Service are refused, by Service; only for Run's goroutine
	before    []Backend
}

// New returns a Watcher, which is idle until Run. It returns an error outside of a pod if Client is
// not set, for no namespace, and for an invalid selector.
func New(o Options) (*Watcher, error) {
	o.Selector = cmp.Or(o.Selector, DefaultSelector)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err := api.CheckSelector(o.Selector); err != nil {
		return nil, fmt.Errorf("the selector %q: %w", o.Selector, err)
	}
	if o.Client == nil {
		var err error
		if o.Client, err = api.InCluster(); err != nil {
			return nil, fmt.Errorf("the API server of Kubernetes cannot be found: %w", err)
		}
	}
	if len(o.Namespaces) == 0 {
		return nil, errors.New("no namespace: name those to look for Services in")
	}
	client, err := api.NewClient(*o.Client)
	if err != nil {
		return nil, err
	}
	w := &Watcher{
		o: o, client: client, directory: newDirectory(), due: make(chan struct{}, 1), synced: make(chan struct{}), refused: map[string]string{},
	}
	for _, namespace := range o.Namespaces {
		selected := api.Options{Namespace: namespace, Selector: o.Selector, Changed: w.changed, Failed: w.failed}
		all := api.Options{Namespace: namespace, Changed: w.changed, Failed: w.failed}
		w.services = append(w.services, api.Follow(client, api.Services, selected))
		w.endpoints = append(w.endpoints, api.Follow(client, api.EndpointSlices, all))
	}
	return w, nil
}

// changed schedules a refresh by Run.
func (w *Watcher) changed() {
	select {
	case w.due <- struct{}{}:
	default:
	}
}

// failed logs a failure to read from the API server.
func (w *Watcher) failed(err error) {
	w.o.Logger.Warn("cannot read from the Kubernetes API server; the backends found before stay in use", "error", err)
}

// Resolver returns the gRPC resolver for the Target of each Backend.
func (w *Watcher) Resolver() resolver.Builder { return w.directory }

// Synced is closed after everything was read once and Options.Changed has returned.
func (w *Watcher) Synced() <-chan struct{} { return w.synced }

// Run watches the Services until ctx ends, and returns after all goroutines have ended. Call it
// once.
func (w *Watcher) Run(ctx context.Context) {
	defer w.client.Close()
	var running sync.WaitGroup
	defer running.Wait()
	var synced []<-chan struct{}
	for n, services := range w.services {
		running.Go(func() { services.Run(ctx) })
		running.Go(func() { w.endpoints[n].Run(ctx) })
		synced = append(synced, services.Synced(), w.endpoints[n].Synced())
	}
	for _, listed := range synced {
		select {
		case <-listed:
		case <-ctx.Done():
			return
		}
	}
	w.refresh()
	close(w.synced)
	for {
		select {
		case <-w.due:
			w.refresh()
		case <-ctx.Done():
			return
		}
	}
}

// refresh computes the backends from the current objects.
func (w *Watcher) refresh() {
	found, addressesOf, refused, foreign := map[string]Backend{}, map[string][]string{}, map[string]string{}, map[string]string{}
	for n, services := range w.services {
		all := byService(w.endpoints[n].Objects())
		for _, s := range services.Objects() {
			b, err := read(s)
			if err != nil {
				if refused[b.Name] = err.Error(); w.refused[b.Name] != err.Error() {
					w.o.Logger.Warn("a Service has the label of backends, but cannot be a backend", "service", b.Name, "error", err)
				}
				continue
			}
			found[b.Name] = b
			own, why := ownPods(all[s.Name], b.selects)
			if why != "" {
				if foreign[b.Name] = why; w.foreign[b.Name] != why {
					w.o.Logger.Warn("endpoints of a Service get no calls", "service", b.Name, "error", why)
				}
			}
			addressesOf[b.Name] = addresses(own, b.port)
		}
	}
	w.refused, w.foreign = refused, foreign
	w.directory.set(addressesOf)
	backends := make([]Backend, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		backends = append(backends, found[name])
	}
	if w.before == nil || !slices.Equal(backends, w.before) {
		w.before = backends
		w.o.Changed(slices.Clone(backends))
	}
}

// byService groups the EndpointSlices of a namespace by the name of their Service.
func byService(all []*api.EndpointSlice) map[string][]*api.EndpointSlice {
	out := map[string][]*api.EndpointSlice{}
	for _, s := range all {
		name := s.Labels[api.LabelServiceName]
		out[name] = append(out[name], s)
	}
	return out
}
