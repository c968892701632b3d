package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Lock has the recorded definitions of tools. It is immutable and safe for concurrent use. A nil Lock compares nothing.
type Lock struct {
	blocks bool
	known  map[key]Definition
	// backends are those of known.
	backends map[string]bool
	digest   string
}

type key struct{ backend, tool string }

// New returns a lock with the given definitions. block hides the tools that differ.
func New(definitions []Definition, block bool) *Lock {
	l := &Lock{blocks: block, known: make(map[key]Definition, len(definitions)), backends: make(map[string]bool)}
	sorted := slices.Clone(definitions)
	for i := range sorted {
		sorted[i].Listed = "" // It has no effect, and takes memory.
	}
	slices.SortStableFunc(sorted, Compare)
	for _, d := range sorted {
		l.known[key{d.Backend, d.Tool}], l.backends[d.Backend] = d, true
	}
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(block)
	_ = json.NewEncoder(h).Encode(sorted)
	l.digest = hex.EncodeToString(h.Sum(nil))
	return l
}

// Blocks reports whether tools that differ are hidden.
func (l *Lock) Blocks() bool { return l != nil && l.blocks }

// Has reports whether the lock has a definition of a tool of a backend.
func (l *Lock) Has(backend, tool string) bool {
	if l == nil {
		return false
	}
	_, ok := l.known[key{backend, tool}]
	return ok
}

// HasBackend reports whether the lock has a definition of a backend's.
func (l *Lock) HasBackend(name string) bool { return l != nil && l.backends[name] }

// Digest returns a text that is equal for locks of equal effect; empty for a nil Lock.
func (l *Lock) Digest() string {
	if l == nil {
		return ""
	}
	return l.digest
}

// Unknown is the difference of a tool that is not in a lock.
const Unknown = "new"

// Differences returns the parts of a tool of a backend that differ from the lock: texts, input, output, annotations, other, or Unknown
// alone. It returns nil if none does. It reads the schemas, so the result should be kept.
func (l *Lock) Differences(backend string, t *pb.Tool) (parts []string) {
	if l == nil {
		return nil
	}
	known, ok := l.known[key{backend, t.GetName()}]
	if !ok {
		return []string{Unknown}
	}
	return known.Differing(Of(backend, t))
}
