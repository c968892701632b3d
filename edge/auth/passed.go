package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// ServerMetadataPath is where clients of 2025-03-26 look for an authorization server's metadata, at
// the root of the edge's origin (that revision's "Authorization", section 2.3.2). That revision has
// no protected-resource metadata.
const ServerMetadataPath = "/.well-known/oauth-authorization-server"

// passedDocument serves the metadata of an issuer unchanged. It is fetched on demand, once for
// concurrent requests, and again after refreshKeys. If it cannot be fetched, the last one is served
// for keepKeys. It is safe for concurrent use.
type passedDocument struct {
	issuer string
	client *http.Client
	log    *slog.Logger

	fetching singleflight.Group

	mu sync.Mutex
	// life ends fetches. It may be nil.
	life context.Context
	// raw is the document that was read last, at the time at. nil means never.
	raw []byte
	at  time.Time
	// failure is why the last attempt failed, or nil.
	failure error
	// next is when the next attempt is due; pause is the pause after the last failed attempt.
	next  time.Time
	pause time.Duration
}

// errNoMetadata means that the issuer has no document at any well-known URL.
var errNoMetadata = errors.New("the issuer has no metadata")

// start makes fetches end with ctx.
func (d *passedDocument) start(ctx context.Context) {
	d.mu.Lock()
	d.life = ctx
	d.mu.Unlock()
}

// get returns the document. If there is none, it returns the reason and the delay before a retry.
// It waits for the first document only.
func (d *passedDocument) get(ctx context.Context) (raw []byte, again time.Duration, err error) {
	raw, again, err = d.known()
	if again > 0 {
		return raw, again, err
	}
	done := d.fetching.DoChan("", func() (any, error) {
		d.fetch()
		return nil, nil
	})
	if raw != nil {
		return raw, 0, nil
	}
	select {
	case <-done:
		return d.known()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// known returns the current state. again is 0 when the next attempt is due.
func (d *passedDocument) known() (raw []byte, again time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	again = max(0, d.next.Sub(now))
	if d.raw != nil && now.Sub(d.at) <= keepKeys {
		return d.raw, again, nil
	}
	return nil, again, d.failure
}

// fetch runs an attempt.
func (d *passedDocument) fetch() {
	d.mu.Lock()
	life := cmp.Or(d.life, context.Background())
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(life, 2*fetchTimeout) // there may be several requests
	defer cancel()
	raw, err := d.read(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	now, failing := time.Now(), d.failure != nil
	if err != nil {
		d.pause = min(max(2*d.pause, retryMin), retryMax)
		d.failure, d.next = err, now.Add(d.pause)
		if !failing && life.Err() == nil {
			d.log.Warn("the metadata of an issuer cannot be served to clients that look for it at the edge", "issuer", d.issuer, "error", err)
		}
		return
	}
	if failing {
		d.log.Info("the metadata of an issuer can be served again", "issuer", d.issuer)
	}
	d.raw, d.at, d.failure, d.pause, d.next = raw, now, nil, 0, now.Add(refreshKeys)
}

// read reads the document, trying that of RFC 8414 first.
func (d *passedDocument) read(ctx context.Context) ([]byte, error) {
	places, err := wellKnown(d.issuer)
	if err != nil {
		return nil, err
	}
	slices.Reverse(places)
	var errs []error
	missing := 0
	for _, place := range places {
		_, raw, err := readMetadata(ctx, d.client, place, d.issuer)
		if err == nil {
			return raw, nil
		}
		if status := (*statusError)(nil); errors.As(err, &status) && status.code == http.StatusNotFound {
			missing++
		}
		errs = append(errs, err)
	}
	if missing == len(places) {
		return nil, fmt.Errorf("%w: %w", errNoMetadata, errors.Join(errs...))
	}
	return nil, errors.Join(errs...)
}
