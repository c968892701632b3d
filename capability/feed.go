package capability

import (
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxPending is the number of distinct URIs that one watcher may have pending. Beyond it, they
// become one event for the watched URI.
const maxPending = 1024

// feed notifies watchers of changes. Pending events of a slow watcher are coalesced; publish never
// blocks.
type feed struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	closed   chan struct{}
}

func newFeed() *feed {
	return &feed{watchers: map[*watcher]struct{}{}, closed: make(chan struct{})}
}

// watcher is the state of one stream of a feed.
type watcher struct {
	uri     string // empty matches everything
	wake    chan struct{}
	pending []string // in order, without duplicates; guarded by the feed's mutex
}

// matches reports whether uri is the watched URI, or below it if the watched URI ends with "/".
func (w *watcher) matches(uri string) bool {
	return uri == w.uri || (strings.HasSuffix(w.uri, "/") && strings.HasPrefix(uri, w.uri))
}

func (f *feed) publish(uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if w.matches(uri) {
			w.add(uri)
		}
	}
}

func (w *watcher) add(uri string) {
	for _, p := range w.pending {
		if p == uri {
			return
		}
	}
	if len(w.pending) == maxPending {
		w.pending, uri = w.pending[:0], w.uri
	}
	w.pending = append(w.pending, uri)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (f *feed) join(uri string) *watcher {
	w := &watcher{uri: uri, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.watchers[w] = struct{}{}
	f.mu.Unlock()
	return w
}

func (f *feed) leave(w *watcher) {
	f.mu.Lock()
	delete(f.watchers, w)
	f.mu.Unlock()
}

func (f *feed) take(w *watcher) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := w.pending
	w.pending = nil
	return p
}

func (f *feed) close() { close(f.closed) }

// serve runs one watcher's stream: it calls started, then send for each change, until done is
// closed or the feed is closed.
func (f *feed) serve(done <-chan struct{}, uri string, started func() error, send func(uri string) error) error {
	w := f.join(uri)
	defer f.leave(w)
	if err := started(); err != nil {
		return err
	}
	for {
		select {
		case <-done:
			return status.Error(codes.Canceled, "the watch was cancelled")
		case <-f.closed:
			return status.Error(codes.Unavailable, "the service is stopping; watch again elsewhere")
		case <-w.wake:
		}
		for _, changed := range f.take(w) {
			if err := send(changed); err != nil {
				return err
			}
		}
	}
}
