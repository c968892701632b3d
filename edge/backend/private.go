package backend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/weighted"
)

// private caches the catalogs of single principals, up to maxOwnBytes in total: the least recently
// used is evicted first.
type private struct {
	flight singleflight.Group

	mu      sync.Mutex
	entries *weighted.Cache[string, *own]
	// generation is incremented by every drop: a reading that began before a drop is not cached
	// after it.
	generation uint64
	breaker    breaker
}

// own is one principal's catalog.
type own struct {
	catalog *Catalog
	read    time.Time
}

// init makes the cache, of size entries, 1 or more.
func (c *private) init(size int) { c.entries = weighted.New[string, *own](size, maxOwnBytes) }

// get returns a principal's cached catalog with its age, or nil.
func (c *private) get(key string) (found *own, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, _ = c.entries.Get(key)
	return found, c.generation
}

// put caches a catalog, unless the cache was dropped since the generation.
func (c *private) put(key string, o *own, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation == c.generation {
		c.entries.Add(key, o, o.catalog.OwnBytes)
	}
}

// drop empties the cache.
func (c *private) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	c.entries.Purge()
}

// CatalogFor returns the catalog for a principal. That is Catalog if no list is private or the
// caller is anonymous, and otherwise the principal's own, which is read from the backend if it is
// not cached. Concurrent requests of one principal share one reading.
//
// It is cached for Refresh, or until the backend reports a change. If the backend then cannot be
// reached, or its lists cannot be reviewed, it is served until StaleAfter. A reading that takes
// longer than OwnLists continues without the request. After a reading that took too long, or did
// not reach the backend, requests of all principals fail at once for a while, except for one that
// tries again.
//
// The error is ctx's, or the gRPC status of the list.
func (b *Backend) CatalogFor(ctx context.Context, p mcp.Principal) (*Catalog, error) {
	c := b.Catalog()
	if !c.Private || p.Anonymous() {
		return c, nil
	}
	var space [128]byte
	key := string(p.AppendIdentity(space[:0], b.claims))
	kept, generation := b.private.get(key)
	if b.isFresh(kept) {
		return kept.catalog, nil
	}
	fresh, err := b.readBounded(ctx, key, p, generation)
	if err == nil {
		return fresh, nil
	}
	if kept != nil && unreachable(err) && time.Since(kept.read) < b.cfg.StaleAfter {
		return kept.catalog, nil
	}
	return nil, err
}

// readBounded is readShared bounded by OwnLists. It fails at once if the breaker is open.
func (b *Backend) readBounded(ctx context.Context, key string, p mcp.Principal, generation uint64) (*Catalog, error) {
	if err := b.private.breaker.refuses(b.cfg.OwnLists); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, b.cfg.OwnLists)
	defer cancel()
	c, err := b.readShared(bounded, key, p, generation)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		err = status.Errorf(codes.DeadlineExceeded, "the backend did not return the lists of this caller within %v", b.cfg.OwnLists)
		fallthrough
	default:
		if unreachable(err) {
			b.private.breaker.failed(err)
		}
	}
	return c, err
}

// KeptFor returns the result of CatalogFor if it is cached; nil if it must be read.
func (b *Backend) KeptFor(p mcp.Principal) *Catalog {
	c := b.Catalog()
	if !c.Private || p.Anonymous() {
		return c
	}
	var space [128]byte
	if kept, _ := b.private.get(string(p.AppendIdentity(space[:0], b.claims))); b.isFresh(kept) {
		return kept.catalog
	}
	return nil
}

// isFresh reports whether a cached catalog need not be read again; false for nil.
func (b *Backend) isFresh(kept *own) bool {
	return kept != nil && time.Since(kept.read) < b.cfg.Refresh
}

// readShared reads a principal's catalog once for all concurrent requests. The reading continues
// when one of them ends.
func (b *Backend) readShared(ctx context.Context, key string, p mcp.Principal, generation uint64) (*Catalog, error) {
	// The key has the generation, so that a request after a change does not get an earlier reading.
	flight := string(appendUint([]byte(key), generation))
	result := b.private.flight.DoChan(flight, func() (any, error) {
		if kept, now := b.private.get(key); now == generation && b.isFresh(kept) {
			return kept.catalog, nil // A reading has ended since the caller read the cache.
		}
		if !b.group.add() {
			return nil, status.Error(codes.Canceled, "the edge is shutting down")
		}
		defer b.group.done()
		c, err := b.readOwn(mcp.WithToken(b.group.ctx, mcp.TokenOf(ctx)), p)
		if err != nil {
			return nil, err
		}
		b.private.put(key, &own{catalog: c, read: time.Now()}, generation)
		b.private.breaker.worked()
		return c, nil
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*Catalog), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readOwn reads the private lists as a principal; it takes the public ones from the current
// content.
func (b *Backend) readOwn(ctx context.Context, p mcp.Principal) (*Catalog, error) {
	now := b.content.Load()
	lists := now.lists
	who := b.Principal(p)
	ctx, proved, err := b.proving(ctx, &p)
	if err != nil {
		return nil, err
	}
	bytes := 0
	for i, kind := range singleKinds {
		if lists[i] == nil || !lists[i].private {
			continue
		}
		l, err := b.read(ctx, kind, who)
		if unreviewed := (*reviewError)(nil); errors.As(err, &unreviewed) {
			return nil, &mcp.Error{Kind: mcp.KindUnavailable, Err: err,
				Message: fmt.Sprintf("the lists of the backend %q for this caller cannot be checked now: try again later", b.cfg.Name)}
		}
		if err != nil {
			proved(err)
			return nil, err
		}
		l.private = true
		lists[i] = l
		bytes += l.bytes
	}
	c := lists.assemble(now.describe)
	c.OwnBytes = bytes
	return c, nil
}

func appendUint(dst []byte, n uint64) []byte {
	for range 8 {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}

// unreachable reports whether an error says only that a server did not answer: the backend, the
// server that proves the caller to it, or what reviews its lists.
func unreachable(err error) bool {
	var e *mcp.Error
	if errors.As(err, &e) {
		return e.Kind == mcp.KindUnavailable || e.Kind == mcp.KindTimeout
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}
