package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/resolver"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// DefaultSelector selects the Services that are backends, unless Options say otherwise.
const DefaultSelector = "mcpedge.io/backend=true"

// Options are the settings of a Watcher.
type Options struct {
	// Client says how the API server is reached; nil: as from a pod of the cluster.
	Client *rest.Config
	// Selector of labels; empty: DefaultSelector.
	Selector string
	// Namespaces whose Services are looked at; at least one.
	Namespaces []string
	// Changed is told of all backends, by name, after each change of what is known of them, and once when they were first read. It is
	// called by one goroutine at a time.
	Changed func([]Backend)
	// Logger hears of Services that have the label and cannot be backends, once each; nil: slog.Default().
	Logger *slog.Logger
}

// Watcher follows the Services of a cluster.
type Watcher struct {
	o         Options
	services  []cache.SharedIndexInformer // by namespace
	endpoints []cache.SharedIndexInformer
	directory *directory
	due       chan struct{} // has room for one
	synced    chan struct{}
	refused   map[string]string // why, by Service; of Run's goroutine
	foreign   map[string]string // why endpoints of a Service are refused, by Service; of Run's goroutine
	before    []Backend
}

// byService is the index of EndpointSlices by their Service.
const byService = "service"

// New makes a Watcher, which does nothing before Run. It fails where the process runs in no pod and Client is not set, without a namespace,
// and on a selector that is none.
func New(o Options) (*Watcher, error) {
	o.Selector = cmp.Or(o.Selector, DefaultSelector)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if _, err := labels.Parse(o.Selector); err != nil {
		return nil, fmt.Errorf("the selector %q: %w", o.Selector, err)
	}
	if o.Client == nil {
		var err error
		if o.Client, err = rest.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("the API server of Kubernetes cannot be found: %w", err)
		}
	}
	if len(o.Namespaces) == 0 {
		return nil, errors.New("no namespace: name those to look for Services in")
	}
	w := &Watcher{
		o: o, directory: newDirectory(), due: make(chan struct{}, 1), synced: make(chan struct{}), refused: map[string]string{},
	}
	core, err := client(o.Client, "/api", corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return nil, err
	}
	discovery, err := client(o.Client, "/apis", discoveryv1.SchemeGroupVersion, discoveryv1.AddToScheme)
	if err != nil {
		return nil, err
	}
	for _, namespace := range o.Namespaces {
		selected := cache.NewFilteredListWatchFromClient(core, "services", namespace, func(l *metav1.ListOptions) { l.LabelSelector = o.Selector })
		all := cache.NewFilteredListWatchFromClient(discovery, "endpointslices", namespace, func(*metav1.ListOptions) {})
		w.services = append(w.services, cache.NewSharedIndexInformer(selected, &corev1.Service{}, 0, cache.Indexers{}))
		w.endpoints = append(w.endpoints, cache.NewSharedIndexInformer(all, &discoveryv1.EndpointSlice{}, 0, cache.Indexers{byService: serviceOf}))
	}
	for _, i := range slices.Concat(w.services, w.endpoints) {
		if err := w.prepare(i); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// client speaks about the objects of one group of the API.
func client(c *rest.Config, path string, group schema.GroupVersion, add func(*runtime.Scheme) error) (*rest.RESTClient, error) {
	kinds := runtime.NewScheme()
	if err := add(kinds); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(kinds, group)
	own := rest.CopyConfig(c)
	own.APIPath, own.GroupVersion = path, &group
	own.NegotiatedSerializer = serializer.NewCodecFactory(kinds).WithoutConversion()
	own.UserAgent = "mcpedge"
	return rest.RESTClientFor(own)
}

// serviceOf indexes an EndpointSlice.
func serviceOf(object any) ([]string, error) {
	if s, ok := object.(*discoveryv1.EndpointSlice); ok {
		return []string{s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]}, nil
	}
	return nil, nil
}

// prepare has an informer keep what is needed, and tell of changes and failures.
func (w *Watcher) prepare(i cache.SharedIndexInformer) error {
	changed := func() {
		select {
		case w.due <- struct{}{}:
		default:
		}
	}
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return err
	}
	if err := i.SetTransform(func(object any) (any, error) {
		if o, ok := object.(metav1.Object); ok {
			o.SetManagedFields(nil)
		}
		return object, nil
	}); err != nil {
		return err
	}
	return i.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		ended := errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) // as watches do, and are begun again
		if ctx.Err() == nil && !ended {
			w.o.Logger.Warn("the API server of Kubernetes cannot be read: what was found before stays", "error", err)
		}
	})
}

// Resolver finds the addresses of the Target of each Backend.
func (w *Watcher) Resolver() resolver.Builder { return w.directory }

// Synced is closed when everything was read once, and Options.Changed was told.
func (w *Watcher) Synced() <-chan struct{} { return w.synced }

// Run follows the Services until ctx ends, and returns when no goroutine is left. Call it once.
func (w *Watcher) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	all := slices.Concat(w.services, w.endpoints)
	var have []cache.InformerSynced
	for _, i := range all {
		running.Go(func() { i.RunWithContext(ctx) })
		have = append(have, i.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), have...) {
		return
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

// refresh looks at everything that is known.
func (w *Watcher) refresh() {
	found, addressesOf, refused, foreign := map[string]Backend{}, map[string][]string{}, map[string]string{}, map[string]string{}
	for n, informer := range w.services {
		for _, object := range informer.GetStore().List() {
			s, ok := object.(*corev1.Service)
			if !ok {
				continue
			}
			b, err := read(s)
			if err != nil {
				if refused[b.Name] = err.Error(); w.refused[b.Name] != err.Error() {
					w.o.Logger.Warn("a Service has the label of backends and cannot be one", "service", b.Name, "error", err)
				}
				continue
			}
			found[b.Name] = b
			own, why := ownPods(w.slicesOf(n, b.Name), b.selects)
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

// slicesOf are the EndpointSlices of a Service of the nth namespace.
func (w *Watcher) slicesOf(n int, name string) (out []*discoveryv1.EndpointSlice) {
	objects, _ := w.endpoints[n].GetIndexer().ByIndex(byService, name) // the index is there
	for _, object := range objects {
		if s, ok := object.(*discoveryv1.EndpointSlice); ok {
			out = append(out, s)
		}
	}
	return out
}
