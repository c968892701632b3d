package stateless

import (
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// uriOverhead is the memory of a URI in bytes, beside its text, in a filter and in its watches.
const uriOverhead = 64

// bytesOf returns the bytes of a subscription's URIs, counted for MaxListenBytes.
func bytesOf(uris []string) (n int) {
	for _, uri := range uris {
		n += uriOverhead + len(uri)
	}
	return n
}

// listens bounds the number of each principal's open subscriptions, and the bytes of their URIs,
// since no session holds them. Safe for concurrent use.
type listens struct {
	maxCount, maxBytes int

	// bytes is the total of all principals.
	bytes atomic.Int64
	mu    sync.Mutex
	held  map[string]share
}

// share is the number and bytes of one principal's subscriptions.
type share struct{ count, bytes int }

func newListens(maxCount, maxBytes int) *listens {
	return &listens{maxCount: maxCount, maxBytes: maxBytes, held: map[string]share{}}
}

// take counts one more subscription, or returns an error that names the reached bound. release must
// be called once.
func (l *listens) take(key string, bytes int, t *telemetry.Telemetry) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[key]
	switch {
	case h.count >= l.maxCount:
		t.Hit(telemetry.BoundListens)
		return nil, mcp.Errorf(mcp.KindLimit, "there are %d open subscriptions already, the limit: end one, or try again later", l.maxCount)
	case bytes > 0 && h.bytes+bytes > l.maxBytes:
		t.Hit(telemetry.BoundListenBytes)
		return nil, mcp.Errorf(mcp.KindLimit,
			"the resources of the open subscriptions have %d of at most %d bytes, and %d more do not fit: end some, listen for fewer, or try again later",
			h.bytes, l.maxBytes, bytes)
	}
	l.add(key, 1, bytes)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.add(key, -1, -bytes)
	}, nil
}

// add adds subscriptions and their bytes to those of a principal, or subtracts them. The caller holds l.mu.
func (l *listens) add(key string, count, bytes int) {
	h := l.held[key]
	h.count += count
	h.bytes += bytes
	l.bytes.Add(int64(bytes))
	if h.count == 0 {
		delete(l.held, key)
	} else {
		l.held[key] = h
	}
}
