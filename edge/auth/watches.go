package auth

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// watches are the API keys and opaque tokens of open streams. Their expiry is unknown or uncertain,
// and their rights may change, so they are rechecked: API keys whenever the file has changed,
// opaque tokens by introspection whenever the cached answer has expired. The zero value is empty.
// It is safe for concurrent use.
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
	// watchers are called when the credentials become invalid, or give other rights than the
	// principal has.
	watchers map[*func()]mcp.Principal
}

// recheckers is the number of concurrent introspections for streams.
const recheckers = 8

// Watch implements web.Watcher.
func (a *Authenticator) Watch(authorization string, p mcp.Principal, fn func()) (stop func()) {
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
	stop = a.watches.add(d, token, now, p, &fn)
	if isKey {
		a.recheckKey(d) // the file may have changed since the request was accepted
	}
	return stop
}

func (w *watches) add(d digest, token string, now time.Time, p mcp.Principal, fn *func()) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[d]
	if one == nil {
		if w.all == nil {
			w.all = map[digest]*watched{}
		}
		one = &watched{token: token, checked: now, watchers: map[*func()]mcp.Principal{}}
		w.all[d] = one
	}
	one.watchers[fn] = p
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(one.watchers, fn)
		if len(one.watchers) == 0 && w.all[d] == one {
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

// markValid records that credentials were valid at a time.
func (w *watches) markValid(d digest, at time.Time) {
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

// revoke notifies the watchers of credentials whose principals have ended, and drops them.
func (w *watches) revoke(d digest, ended func(*mcp.Principal) bool) {
	w.mu.Lock()
	var revoked []*func()
	if one := w.all[d]; one != nil {
		for fn, p := range one.watchers {
			if ended(&p) {
				revoked = append(revoked, fn)
				delete(one.watchers, fn)
			}
		}
		if len(one.watchers) == 0 {
			delete(w.all, d)
		}
	}
	w.mu.Unlock()
	for _, fn := range revoked {
		(*fn)()
	}
}

// sameRights reports whether two principals are the same caller with the same rights, in any order.
// It does not compare claims: an issuer may describe one token with other claims each time.
func sameRights(p, q *mcp.Principal) bool {
	return p.Is(q) && p.Client == q.Client && p.Actor == q.Actor && sameTexts(p.Scopes, q.Scopes) && sameTexts(p.Roles, q.Roles)
}

// sameTexts reports whether two lists have the same elements, in any order.
func sameTexts(a, b []string) bool {
	return slices.Equal(a, b) || slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// recheckKeys ends streams of API keys that are not in force, have other rights or claims or expire
// earlier.
func (a *Authenticator) recheckKeys() {
	for d := range a.watches.list(false) {
		a.recheckKey(d)
	}
}

func (a *Authenticator) recheckKey(d digest) {
	now, found, why := a.keys.find(d, time.Now())
	now = a.keep.Load().of(now)
	a.watches.revoke(d, func(p *mcp.Principal) bool {
		return !found || why != nil || !sameRights(p, &now) || !sameClaims(p.Claims, now.Claims) || !sameClaims(p.Forwarded, now.Forwarded) || mcp.Outlasts(p.Until, now.Until)
	})
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

// recheckToken ends streams of an opaque token that is invalid, has other rights, or is of unknown
// validity for keepKeys.
func (a *Authenticator) recheckToken(ctx context.Context, d digest, token string) {
	began := time.Now()
	changed := func(v *verified) {
		a.watches.markValid(d, began)
		a.watches.revoke(d, func(p *mcp.Principal) bool { return !sameRights(p, &v.principal) })
	}
	if v, ok := a.cache.get(d, began); ok {
		changed(&v)
		return
	}
	v, why := a.opaque.ask(ctx, token, d, netip.Addr{})
	switch {
	case ctx.Err() != nil:
	case why == nil:
		a.cache.put(d, v)
		changed(&v)
	case why.reason != ReasonUnavailable || began.Sub(a.watches.checked(d)) > keepKeys:
		a.watches.revoke(d, func(*mcp.Principal) bool { return true })
	}
}
