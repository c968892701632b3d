package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Lock holds the recorded definitions of tools. It is immutable and safe for concurrent use. A nil
// Lock compares nothing.
type Lock struct {
	blocks bool
	known  map[key]Definition
	// backends has the names of the backends in known.
	backends map[string]bool
	digest   string
}

type key struct{ backend, tool string }

// New returns a lock with the given definitions. If block is true, tools that differ are hidden.
func New(definitions []Definition, block bool) *Lock {
	l := &Lock{blocks: block, known: make(map[key]Definition, len(definitions)), backends: make(map[string]bool)}
	sorted := slices.Clone(definitions)
	for i := range sorted {
		sorted[i].Listed = "" // It has no effect, but uses memory.
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

// Has reports whether the lock has a definition of a backend's tool.
func (l *Lock) Has(backend, tool string) bool {
	if l == nil {
		return false
	}
	_, ok := l.known[key{backend, tool}]
	return ok
}

// HasBackend reports whether the lock has a definition of any tool of a backend.
func (l *Lock) HasBackend(name string) bool { return l != nil && l.backends[name] }

// Digest returns a digest that is equal for locks with equal effect. It is empty for a nil Lock.
func (l *Lock) Digest() string {
	if l == nil {
		return ""
	}
	return l.digest
}

// Unknown is the difference of a tool that the lock does not have.
const Unknown = "new"

// Differences returns the names of the parts in which a backend's tool differs from the lock:
// texts, input, output, annotations, other, or only Unknown. nil means that the tool does not
// differ. It parses the schemas, so callers should keep the result.
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
