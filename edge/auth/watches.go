package auth

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// watches are the API keys and opaque tokens with which streams are open. Their principals do not say until when they are
// good, or not for certain, so that it is found out again: an API key is looked up when the file has changed, and the
// issuer is asked about an opaque token each time that the former answer is no longer remembered. The zero value is
// empty. Safe for concurrent use.
type watches struct {
	mu  sync.Mutex
	all map[digest]*watched
}

// watched is one key or token. Guarded by watches.mu.
type watched struct {
	// token is empty for an API key, whose digest is enough. An opaque one is kept as long as a stream is open that came
	// with it.
	token string
	// checked is when the credentials were last known to be good.
	checked time.Time
	// told are called when they are not any more.
	told map[*func()]struct{}
}

// recheckers is how many opaque tokens are asked about at a time because of their streams.
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
		a.recheckKey(d) // it may have been taken out since the request was let in
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

// list are the digests of what is watched: API keys, or opaque tokens, which are the values.
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

// good notes that credentials were known to be good at a time.
func (w *watches) good(d digest, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.all[d]; one != nil {
		one.checked = at
	}
}

// checked is when credentials were last known to be good; now, if nobody watches them.
func (w *watches) checked(d digest) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.all[d]; one != nil {
		return one.checked
	}
	return time.Now()
}

// revoke tells those who watch credentials.
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

// recheckKeys ends what was begun with API keys that are not in force.
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

// recheckOpaque asks about opaque tokens that are watched, each time that their answers are no longer remembered, until
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
		_ = group.Wait() // of those that have no error
	}
}

// recheckToken ends what was begun with an opaque token that is not good, or of which nobody has said for keepKeys
// whether it is.
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
