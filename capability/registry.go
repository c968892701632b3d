package capability

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// registry holds entries by key, in the order of registration. Readers get an immutable snapshot.
// Each change is published.
type registry[E any] struct {
	changes *feed

	mu    sync.RWMutex
	byKey map[string]E
	order []string // keys; copied on write

	// normal returns the normal form of a key. nil means that only equal keys match.
	normal func(key string) string
	// spelled maps a normal form to the first key that has it. It holds only keys not in normal
	// form.
	spelled map[string]string
}

func newRegistry[E any](changes *feed) *registry[E] {
	return &registry[E]{changes: changes, byKey: map[string]E{}}
}

// put adds an entry. It replaces an entry of the same key and keeps its position.
func (r *registry[E]) put(key string, entry E) {
	r.mu.Lock()
	if _, exists := r.byKey[key]; !exists {
		r.order = append(r.order[:len(r.order):len(r.order)], key)
		r.addNormal(key)
	}
	r.byKey[key] = entry
	r.mu.Unlock()
	r.changes.publish("")
}

// remove removes an entry and reports whether it existed.
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
		r.removeNormal(key)
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

// addNormal records the normal form of a new key. The caller holds r.mu.
func (r *registry[E]) addNormal(key string) {
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

// removeNormal removes the normal form of a removed key, or maps it to another key of that form. The
// caller holds r.mu.
func (r *registry[E]) removeNormal(key string) {
	if r.normal == nil || r.spelled[r.normal(key)] != key {
		return
	}
	delete(r.spelled, r.normal(key))
	for _, other := range r.order {
		r.addNormal(other)
	}
}

// equivalent returns the first entry whose key has the same normal form as key.
func (r *registry[E]) equivalent(key string) (E, bool) {
	form := r.normal(key)
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.byKey[form]; ok {
		return e, true
	}
	e, ok := r.byKey[r.spelled[form]]
	return e, ok
}

// all returns the entries in the order in which lists show them.
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

// mustBeObject panics if text is not a JSON object. That is a programming error, detected at
// startup.
func mustBeObject(what, text string) {
	if !isObject(text) {
		panic(fmt.Sprintf("capability: %s must be a JSON object, not %.80q", what, text))
	}
}

func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}
