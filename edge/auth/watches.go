package auth

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// watches are the API keys and opaque tokens of open streams. Their expiry is unknown or uncertain,
// so they are rechecked: API keys whenever the file has changed, opaque tokens by introspection
// whenever the cached answer has expired. The zero value is empty. It is safe for concurrent use.
type watches struct {
	mu  sync.Mutex
	all map[digest]*watched
}

// watched is one watched key or token. Guarded by watches.mu.
type watched struct {
	// token is empty for an API key, whose digest suffices. An opaque token is kept while a stream
	// is open that came with it.
	token string
	// checked is when the credentials were last known to be valid.
	checked time.Time
	// told are called when the credentials become invalid.
	told map[*func()]struct{}
}

// recheckers is the number of concurrent introspections for streams.
const recheckers = 8

// Watch implements web.Watcher.
func (a *Authenticator) Watch(authorization string, fn func()) (stop func()) {
	_, token := splitAuthorization(authorization)
	d := digest(sha256.Sum256([]byte(token)))
	now := time.Now()
	_, isKey, _ := a.keys.find(d, now)
	switch {
	case isKey:
		token = ""
	case a.opaque == nil || token == "" || !isOpaque(token):
		return nil
	}
	stop = a.watches.add(d, token, now, &fn)
	if isKey {
		a.recheckKey(d) // it may have been removed since the request was accepted
	}
	return stop
}

func (w *watches) add(d digest, token string, now time.Time, fn *func()) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[d]
	if one == nil {
		if w.all == nil {
			w.all = map[digest]*watched{}
		}
		one = &watched{token: token, checked: now, told: map[*func()]struct{}{}}
		w.all[d] = one
	}
	one.told[fn] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(one.told, fn)
		if len(one.told) == 0 && w.all[d] == one {
			delete(w.all, d)
		}
	}
}

// list returns the digests of the watched API keys, or those of the watched opaque tokens, which
// are the values.
func (w *watches) list(opaque bool) map[digest]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[digest]string{}
	for d, one := range w.all {
		if (one.token != "") == opaque {
			found[d] = one.token
		}
	}
	return found
}

// good records that credentials were valid at a time.
func (w *watches) good(d digest, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.all[d]; one != nil {
		one.checked = at
	}
}

// checked returns when credentials were last known to be valid; now if they are not watched.
func (w *watches) checked(d digest) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.all[d]; one != nil {
		return one.checked
	}
	return time.Now()
}

// revoke notifies the watchers of credentials.
func (w *watches) revoke(d digest) {
	w.mu.Lock()
	one := w.all[d]
	delete(w.all, d)
	var told []*func()
	if one != nil {
		for fn := range one.told {
			told = append(told, fn)
		}
	}
	w.mu.Unlock()
	for _, fn := range told {
		(*fn)()
	}
}

// recheckKeys ends streams of API keys that are not in force.
func (a *Authenticator) recheckKeys() {
	for d := range a.watches.list(false) {
		a.recheckKey(d)
	}
}

func (a *Authenticator) recheckKey(d digest) {
	if _, found, why := a.keys.find(d, time.Now()); !found || why != nil {
		a.watches.revoke(d)
	}
}

// recheckOpaque asks about watched opaque tokens whenever their cached answers have expired, until
// ctx ends.
func (a *Authenticator) recheckOpaque(ctx context.Context) {
	t := time.NewTicker(a.opaque.o.TTL)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		var group errgroup.Group
		group.SetLimit(recheckers)
		for d, token := range a.watches.list(true) {
			group.Go(func() error {
				a.recheckToken(ctx, d, token)
				return nil
			})
		}
		_ = group.Wait() // the functions return no error
	}
}

// recheckToken ends streams of an opaque token that is invalid, or of unknown validity for
// keepKeys.
func (a *Authenticator) recheckToken(ctx context.Context, d digest, token string) {
	began := time.Now()
	if _, ok := a.cache.get(d, began); ok {
		a.watches.good(d, began)
		return
	}
	v, why := a.opaque.ask(ctx, token, d, netip.Addr{})
	switch {
	case ctx.Err() != nil:
	case why == nil:
		a.cache.put(d, v)
		a.watches.good(d, began)
	case why.reason != ReasonUnavailable || began.Sub(a.watches.checked(d)) > keepKeys:
		a.watches.revoke(d)
	}
}
