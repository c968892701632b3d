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
	// Interval is the interval at which the key file is read. An unusable file is reported after
	// the second read, because the first may have seen an incomplete write.
	Interval = time.Second
	// KeepReplaced is how long a replaced key stays in the JWK Set: its tokens are valid for
	// Lifetime, and other replicas sign with it until they have read the new file.
	KeepReplaced = 10 * time.Minute
	// Announced is how long a new key is in the JWK Set before it signs, so that every replica has
	// published it by then.
	Announced = 5 * time.Second
)

// Keys are the signing keys of a file. All are published; the first one signs after it was
// published for Announced. If the file becomes invalid, the previous keys stay in use. Open returns
// Keys. It is safe for concurrent use.
type Keys struct {
	read func() ([]byte, error)
	log  *slog.Logger

	current atomic.Pointer[keyRing]
	// stale is true if the current file is unusable.
	stale     atomic.Bool
	exchanges atomic.Int64

	// mu guards the state of refresh: taken is the file of the current keys, last the file read
	// last.
	mu          sync.Mutex
	taken, last []byte
	// logged is the failure that was logged last, while stale: the file and the reason.
	logged [2]string
}

// keyRing is the set of keys in use. It is immutable.
type keyRing struct {
	// keys are the keys of the file. The first one signs from the time from on; until then the key
	// signs does.
	keys  []key
	signs key
	from  time.Time
	// replaced are keys that are no longer in the file.
	replaced []replaced
	// set is the JWK Set.
	set []byte
}

type replaced struct {
	key
	until time.Time
}

// Open reads the keys. read returns the file; Watch calls it repeatedly. log gets messages for
// operators; nil uses slog.Default.
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
	return k, k.use(keyRing{keys: keys, signs: keys[0]})
}

// use makes a key ring current.
func (k *Keys) use(r keyRing) error {
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

// JWKS returns the JWK Set of the public keys (RFC 7517): those of the file, beginning with the
// signing one, then those replaced within KeepReplaced. It must not be modified.
func (k *Keys) JWKS() []byte { return k.current.Load().set }

// ID returns the key id of the signing key.
func (k *Keys) ID() string { return k.current.Load().signs.id }

// Exchanges returns how often a changed file was taken into use.
func (k *Keys) Exchanges() int64 { return k.exchanges.Load() }

// Stale reports whether the current file is unusable.
func (k *Keys) Stale() bool { return k.stale.Load() }

// Watch reads the file every Interval until ctx ends.
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
			k.log.Info("the identity key file is usable again, with the same keys")
		}
		return
	}
	var keys []key
	if err == nil {
		keys, err = parseKeys(raw)
	}
	if err == nil {
		err = k.use(keyRing{keys: keys, replaced: k.replacedBy(keys, now), signs: k.current.Load().signs, from: now.Add(Announced)})
	}
	switch {
	case err == nil:
		k.taken = raw
		k.stale.Store(false)
		k.exchanges.Add(1)
		k.log.Info("the identity keys have changed", "kid", keys[0].id)
	case settled:
		this := [2]string{string(raw), err.Error()}
		if k.stale.Swap(true) && k.logged == this {
			return
		}
		k.logged = this
		k.log.Error("the identity key file is unusable; the previous keys stay in use", "error", fmt.Errorf("server.signing-key: %w", err))
	}
}

// advance makes a new key sign after Announced, and removes keys from the set that were replaced
// more than KeepReplaced ago.
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
	_ = k.use(r) // cannot fail: its keys were encoded before
}

// replacedBy returns the keys that stay in the set beside those of a file: the current signing key,
// then those that were replaced last.
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
