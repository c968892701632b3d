package auth

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// APIKeyIssuer is the issuer of principals that come with an API key. It is no URL, so no authorization server's.
const APIKeyIssuer = "mcpedge:api-keys" // #nosec G101 -- a name

// APIKey is a key of a machine, known by its SHA-256.
type APIKey struct {
	// Name is the principal's subject.
	Name string
	// SHA256 of the key.
	SHA256 [32]byte
	Scopes []string
	Roles  []string
	// Expires is when it ceases to be good; zero: never.
	Expires time.Time
}

// Principal is who comes with the key.
func (k *APIKey) Principal() mcp.Principal {
	return mcp.Principal{Issuer: APIKeyIssuer, Subject: k.Name, Scopes: k.Scopes, Roles: k.Roles, Until: bounded(k.Expires)}
}

// apiKeys are the keys in force. A file that becomes bad leaves those that were read before. Safe for concurrent use.
type apiKeys struct {
	read    func() ([]APIKey, error)
	log     *slog.Logger
	current atomic.Pointer[map[digest]mcp.Principal]
	// stale: the file, as it is now, cannot be used.
	stale atomic.Bool
	// gone are the keys that were in the file since the start and are not any more, the last maxGone of them.
	gone *cache
	// changed is called after the keys have changed; nil: nothing is.
	changed func()
}

// maxGone bounds the keys that are remembered as taken out of the file.
const maxGone = 64 << 10

func newAPIKeys(read func() ([]APIKey, error), log *slog.Logger) (*apiKeys, error) {
	k := &apiKeys{read: read, log: log, gone: newCache(maxGone)}
	if err := k.load(); err != nil {
		return nil, fmt.Errorf("auth.api-keys: %w", err)
	}
	return k, nil
}

func (k *apiKeys) load() error {
	list, err := k.read()
	if err != nil {
		return err
	}
	keys := make(map[digest]mcp.Principal, len(list))
	for _, one := range list {
		keys[one.SHA256] = one.Principal()
	}
	former := k.current.Load()
	if former == nil {
		k.current.Store(&keys)
		return nil
	}
	for d := range *former {
		if _, kept := keys[d]; !kept {
			k.gone.put(d, verified{until: bounded(time.Unix(maxSeconds, 0))})
		}
	}
	k.current.Store(&keys)
	if k.changed != nil {
		k.changed()
	}
	return nil
}

// bounded is a time that 64 bits of nanoseconds can keep; zero stays zero.
func bounded(t time.Time) time.Time {
	if last := time.Unix(maxSeconds, 0); t.After(last) {
		return last
	}
	return t
}

// start reads the keys again and again until ctx ends.
func (k *apiKeys) start(ctx context.Context, work *sync.WaitGroup) {
	if k == nil {
		return
	}
	work.Go(func() {
		t := time.NewTicker(refreshFiles)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-ctx.Done():
				return
			}
			err := k.load()
			was := k.stale.Swap(err != nil)
			switch {
			case err != nil && !was:
				k.log.Warn("the API keys cannot be read; those that were read before serve on, revoked ones too", "error", err)
			case err == nil && was:
				k.log.Info("the API keys can be read again")
			}
		}
	})
}

// APIKeys is how many API keys are in force, expired ones among them; -1: there is no file of them.
func (a *Authenticator) APIKeys() int {
	if a.keys == nil {
		return -1
	}
	return len(*a.keys.current.Load())
}

// KeyScopes are the scopes of all API keys that are in force, sorted, each once.
func (a *Authenticator) KeyScopes() []string {
	if a.keys == nil {
		return nil
	}
	var out []string
	for _, p := range *a.keys.current.Load() {
		out = append(out, p.Scopes...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// find finds whose a key is. A key that was taken out of the file is found, and refused.
func (k *apiKeys) find(d digest, now time.Time) (p mcp.Principal, found bool, _ *refusal) {
	if k == nil {
		return p, false, nil
	}
	p, found = (*k.current.Load())[d]
	if found && !p.Until.IsZero() && !now.Before(p.Until) {
		return mcp.Principal{}, true, &refusal{ReasonExpired, "the API key has expired: get a new one"}
	}
	if !found {
		if _, gone := k.gone.get(d, now); gone {
			return mcp.Principal{}, true, errUnknown
		}
	}
	return p, found, nil
}
