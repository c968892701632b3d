package auth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// APIKeyIssuer is the issuer of principals that authenticate with an API key. It is not a URL, so
// it cannot be that of an authorization server.
const APIKeyIssuer = "mcpedge:api-keys" // #nosec G101 -- a name

// APIKey is a key of a machine, identified by its SHA-256.
type APIKey struct {
	// Name is the principal's subject.
	Name string
	// SHA256 of the key.
	SHA256 [32]byte
	Scopes []string
	Roles  []string
	// Claims are further claims by name, each a JSON value. The map must not be changed. nil means none.
	Claims map[string]json.RawMessage
	// Expires is when the key expires. Zero means never.
	Expires time.Time
}

// Principal returns the principal of the key, with all of its claims and the forwarded ones, as of
// Options.Claims. Its TokenID is the SHA-256 of the key. It is empty if that is zero.
func (k *APIKey) Principal(forwarded ...string) mcp.Principal {
	p := mcp.Principal{Issuer: APIKeyIssuer, Subject: k.Name, Scopes: k.Scopes, Roles: k.Roles, Claims: k.Claims, Until: clampTime(k.Expires)}
	if k.SHA256 != (digest{}) {
		p.TokenID = hex.EncodeToString(k.SHA256[:])
	}
	return (&KeptClaims{All: true, Forwarded: forwarded}).of(p)
}

// apiKeys are the keys in force. If the file becomes invalid, the keys read before stay in force.
// It is safe for concurrent use.
type apiKeys struct {
	read    func() ([]APIKey, error)
	log     *slog.Logger
	current atomic.Pointer[map[digest]mcp.Principal]
	// stale is true if the current file cannot be used. logged belongs to the goroutine of start.
	stale  atomic.Bool
	logged fault
	// gone are the keys that were removed from the file since start, at most maxGone.
	gone *cache
	// changed is called after the keys in force have changed. It may be nil.
	changed func()
}

// maxGone bounds the removed keys that are remembered.
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
	if maps.EqualFunc(*former, keys, samePrincipal) {
		return nil
	}
	for d, p := range *former {
		if _, kept := keys[d]; !kept {
			k.gone.put(d, verified{principal: p, until: clampTime(time.Unix(maxSeconds, 0))})
		}
	}
	k.current.Store(&keys)
	k.log.Info("the API keys have changed", "keys", len(keys), "added", namesOf(keys, *former), "removed", namesOf(*former, keys), "changed", changedNames(*former, keys))
	if k.changed != nil {
		k.changed()
	}
	return nil
}

// maxNames bounds the names of keys in a log line.
const maxNames = 20

// namesOf returns the names of the keys in keys that are not in other, sorted and joined.
func namesOf(keys, other map[digest]mcp.Principal) string {
	var names []string
	for d, p := range keys {
		if _, both := other[d]; !both {
			names = append(names, p.Subject)
		}
	}
	slices.Sort(names)
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], " "), len(names)-maxNames)
	}
	return strings.Join(names, " ")
}

// changedNames returns the names of the keys whose scopes, roles, claims or expiry differ,
// formatted as by namesOf.
func changedNames(former, keys map[digest]mcp.Principal) string {
	changed := map[digest]mcp.Principal{}
	for d, p := range keys {
		if before, both := former[d]; both && !samePrincipal(before, p) {
			changed[d] = p
		}
	}
	return namesOf(changed, nil)
}

// samePrincipal reports whether two entries of a key have the same principal.
func samePrincipal(a, b mcp.Principal) bool {
	return a.Subject == b.Subject && a.Until.Equal(b.Until) && slices.Equal(a.Scopes, b.Scopes) && slices.Equal(a.Roles, b.Roles) &&
		sameClaims(a.Claims, b.Claims)
}

func sameClaims(a, b map[string]json.RawMessage) bool {
	return maps.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// clampTime returns t limited to what 64 bits of nanoseconds can hold. Zero stays zero.
func clampTime(t time.Time) time.Time {
	if last := time.Unix(maxSeconds, 0); t.After(last) {
		return last
	}
	return t
}

// start rereads the keys periodically until ctx ends.
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
			k.stale.Store(err != nil)
			switch began, ended := k.logged.note(err); {
			case began:
				k.log.Warn("the API keys cannot be read; the previous ones stay in force, revoked ones too", "error", err)
			case ended:
				k.log.Info("the API keys can be read again")
			}
		}
	})
}

// APIKeys returns the number of API keys in force, expired ones included, or -1 without a file of
// them.
func (a *Authenticator) APIKeys() int {
	if a.keys == nil {
		return -1
	}
	return len(*a.keys.current.Load())
}

// ValidKeys returns the API keys in force that have not expired, sorted by name. They have no
// SHA256.
func (a *Authenticator) ValidKeys() (all []APIKey) {
	if a.keys == nil {
		return nil
	}
	for _, p := range *a.keys.current.Load() {
		if !expired(p.Until) {
			all = append(all, APIKey{Name: p.Subject, Scopes: p.Scopes, Roles: p.Roles, Claims: p.Claims, Expires: p.Until})
		}
	}
	slices.SortFunc(all, func(x, y APIKey) int { return strings.Compare(x.Name, y.Name) })
	return all
}

// ExpiredKey is an API key in force that has expired.
type ExpiredKey struct {
	Name string
	// At is when it expired.
	At time.Time
	// Named is the number of keys with the name, and Valid that of those which have not expired.
	Named, Valid int
}

// ExpiredKeys returns the API keys in force that have expired, sorted by name and time.
func (a *Authenticator) ExpiredKeys() (all []ExpiredKey) {
	if a.keys == nil {
		return nil
	}
	named, valid := map[string]int{}, map[string]int{}
	for _, p := range *a.keys.current.Load() {
		named[p.Subject]++
		if expired(p.Until) {
			all = append(all, ExpiredKey{Name: p.Subject, At: p.Until})
		} else {
			valid[p.Subject]++
		}
	}
	for i := range all {
		all[i].Named, all[i].Valid = named[all[i].Name], valid[all[i].Name]
	}
	slices.SortFunc(all, func(x, y ExpiredKey) int { return cmp.Or(strings.Compare(x.Name, y.Name), x.At.Compare(y.At)) })
	return all
}

// expired reports whether until has passed. Zero means never.
func expired(until time.Time) bool { return !until.IsZero() && !time.Now().Before(until) }

// find returns the principal of a key with all of its claims. found is also true for a key that is
// refused because it has expired, or because it was removed from the file.
func (k *apiKeys) find(d digest, now time.Time) (p mcp.Principal, found bool, _ *refusal) {
	if k == nil {
		return p, false, nil
	}
	p, found = (*k.current.Load())[d]
	if found && !p.Until.IsZero() && !now.Before(p.Until) {
		return p, true, &refusal{reason: ReasonExpired, text: "the API key has expired: get a new one"}
	}
	if !found {
		if v, gone := k.gone.get(d, now); gone {
			return v.principal, true, errUnknown
		}
	}
	return p, found, nil
}
