package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
)

const (
	// Interval is how often the file of keys is read again. What cannot be used is told after the second reading that came
	// to it: the file may be being written.
	Interval = time.Second
	// KeepReplaced is for how long a key that was replaced stays in the JWK Set: tokens that it signed are good for
	// Lifetime, and other replicas may sign with it until they have read the new file.
	KeepReplaced = 10 * time.Minute
	// Announced is for how long a new key is in the JWK Set before it signs, so that it is in that of every replica then.
	Announced = 5 * time.Second
)

// Keys are the keys that sign, as their file has them: the first one signs, once it was published for Announced, and all of
// them are published. A file that becomes bad leaves what was read before. Make it with Open. Safe for
// concurrent use.
type Keys struct {
	read func() ([]byte, error)
	log  *slog.Logger

	current atomic.Pointer[ring]
	// stale: the file, as it is now, cannot be used.
	stale     atomic.Bool
	exchanges atomic.Int64

	// mu guards what refresh remembers: taken is the file that the current keys were read from, last what was read last.
	mu          sync.Mutex
	taken, last []byte
}

// ring is what is in use. Immutable.
type ring struct {
	// keys of the file. The first one signs, from on; until then it is signs.
	keys  []key
	signs key
	from  time.Time
	// replaced are keys that are in the file no more.
	replaced []replaced
	// set is the JWK Set.
	set []byte
}

type replaced struct {
	key
	until time.Time
}

// Open reads the keys: read gives the file, and is called again and again by Watch. log gets what operators should know; nil:
// slog.Default.
func Open(read func() ([]byte, error), log *slog.Logger) (*Keys, error) {
	if log == nil {
		log = slog.Default()
	}
	k := &Keys{read: read, log: log}
	raw, err := read()
	if err != nil {
		return nil, err
	}
	keys, err := parseKeys(raw)
	if err != nil {
		return nil, err
	}
	k.taken, k.last = raw, raw
	return k, k.use(ring{keys: keys, signs: keys[0]})
}

// use puts keys in use.
func (k *Keys) use(r ring) error {
	var set jwkset.JWKSMarshal
	for _, one := range r.keys {
		set.Keys = append(set.Keys, one.public)
	}
	for _, one := range r.replaced {
		set.Keys = append(set.Keys, one.public)
	}
	var err error
	if r.set, err = json.Marshal(set); err != nil {
		return err
	}
	k.current.Store(&r)
	return nil
}

// JWKS is the JWK Set of the public keys (RFC 7517): those of the file, the one that signs first, then those that were
// replaced within KeepReplaced. It must not be changed.
func (k *Keys) JWKS() []byte { return k.current.Load().set }

// ID is the key id of the key that signs.
func (k *Keys) ID() string { return k.current.Load().signs.id }

// Exchanges is how often another file was taken into use.
func (k *Keys) Exchanges() int64 { return k.exchanges.Load() }

// Stale says whether the file, as it is now, cannot be used.
func (k *Keys) Stale() bool { return k.stale.Load() }

// Watch reads the file again every Interval, until ctx ends.
func (k *Keys) Watch(ctx context.Context) {
	t := time.NewTicker(Interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			k.refresh(time.Now())
		case <-ctx.Done():
			return
		}
	}
}

func (k *Keys) refresh(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.advance(now)
	raw, err := k.read()
	if err != nil {
		raw = nil
	}
	settled := bytes.Equal(raw, k.last)
	k.last = raw
	if err == nil && bytes.Equal(raw, k.taken) {
		if k.stale.Swap(false) {
			k.log.Info("the keys that sign for backends are again as they were read before")
		}
		return
	}
	var keys []key
	if err == nil {
		keys, err = parseKeys(raw)
	}
	if err == nil {
		err = k.use(ring{keys: keys, replaced: k.replacedBy(keys, now), signs: k.current.Load().signs, from: now.Add(Announced)})
	}
	switch {
	case err == nil:
		k.taken = raw
		k.stale.Store(false)
		k.exchanges.Add(1)
		k.log.Info("the keys that sign for backends have changed", "kid", keys[0].id)
	case settled && !k.stale.Swap(true):
		k.log.Error("the file with the keys that sign for backends cannot be used: those that were read before sign on", "error", fmt.Errorf("identity-key: %w", err))
	}
}

// advance has a new key sign that was announced for long enough, and takes the keys out of the set that were replaced long
// ago.
func (k *Keys) advance(now time.Time) {
	r := *k.current.Load()
	left := slices.DeleteFunc(slices.Clone(r.replaced), func(one replaced) bool { return !now.Before(one.until) })
	next := r.signs.id != r.keys[0].id && !now.Before(r.from)
	if !next && len(left) == len(r.replaced) {
		return
	}
	if next {
		r.signs = r.keys[0]
	}
	r.replaced = left
	_ = k.use(r) // its keys were encoded before
}

// replacedBy are the keys that stay in the set beside those of a file: the one that signs still, then those that were replaced
// last.
func (k *Keys) replacedBy(keys []key, now time.Time) (gone []replaced) {
	r := k.current.Load()
	stay := func(one replaced) {
		is := func(other key) bool { return other.id == one.id }
		if len(gone) < maxKeys && !slices.ContainsFunc(keys, is) && !slices.ContainsFunc(gone, func(other replaced) bool { return is(other.key) }) {
			gone = append(gone, one)
		}
	}
	until := now.Add(KeepReplaced)
	stay(replaced{r.signs, until})
	for _, one := range r.keys {
		stay(replaced{one, until})
	}
	for _, one := range r.replaced {
		stay(one)
	}
	return gone
}
