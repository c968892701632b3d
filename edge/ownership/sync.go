package ownership

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Store stores values by name for all replicas. It is safe for concurrent use.
type Store interface {
	// Digests returns the digest of each value, by name.
	Digests(ctx context.Context) (map[string]string, error)
	// Values returns the values of the given names. Missing values are omitted.
	Values(ctx context.Context, names []string) (map[string][]byte, error)
	// Write sets some values with their digests and deletes others, atomically.
	Write(ctx context.Context, set map[string]Value, drop []string) error
}

// Value is a value in a Store, with its digest.
type Value struct {
	Digest string
	Bytes  []byte
}

const (
	// readInterval is the interval at which the Store is read.
	readInterval = 10 * time.Second
	// writeDelay is how long a change waits for further changes before it is written.
	writeDelay = 200 * time.Millisecond
	// exchangeTimeout is the timeout of one exchange with the Store.
	exchangeTimeout = 5 * time.Second
	// orderName is the name of the order in the Store. No backend has it.
	orderName = ""
)

// synced is the state of the Store as known to Run.
type synced struct {
	// loaded is true after the first read. Nothing is written before.
	loaded bool
	failed bool // true after a logged failure
	// order is the digest of the order last written or read.
	order string
}

// Load reads the names that other replicas have stored. Until then, a replica may give names of an
// unreachable backend to others. Without a Store it does nothing. The error is that of the Store.
func (r *Registry) Load(ctx context.Context) error {
	if r.o.Store == nil {
		return nil
	}
	return r.exchange(ctx)
}

// Run shares changes with other replicas until ctx ends. Without a Store it returns at once.
func (r *Registry) Run(ctx context.Context) {
	if r.o.Store == nil {
		return
	}
	timer := time.NewTimer(readInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-r.wake:
			timer.Reset(writeDelay)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
		bounded, cancel := context.WithTimeout(ctx, exchangeTimeout)
		err := r.exchange(bounded)
		cancel()
		r.mu.Lock()
		if err != nil && !r.sync.failed && ctx.Err() == nil {
			r.o.Logger.Warn("the names of backends cannot be shared with other replicas; retrying", "error", err)
		}
		r.sync.failed = err != nil
		r.mu.Unlock()
		timer.Reset(readInterval)
	}
}

// record is the stored value of a backend.
type record struct {
	// Listed are the names that every caller may see, Own those that some callers see.
	Listed *Names `json:"listed,omitempty"`
	Own    *Names `json:"own,omitempty"`
}

// exchange reads the names of backends that are unreachable here, and writes those of the others.
func (r *Registry) exchange(ctx context.Context) error {
	there, err := r.o.Store.Digests(ctx)
	if err != nil {
		return err
	}
	if wanted := r.unknown(there); len(wanted) > 0 {
		values, err := r.o.Store.Values(ctx, wanted)
		if err != nil {
			return err
		}
		if r.take(there, values) {
			r.changed()
		}
	}
	set, drop := r.pending(there)
	if len(set)+len(drop) == 0 {
		return nil
	}
	return r.o.Store.Write(ctx, set, drop)
}

// unknown returns the names of the values that this replica must read.
func (r *Registry) unknown(there map[string]string) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := there[orderName]; ok && d != r.sync.order {
		names = append(names, orderName)
	}
	for name, digest := range there {
		e := r.entries[name]
		if name == orderName || e == nil || !e.configured || e.digest == digest {
			continue
		}
		if !e.present || r.valueOf(name, e).Digest != digest {
			names = append(names, name)
		}
	}
	return names
}

// take applies the values that were read, and reports whether they change anything. An unreadable
// value counts as missing.
func (r *Registry) take(there map[string]string, values map[string][]byte) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, raw := range values {
		if name == orderName {
			var order []string
			if json.Unmarshal(raw, &order) != nil {
				continue
			}
			r.sync.order = there[name]
			// An order in effect on this replica stays until a restart. A deferred order may be in
			// effect elsewhere.
			if (!r.sync.loaded || r.deferred) && !slices.Equal(order, r.order) {
				r.order, changed = order, true
			}
			continue
		}
		if e := r.entries[name]; e != nil && r.takeNames(name, e, raw) {
			changed = true
		}
		if e := r.entries[name]; e != nil {
			e.digest = there[name]
		}
	}
	return changed
}

// takeNames applies another replica's names of a backend: all of them if it is unreachable here,
// otherwise those shown to callers there. It reports whether that changes the stored names of an
// unreachable backend. The caller holds r.mu.
func (r *Registry) takeNames(name string, e *entry, raw []byte) (changed bool) {
	var there record
	if json.Unmarshal(raw, &there) != nil {
		return false
	}
	if e.present {
		if there.Own != nil {
			r.addOwn(e, there.Own)
		}
		return false
	}
	before := r.keptOf(name, e)
	e.listed, e.own, e.kept, e.value = there.Listed, there.Own, nil, Value{}
	after := r.keptOf(name, e)
	if after.Equal(before) {
		e.kept = before // Equal names keep their pointer.
		return false
	}
	return true
}

// pending returns the changes that the Store lacks: names of backends that are or were reachable,
// the order, and the removal of backends that are not configured.
func (r *Registry) pending(there map[string]string) (set map[string]Value, drop []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync.loaded = true
	set = map[string]Value{}
	for name, e := range r.entries {
		if r.keptOf(name, e) == nil || !e.configured {
			continue
		}
		digest, known := there[name]
		if known && !e.present {
			continue // A replica that reaches the backend is authoritative.
		}
		v := r.valueOf(name, e)
		if e.digest = v.Digest; v.Digest != digest {
			set[name] = v
		}
	}
	for name := range there {
		if e := r.entries[name]; name != orderName && (e == nil || !e.configured) {
			drop = append(drop, name)
		}
	}
	if v := encode(r.order); r.order != nil && !r.deferred && v.Digest != there[orderName] {
		set[orderName] = v
		r.sync.order = v.Digest
	}
	return set, drop
}

// valueOf returns the value of a backend for the Store, within the limit. The caller holds r.mu.
func (r *Registry) valueOf(name string, e *entry) Value {
	if e.value.Digest == "" {
		_ = r.keptOf(name, e) // It warns about too many names.
		var out record
		left := r.o.Bytes
		for _, list := range []struct{ from, to **Names }{{&e.listed, &out.Listed}, {&e.own, &out.Own}} {
			if *list.from != nil {
				*list.to, _ = (*list.from).bounded(left)
				left -= (*list.to).size()
			}
		}
		e.value = encode(out)
	}
	return e.value
}

// encode returns the value of names, or of the order.
func encode(of any) Value {
	raw, _ := json.Marshal(of) // cannot fail: only strings
	sum := sha256.Sum256(raw)
	return Value{Digest: hex.EncodeToString(sum[:12]), Bytes: raw}
}
