package capability

import (
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxPending is how many different URIs one watcher may lag behind; beyond it they become one
// event for the watched URI.
const maxPending = 1024

// feed tells any number of watchers of changes. What a slow watcher has not taken yet is
// coalesced; publishing never blocks.
type feed struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	closed   chan struct{}
}

func newFeed() *feed {
	return &feed{watchers: map[*watcher]struct{}{}, closed: make(chan struct{})}
}

// watcher is one stream's view of a feed.
type watcher struct {
	uri     string // "": everything
	wake    chan struct{}
	pending []string // in order, without repetition; guarded by the feed's mutex
}

// matches: the watched URI itself, or one below it when the watched one ends with "/".
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

// serve runs one watcher's stream: started first, then one send per change, until the caller
// leaves or the feed is closed.
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
