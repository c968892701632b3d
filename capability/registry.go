package capability

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// registry keeps entries by key in the order of their registration. Readers get an immutable
// snapshot. Every change is published.
type registry[E any] struct {
	changes *feed

	mu    sync.RWMutex
	byKey map[string]E
	order []string // keys; replaced, never written in place

	// normal gives keys that name the same one form; nil: equal keys alone do.
	normal func(key string) string
	// spelled are the keys that are not in normal form, by that, the first of each.
	spelled map[string]string
}

func newRegistry[E any](changes *feed) *registry[E] {
	return &registry[E]{changes: changes, byKey: map[string]E{}}
}

// put adds an entry, or replaces the one of that key in its place.
func (r *registry[E]) put(key string, entry E) {
	r.mu.Lock()
	if _, exists := r.byKey[key]; !exists {
		r.order = append(r.order[:len(r.order):len(r.order)], key)
		r.spell(key)
	}
	r.byKey[key] = entry
	r.mu.Unlock()
	r.changes.publish("")
}

// remove reports whether there was such an entry.
func (r *registry[E]) remove(key string) bool {
	r.mu.Lock()
	_, exists := r.byKey[key]
	if exists {
		delete(r.byKey, key)
		kept := make([]string, 0, len(r.order))
		for _, k := range r.order {
			if k != key {
				kept = append(kept, k)
			}
		}
		r.order = kept
		r.unspell(key)
	}
	r.mu.Unlock()
	if exists {
		r.changes.publish("")
	}
	return exists
}

func (r *registry[E]) get(key string) (E, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.byKey[key]
	return e, ok
}

// spell notes a new key by its normal form. r.mu is held.
func (r *registry[E]) spell(key string) {
	if r.normal == nil {
		return
	}
	form := r.normal(key)
	if _, taken := r.spelled[form]; form == key || taken {
		return
	}
	if r.spelled == nil {
		r.spelled = map[string]string{}
	}
	r.spelled[form] = key
}

// unspell forgets a key that was removed; another of its form comes in its place. r.mu is held.
func (r *registry[E]) unspell(key string) {
	if r.normal == nil || r.spelled[r.normal(key)] != key {
		return
	}
	delete(r.spelled, r.normal(key))
	for _, other := range r.order {
		r.spell(other)
	}
}

// like returns the first entry whose key has the normal form of a key, which need not be there.
func (r *registry[E]) like(key string) (E, bool) {
	form := r.normal(key)
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.byKey[form]; ok {
		return e, true
	}
	e, ok := r.byKey[r.spelled[form]]
	return e, ok
}

// all returns the entries in order.
func (r *registry[E]) all() []E {
	r.mu.RLock()
	defer r.mu.RUnlock()
	entries := make([]E, len(r.order))
	for i, k := range r.order {
		entries[i] = r.byKey[k]
	}
	return entries
}

func (r *registry[E]) empty() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.order) == 0
}

// mustBeObject panics when text is not a JSON object: a mistake of the program, found when it starts.
func mustBeObject(what, text string) {
	if !isObject(text) {
		panic(fmt.Sprintf("capability: %s must be a JSON object, not %.80q", what, text))
	}
}

func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}
