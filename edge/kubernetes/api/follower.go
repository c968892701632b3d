package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The bounds of what an API server sends.
const (
	pageObjects = 100
	maxPage     = 64 << 20 // bytes
	maxEvent    = 8 << 20  // bytes; etcd accepts objects of up to 1.5 MiB
	maxObjects  = 20_000   // of a Follower
)

// Timeouts of lists and watches.
const (
	listTimeout = 2 * time.Minute // of all pages
	watchTime   = 5 * time.Minute // the least requested duration of a watch; the greatest is twice that
	watchGrace  = 30 * time.Second
	shortWatch  = 10 * time.Second // a watch without an event that ends sooner is a failure
	minPause    = 500 * time.Millisecond
	maxPause    = 30 * time.Second
)

// Options are the settings of a Follower.
type Options struct {
	Namespace string
	// Selector of labels; empty selects all.
	Selector string
	// Changed is called after each change of the objects. It must not block.
	Changed func()
	// Failed is called with each error, before the next attempt. The regular end of a watch is not
	// an error.
	Failed func(error)
}

// Follower keeps a copy of the objects of a resource in a namespace. While the API server is
// unavailable the copy stays. Safe for concurrent use.
type Follower[T Object] struct {
	client   *Client
	resource Resource[T]
	o        Options
	synced   chan struct{}
	once     sync.Once

	mu      sync.Mutex
	objects map[string]T
}

// Follow returns a Follower. It is idle until Run.
func Follow[T Object](client *Client, resource Resource[T], o Options) *Follower[T] {
	return &Follower[T]{client: client, resource: resource, o: o, synced: make(chan struct{}), objects: map[string]T{}}
}

// Synced is closed when the objects were listed once.
func (f *Follower[T]) Synced() <-chan struct{} { return f.synced }

// Objects returns the objects, in no particular order. The caller must not modify them.
func (f *Follower[T]) Objects() []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.objects))
}

// Run lists and watches until ctx ends. Call it once.
func (f *Follower[T]) Run(ctx context.Context) {
	version, failures := "", 0 // an empty version requests a list
	for ctx.Err() == nil {
		var err error
		progress := false
		if version == "" {
			if version, err = f.list(ctx); err == nil {
				continue // a list does not reset failures: each watch after it may fail at once
			}
		} else {
			version, progress, err = f.watch(ctx, version)
		}
		if progress {
			failures = 0
			if err == nil {
				continue
			}
		}
		if err != nil && !isGone(err) && ctx.Err() == nil {
			f.o.Failed(err)
		}
		failures++
		pause(ctx, backoff(failures))
	}
}

// backoff returns the longest pause after a number of consecutive failures.
func backoff(failures int) time.Duration {
	return min(minPause<<min(failures-1, 10), maxPause)
}

// pause waits for between a half and the whole of d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d/2 + rand.N(d/2)) // #nosec G404 -- a pause is no secret
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// access returns the permission that a request needs.
func (f *Follower[T]) access(verb string) access {
	return access{verb: verb, group: f.resource.Group, resource: f.resource.Name, namespace: f.o.Namespace}
}

// query returns the common query parameters.
func (f *Follower[T]) query() url.Values {
	q := url.Values{}
	if f.o.Selector != "" {
		q.Set("labelSelector", f.o.Selector)
	}
	return q
}

// page is a part of a list.
type page[T Object] struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []T `json:"items"`
}

// list replaces the objects by the current ones, and returns the version to watch from.
func (f *Follower[T]) list(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	objects, query := map[string]T{}, f.query()
	query.Set("limit", strconv.Itoa(pageObjects))
	for {
		p, err := f.page(ctx, query)
		if err != nil {
			return "", err
		}
		for _, o := range p.Items {
			if err := f.put(objects, o); err != nil {
				return "", err
			}
		}
		if p.Metadata.Continue == "" {
			version = p.Metadata.ResourceVersion
			break
		}
		query.Set("continue", p.Metadata.Continue)
	}
	if version == "" {
		return "", fmt.Errorf("the list of %s in namespace %s has no resourceVersion", f.resource.Name, f.o.Namespace)
	}
	f.mu.Lock()
	f.objects = objects
	f.mu.Unlock()
	f.once.Do(func() { close(f.synced) })
	f.o.Changed()
	return version, nil
}

// page reads a page of a list.
func (f *Follower[T]) page(ctx context.Context, query url.Values) (p page[T], err error) {
	resp, err := f.client.get(ctx, f.access("list"), f.resource.path(f.o.Namespace), query)
	if err != nil {
		return p, err
	}
	defer resp.Body.Close()
	body := &bounded{from: resp.Body, what: fmt.Sprintf("a page of %d %s in namespace %s", pageObjects, f.resource.Name, f.o.Namespace), bound: maxPage}
	body.next()
	text, err := io.ReadAll(body) // read it completely, so that the connection is reused for the next page
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("list %s in namespace %s: %w", f.resource.Name, f.o.Namespace, err)
	}
	return p, nil
}

// event is a change in a watch.
type event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch applies the changes after a version until the watch ends, and returns the version to
// continue from; empty requests a list. err is nil if the watch ended regularly. progress reports
// whether it applied an event or lasted long enough.
func (f *Follower[T]) watch(ctx context.Context, from string) (version string, progress bool, err error) {
	began, lasts := time.Now(), watchTime+rand.N(watchTime) // #nosec G404 -- random, so that watches do not end at the same time
	ctx, cancel := context.WithTimeout(ctx, lasts+watchGrace)
	defer cancel()
	query := f.query()
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	query.Set("resourceVersion", from)
	query.Set("timeoutSeconds", strconv.Itoa(int(lasts.Seconds())))
	resp, err := f.client.get(ctx, f.access("watch"), f.resource.path(f.o.Namespace), query)
	if err != nil {
		return resumeVersion(from, err), false, err
	}
	defer resp.Body.Close()
	body := &bounded{from: resp.Body, what: fmt.Sprintf("an event of %s in namespace %s", f.resource.Name, f.o.Namespace), bound: maxEvent}
	for events := json.NewDecoder(body); ; progress = true {
		var e event
		body.next()
		if err := events.Decode(&e); err != nil {
			switch progress = progress || time.Since(began) >= shortWatch; {
			case !body.isEnd(err):
				return from, progress, f.unreadable(err)
			case !progress:
				return from, progress, f.unreadable(errors.New("it ended at once, without an event"))
			}
			return from, progress, nil
		}
		at, err := f.apply(e)
		if err != nil {
			return resumeVersion(from, err), progress, err
		}
		from = at
	}
}

// resumeVersion returns the version to continue from after an error: version, or empty to list again if
// the API server has refused it.
func resumeVersion(version string, err error) string {
	if _, refused := errors.AsType[*StatusError](err); refused {
		return ""
	}
	return version
}

// unreadable returns the error of a watch with an invalid response.
func (f *Follower[T]) unreadable(err error) error {
	return fmt.Errorf("watch %s in namespace %s: %w", f.resource.Name, f.o.Namespace, err)
}

// apply applies an event, and returns its version.
func (f *Follower[T]) apply(e event) (version string, err error) {
	if e.Type == "ERROR" {
		var s status
		if err := json.Unmarshal(e.Object, &s); err != nil {
			return "", f.unreadable(err)
		}
		return "", s.of(f.access("watch"))
	}
	var none, o T
	if err := json.Unmarshal(e.Object, &o); err != nil {
		return "", f.unreadable(err)
	}
	if o == none || o.Meta().ResourceVersion == "" {
		return "", f.unreadable(fmt.Errorf("an event %.20q has no object with a resourceVersion", e.Type))
	}
	version = o.Meta().ResourceVersion
	if e.Type == "BOOKMARK" {
		return version, nil
	}
	f.mu.Lock()
	switch e.Type {
	case "ADDED", "MODIFIED":
		err = f.put(f.objects, o)
	case "DELETED":
		delete(f.objects, o.Meta().Name)
	default:
		err = f.unreadable(fmt.Errorf("an event of the unknown type %.20q", e.Type))
	}
	f.mu.Unlock()
	if err != nil {
		return "", err
	}
	f.o.Changed()
	return version, nil
}

// put adds or replaces an object, within the bound.
func (f *Follower[T]) put(objects map[string]T, o T) error {
	var none T
	if o == none || o.Meta().Name == "" {
		return fmt.Errorf("one of the %s in namespace %s has no name", f.resource.Name, f.o.Namespace)
	}
	name := o.Meta().Name
	if _, has := objects[name]; !has && len(objects) == maxObjects {
		return fmt.Errorf("there are more than %d %s in namespace %s", maxObjects, f.resource.Name, f.o.Namespace)
	}
	objects[name] = o
	return nil
}
